package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Program is what the program brings along.
type Program struct {
	Flags      []Flag // of promcost serve
	Dashboards []File // as JSON, with money in dollars
	Rules      []File // as YAML
}

// Flag is a flag of promcost serve.
type Flag struct {
	Name, Help string
	Switch     bool // it takes no value
	Repeats    bool
	Source     bool // it says what to read, or how: a promcost that computes nothing does not take it
}

// owned are the flags that the objects set by themselves, and what to give instead.
var owned = map[string]string{
	"prometheus.url":         "prometheus.url",
	"prometheus.http-config": "prometheus.secret",
	"config.file":            "config",
	"pricing.file":           "prices",
	"storage.path":           "storage.size",
	"storage.config":         "storage.secret",
	"storage.retention":      "storage.retention",
	"shard":                  "shards",
	"tsdb.path":              "sidecar.prometheus",
	"web.listen-address":     "service.port",
	"web.systemd-socket":     "service.port",
	"web.config.file":        "web.secret",
}

// secretKeys are the keys of Secrets that have the files of flags.
var secretKeys = map[string]string{"prometheus.http-config": "http-config.yaml", "storage.config": "objstore.yaml"}

// container is the name of promcost's containers.
const container = "promcost"

// isOwned reports whether the objects set a flag by themselves.
func isOwned(flag string) bool { return owned[flag] != "" }

// sourceFlags are the names of those that a promcost which computes nothing does not take.
func (p *Program) sourceFlags() []string {
	names := []string{"promql.passthrough", "promql.passthrough.match"} // have no Prometheus to pass through to
	for _, f := range p.Flags {
		if f.Source && !isOwned(f.Name) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// YAML are the objects as one stream of documents, the dependent ones after those that they need.
func (p *Program) YAML(v *Values) ([]byte, error) {
	templates := []string{"refusals.yaml", "protection.yaml", "config.yaml", "services.yaml", "workloads.yaml", "reports.yaml", "monitors.yaml", "apiserver.yaml", "extra.yaml"}
	if v.Sidecar.Prometheus != "" {
		templates = []string{"refusals.yaml", "config.yaml", "sidecar.yaml", "services.yaml", "monitors.yaml", "apiserver.yaml", "extra.yaml"}
		v.Prometheus.URL = cmp.Or(v.Prometheus.URL, "http://localhost:9090")
	}
	if err := p.check(v); err != nil {
		return nil, err
	}
	return p.render(v, templates)
}

// check checks values one by one. Templates refuse what makes no sense together.
func (p *Program) check(v *Values) error {
	for _, f := range v.Fields() {
		if err := f.check(); err != nil {
			return err
		}
	}
	if u, err := url.Parse(v.Prometheus.URL); err == nil && u.User != nil && strings.HasPrefix(u.Scheme, "http") {
		return errors.New("prometheus.url has credentials, which all who see the pods would read: put them into the Secret of prometheus.secret")
	}
	for name, value := range v.Flags {
		if err := p.checkFlag(name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkFlag checks one of the flags that are given.
func (p *Program) checkFlag(name string, value any) error {
	if instead := owned[name]; instead != "" {
		return fmt.Errorf("flags.%s is set by the objects themselves: use %s", name, instead)
	}
	i := slices.IndexFunc(p.Flags, func(f Flag) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("flags.%s is unknown: see \"promcost serve --help\"", name)
	}
	_, isSwitch := value.(bool)
	_, isText := value.(string)
	texts, isList := value.([]any)
	isList = isList && !slices.ContainsFunc(texts, func(x any) bool { _, ok := x.(string); return !ok })
	switch f := p.Flags[i]; {
	case f.Switch && !isSwitch:
		return fmt.Errorf("flags.%s is no switch: give true or false", name)
	case f.Repeats && !isText && !isList:
		return fmt.Errorf("flags.%s is no list of texts: give one, such as [a, b], in quotes where they are numbers", name)
	case !f.Switch && !f.Repeats && !isText:
		return fmt.Errorf("flags.%s is no text: give one, in quotes where it is a number", name)
	}
	return nil
}

// Read reads values from YAML, in the form of the chart's values.yaml, over those that there are, as Helm does: mappings are merged, and
// null takes away what there is.
func (v *Values) Read(text []byte) error {
	if err := decodeStrictly(text, &Values{}); err != nil {
		return err // which names a line of the text
	}
	merged, err := v.byName()
	if err != nil {
		return err
	}
	var over map[string]any
	if err := yaml.Unmarshal(text, &over); err != nil {
		return err
	}
	merge(merged, over)
	after, err := json.Marshal(merged) // which is YAML, too
	if err != nil {
		return fmt.Errorf("%w: keys of mappings must be texts", err)
	}
	name, namespace := v.Name, v.Namespace
	*v = Values{Name: name, Namespace: namespace}
	return decodeStrictly(after, v)
}

// decodeStrictly decodes YAML that may have only keys of values, or nothing.
func decodeStrictly(text []byte, v *Values) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(v); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// merge writes a mapping over another one.
func merge(to, over map[string]any) {
	for key, value := range over {
		below, isMap := value.(map[string]any)
		base, wasMap := to[key].(map[string]any)
		switch {
		case value == nil:
			delete(to, key)
		case isMap && wasMap:
			merge(base, below)
		default:
			to[key] = value
		}
	}
}

// Args are the arguments of each container of promcost in objects, as Kubernetes passes them on to that of the first pod.
func Args(objects []byte) (args [][]string) { return ArgsOf(objects, container) }

// ArgsOf is Args for containers of a name.
func ArgsOf(objects []byte, name string) (args [][]string) {
	type pod struct {
		Containers []struct {
			Name string
			Args []string
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(objects))
	for {
		var o struct {
			Spec struct {
				pod      `yaml:",inline"` // of a Prometheus
				Template struct{ Spec pod }
			}
		}
		if err := d.Decode(&o); err != nil {
			return args
		}
		for _, c := range append(o.Spec.Containers, o.Spec.Template.Spec.Containers...) {
			if c.Name != name {
				continue
			}
			for i, arg := range c.Args {
				c.Args[i] = strings.NewReplacer("$$", "$", "$(SHARD)", "1").Replace(arg)
			}
			args = append(args, c.Args)
		}
	}
}
