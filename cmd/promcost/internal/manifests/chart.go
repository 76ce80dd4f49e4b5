package manifests

import (
	"bytes"
	_ "embed" // README.md and NOTES.txt are files
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readme is what README.md says before the values.
//
//go:embed chart/README.md
var readme string

// notes is what Helm says once it has installed the chart.
//
//go:embed chart/NOTES.txt
var notes string

// Chart are the files of a Helm chart, whose templates make the objects that YAML writes, and whose values are
// these by default.
func (p *Program) Chart(v *Values) ([]File, error) {
	if err := p.check(v); err != nil {
		return nil, err
	}
	w := &writer{expressions: map[any]string{}, files: map[string][]byte{}}
	var fields []Field
	for _, f := range v.Fields() {
		w.expressions[f.Value] = f.expression
		if f.expression != "" && !f.release {
			fields = append(fields, f)
		}
	}
	files := []File{
		{"Chart.yaml", chartFile(v)},
		{"values.yaml", valuesFile(fields)},
		{"values.schema.json", p.schemaFile(fields)},
		{"README.md", readmeFile(fields)},
		{"templates/NOTES.txt", []byte(notes)},
		{"templates/refusals.yaml", w.refusals(v.refusals())},
	}
	for _, d := range append(v.documents(p), v.test()) {
		files = append(files, File{"templates/" + d.file, w.template(d)})
	}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		files = append(files, File{name, w.files[name]})
	}
	return files, nil
}

// template is the text of one document as a template.
func (w *writer) template(d document) []byte {
	w.lines = nil
	for _, c := range d.conditions {
		w.line(0, "{{- if "+w.condition(c)+" }}")
	}
	w.line(0, "---")
	w.elements(0, d.body)
	for range d.conditions {
		w.line(0, "{{- end }}")
	}
	return w.bytes()
}

// refusals are a template that fails where values make no sense together.
func (w *writer) refusals(refusals []refusal) []byte {
	w.lines = nil
	for _, r := range refusals {
		conditions := make([]string, len(r.conditions))
		for i, c := range r.conditions {
			conditions[i] = "(" + w.condition(c) + ")"
		}
		w.line(0, fmt.Sprintf("{{- if and true %s }}{{ fail %q }}{{ end }}", strings.Join(conditions, " "), r.reason))
	}
	return w.bytes()
}

// test is the pod of helm test: it asks what the last hour cost.
func (v *Values) test() document {
	https := is(&v.Web.Secret)
	server := []any{
		only(not(https), text{"--server=http://", &v.Name, ":", &v.Service.Port}), only(https, text{"--server=https://", &v.Name, ".", &v.Namespace, ".svc:", &v.Service.Port}),
	}
	container := object{
		entry{"name", "query"},
		entry{"image", text{&v.Image.Repository, ":", &v.Image.Tag}},
		entry{"imagePullPolicy", &v.Image.PullPolicy},
		entry{"args", append(append(list{"query", "allocation"}, server...), "--window=1h", "--aggregate=namespace")},
		only(https, entry{"env", list{object{entry{"name", "SSL_CERT_FILE"}, entry{"value", webPath + "/ca.crt"}}}}, entry{"volumeMounts", list{mount("promcost-web", webPath, true)}}),
		entry{"resources", requests("10m", "64Mi", "256Mi")},
		entry{"securityContext", restricted(entry{"runAsUser", userID})},
	}
	metadata := v.metadata(text{&v.Name, "-test"}, "test", entry{"annotations", object{
		entry{"helm.sh/hook", "test"}, entry{"helm.sh/hook-delete-policy", "before-hook-creation,hook-succeeded"},
	}})
	return document{"tests/query.yaml", nil, objectOf("v1", "Pod", metadata, entry{"spec", object{
		entry{"restartPolicy", "Never"},
		entry{"serviceAccountName", &v.Name},
		entry{"automountServiceAccountToken", false},
		only(is(&v.Image.PullSecrets), entry{"imagePullSecrets", &v.Image.PullSecrets}),
		entry{"containers", list{container}},
		only(https, entry{"volumes", list{secret("promcost-web", &v.Web.Secret, "ca.crt")}}),
	}})}
}

// chartFile is Chart.yaml. The chart's version is that of the image, where that is one of a release. Pods of shards are numbered
// by a label that Kubernetes has since 1.28.
func chartFile(v *Values) []byte {
	version := "0.0.0"
	if release.MatchString(v.Image.Tag) {
		version = strings.TrimPrefix(v.Image.Tag, "v")
	}
	return (&writer{}).yaml([]document{{body: object{
		entry{"apiVersion", "v2"},
		entry{"name", "promcost"},
		entry{"type", "application"},
		entry{"description", "What Kubernetes workloads cost, from the metrics that a Prometheus already has."},
		entry{"version", version},
		entry{"appVersion", &v.Image.Tag},
		entry{"kubeVersion", ">=1.28.0-0"},
		entry{"home", "https://github.com/promcost/promcost"},
		entry{"keywords", list{"cost", "finops", "prometheus", "opencost"}},
	}}})
}

// valuesFile is values.yaml.
func valuesFile(fields []Field) []byte {
	w := &writer{}
	section := ""
	for _, f := range fields {
		indent := 0
		if f.section != "" {
			indent = 2
		}
		if f.section != section && f.section != "" {
			w.line(0, "")
			w.line(0, "# "+f.sectionHelp)
			w.line(0, f.section+":")
		} else if indent == 0 {
			w.line(0, "")
		}
		section = f.section
		if f.Help != f.sectionHelp {
			w.line(indent, "# "+f.Help)
		}
		w.value(indent, f.name+":", f.Value)
	}
	return w.bytes()[1:]
}

// property is a schema of JSON.
type property struct {
	Schema      string               `json:"$schema,omitempty"`
	Description string               `json:"description,omitempty"`
	Type        any                  `json:"type,omitempty"`
	Enum        []string             `json:"enum,omitempty"`
	Pattern     string               `json:"pattern,omitempty"`
	Minimum     *int                 `json:"minimum,omitempty"`
	Maximum     *int                 `json:"maximum,omitempty"`
	Items       *property            `json:"items,omitempty"`
	More        any                  `json:"additionalProperties,omitempty"` // false, or a property
	Properties  map[string]*property `json:"properties,omitempty"`
}

// schemaFile is values.schema.json.
func (p *Program) schemaFile(fields []Field) []byte {
	root := &property{
		Schema: "https://json-schema.org/draft-07/schema#", Type: "object", More: false,
		Properties: map[string]*property{"global": {Type: "object", Description: "Helm gives it to charts of charts."}},
	}
	for _, f := range fields {
		below := root
		if f.section != "" {
			if root.Properties[f.section] == nil {
				root.Properties[f.section] = &property{Type: "object", Description: f.sectionHelp, More: false, Properties: map[string]*property{}}
			}
			below = root.Properties[f.section]
		}
		below.Properties[f.name] = f.schema(p)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("BUG: a schema that is no JSON: " + err.Error())
	}
	return b.Bytes()
}

// schema is that of a field.
func (f *Field) schema(p *Program) *property {
	s := &property{Description: f.Help}
	switch f.Value.(type) {
	case *string:
		s.Type, s.Enum, s.Pattern = "string", f.Enum(), f.tag.Get("pattern")
	case *int:
		least, most := f.bounds()
		s.Type, s.Minimum, s.Maximum = "integer", &least, &most
	case *bool:
		s.Type = "boolean"
	case *[]string:
		s.Type, s.Items = "array", &property{Type: "string"}
	case *[]map[string]any:
		s.Type, s.Items = "array", &property{Type: "object"}
	case *map[string]string:
		s.Type, s.More = "object", &property{Type: "string"}
	case *map[string]any:
		s.Type = "object"
	}
	if f.Path == "flags" {
		s.More, s.Properties = false, p.flagSchemas()
	}
	return s
}

// flagSchemas are those of flags that may be given.
func (p *Program) flagSchemas() map[string]*property {
	all := map[string]*property{}
	for _, f := range p.Flags {
		s := &property{Description: f.Help, Type: "string"}
		switch {
		case isOwned(f.Name):
			continue
		case f.Switch:
			s.Type = "boolean"
		case f.Repeats:
			s.Type, s.Items = []string{"string", "array"}, &property{Type: "string"}
		}
		all[f.Name] = s
	}
	return all
}

// readmeFile is README.md.
func readmeFile(fields []Field) []byte {
	var b bytes.Buffer
	b.WriteString(readme + "\n| value | default | what |\n| --- | --- | --- |\n")
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, f := range fields {
		value := (&writer{}).scalar(f.Value)
		if value == `""` {
			value = ""
		} else {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Path, escape.Replace(value), escape.Replace(f.Help))
	}
	return b.Bytes()
}
