package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
)

// chartOf writes the chart and returns its directory.
func chartOf(t *testing.T, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	manifestsOf(t, append(flags, "--helm="+dir)...)
	return dir
}

// texts are random ones, with all that has a meaning in YAML, in templates or to Kubernetes.
var texts = []string{"", "plain", "true", "1e3", "a: b", "#c", "- d", "'e' \"f\"", "{{ .Values.g }}", "$(H) $i $$", "l\nm\n", "n\n\n", " o", "p\no: |\n  q", "ü 価", "50%", "\\r"}

// valid are values of texts that must be of a form.
var valid = map[string][]string{
	"nameOverride": {"", "costs"}, "fullnameOverride": {"", "all-costs"},
	"image.repository": {"ghcr.io/promcost/promcost", "r:5000/a"}, "image.tag": {"1.2.3", "latest"}, "image.digest": {"", "sha256:" + strings.Repeat("0a", 32)},
	"storage.size": {"1Gi", "10"}, "storage.retention": {"", "400d"}, "service.targetPort": {"http", "proxy"}, "serviceAccount.name": {"", "costs.reader"},
	"apiserver.repository": {"r/b"}, "apiserver.digest": {"", "sha256:" + strings.Repeat("1b", 32)}, "apiserver.caBundle": {"", "QUJD"},
	"prometheus.url": {"http://p:9090", "https://p.example/$x?", "http://10.1.2.3:9090", "https://mimir.example.com:8443"}, "serviceMonitor.interval": {"1m", "90s"}, "dashboards.unit": {"currencyEUR", "currency:XYZ "}, "dashboards.url": {"https://costs.example.com", "http://c:9003/$x"},
}

// randomValues are values in which every field has been set at random to some of the texts, of which some are not.
func randomValues(r *rand.Rand, name string, texts []string) *manifests.Values {
	v := manifests.Default("latest")
	v.Name, v.Namespace = name, "costs"
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	for _, f := range v.Fields() {
		if f.Path == "name" || f.Path == "namespace" || strings.HasPrefix(f.Path, "sidecar.") || r.IntN(3) == 0 {
			continue
		}
		switch p := f.Value.(type) {
		case *string:
			*p = pick(texts)
			if f.Enum() != nil {
				*p = pick(f.Enum())
			}
			if valid[f.Path] != nil {
				*p = pick(valid[f.Path])
			}
		case *int:
			*p = []int{1, 2, 7, 300, 301, 3000, 20000}[r.IntN(7)]
			if f.Path == "replicas" || f.Path == "shards" || f.Path == "apiserver.replicas" || f.Path == "revisionHistoryLimit" {
				*p = 1 + r.IntN(3)
			}
		case *bool:
			*p = r.IntN(2) == 0
		case *[]string:
			*p = []string{pick(texts), pick(texts)}
		case *[]map[string]any:
			*p = []map[string]any{{"a": pick(texts)}, {"b": map[string]any{pick(texts): 1}}}
		case *map[string]string:
			*p = map[string]string{"example.org/" + f.Path: pick(texts), "other.org/" + f.Path: pick(texts)}
		case *map[string]any:
			*p = overlaid(*p, map[string]any{"x": map[string]any{"y": pick(texts)}}) // as Helm lays values over those of the chart
		}
	}
	v.Prometheus.URL = pick(valid["prometheus.url"])
	v.Flags = map[string]any{"prometheus.exclude": []any{pick(texts), pick(texts)}, "web.enable-lifecycle": r.IntN(2) == 0, "query.max-memory": "1GB", "promql.passthrough": true}
	v.Files = map[string]string{"store.yaml": pick(texts)}
	v.Reports = []map[string]any{
		{"name": "weekly", "schedule": "0 7 * * 1", "secret": pick(texts) + "x", "flags": map[string]any{"title": pick(texts), "limit": 5}},
		{"name": "d1", "schedule": pick(texts) + "x", "secret": "hook", "timeZone": pick(texts)},
	}[:r.IntN(3)]
	v.Global = map[string]any{"other": pick(texts)}
	if r.IntN(2) == 0 {
		v.Global = map[string]any{"imageRegistry": "mirror.example:5000", "imagePullSecrets": []any{"one", map[string]any{"name": "two"}}, "labels": map[string]any{"example.org/labels": pick(texts), "all": pick(texts)}, "storageClass": pick(texts)}
	}
	v.ExtraManifests = []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "extra"}, "data": map[string]any{"x": pick(texts)}}}
	// What makes no sense together is left out.
	v.Storage.EmptyDir = v.Storage.EmptyDir && v.Storage.Secret+v.Storage.ExistingClaim == ""
	v.Storage.Enabled = v.Storage.Enabled || v.Storage.EmptyDir || v.Storage.Secret+v.Storage.ExistingClaim != ""
	if v.Storage.Secret != "" || v.Replicas > 1 {
		v.Storage.ExistingClaim = ""
	}
	if v.Storage.Secret == "" {
		v.Shards = 0
	}
	if v.APIServer.Secret == "" {
		v.APIServer.Replicas = 1
	}
	if v.Service.Type == "ClusterIP" {
		v.Service.NodePort = 0
	}
	if len(v.Ingress.Hosts) > 0 {
		v.Ingress.Host = ""
	}
	v.Service.Headlamp = v.Service.Headlamp && v.Web.Secret == ""
	v.HTTPRoute.Enabled = v.HTTPRoute.Enabled && len(v.HTTPRoute.Gateways) > 0
	v.Route.Enabled = v.Route.Enabled && v.Route.Host != ""
	return v
}

// overlaid are values with those of others, which win.
func overlaid(values, others map[string]any) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	for key, other := range others {
		section, ok := out[key].(map[string]any)
		more, also := other.(map[string]any)
		if ok && also {
			other = overlaid(section, more)
		}
		out[key] = other
	}
	return out
}

// chartValues are values as a chart takes them.
func chartValues(t *testing.T, v *manifests.Values) []byte {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "sidecar")
	if text, err = yaml.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return text
}

// objectsIn are the objects of YAML by kind and name, without the pods of helm test.
func objectsIn(t *testing.T, text []byte) map[string]any {
	t.Helper()
	objects := map[string]any{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if o != nil && o["kind"] != "Pod" {
			objects[fmt.Sprint(o["kind"], " ", o["metadata"].(map[string]any)["name"])] = o
		}
	}
}

// compareRendered compares what a chart renders for random values with the manifests of the same values.
func compareRendered(t *testing.T, render func(t *testing.T, name string, values []byte) []byte) {
	program := newManifestsProgram()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			v := randomValues(rand.New(rand.NewPCG(seed, 0)), fmt.Sprint("release-", seed), texts)
			want, err := program.YAML(v)
			if err != nil {
				t.Fatal(err)
			}
			values := chartValues(t, v)
			if diff := gocmp.Diff(objectsIn(t, want), objectsIn(t, render(t, v.Name, values))); diff != "" {
				t.Errorf("the chart renders other objects (-manifests +chart):\n%s\nfor\n%s", diff, values)
			}
		})
	}
}

// TestManifestsHostileTexts holds manifests with texts that mean something in YAML to those with words in their place: a text is never
// more than what it says.
func TestManifestsHostileTexts(t *testing.T) {
	program := newManifestsProgram()
	texts := append(slices.Clone(texts), "  q\nr", "\ns", "t \nu", "---\nkind: Pod\n", "\"\nv: w", "x\ty\n\tz", "<&>")
	words, asText, asArg := make([]string, len(texts)), []string{}, []string{}
	for i, text := range texts {
		if text != "" { // which is as good as none
			words[i] = fmt.Sprintf("word%dword", i)
			asText = append(asText, words[i], text)
			asArg = append(asArg, words[i], strings.ReplaceAll(text, "$", "$$"))
		}
	}
	inText, inArg := strings.NewReplacer(asText...), strings.NewReplacer(asArg...)
	for seed := range uint64(60) {
		objects := func(texts []string) map[string]any {
			v := randomValues(rand.New(rand.NewPCG(seed, 1)), "costs", texts)
			if seed%4 == 0 {
				v.Sidecar.Prometheus = texts[1+int(seed/4)%(len(texts)-1)]
			}
			text, err := program.YAML(v)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return objectsIn(t, text)
		}
		want := withTexts(objects(words), func(text string) string {
			if strings.HasPrefix(text, "--") {
				return inArg.Replace(text)
			}
			return inText.Replace(text)
		})
		if diff := gocmp.Diff(want, withTexts(objects(texts), func(text string) string { return text })); diff != "" {
			t.Errorf("seed %d: a text is not what it says (-want +got):\n%s", seed, diff)
		}
	}
}

// withTexts is a value decoded from YAML with other texts, and without the hashes of texts.
func withTexts(value any, by func(string) string) any {
	switch value := value.(type) {
	case string:
		return by(value)
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = withTexts(element, by)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, element := range value {
			if key != "promcost.io/config-hash" {
				out[by(key)] = withTexts(element, by)
			}
		}
		return out
	}
	return value
}

// TestManifestsChart renders the chart for random values.
func TestManifestsChart(t *testing.T) {
	engine := newChartEngine(t, chartOf(t))
	compareRendered(t, func(t *testing.T, name string, values []byte) []byte {
		var given map[string]any
		if err := yaml.Unmarshal(values, &given); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(keysOf(engine.defaults), keysOf(given)); diff != "" {
			t.Errorf("values.yaml has other keys (-values.yaml +values):\n%s", diff)
		}
		text, err := engine.render(name, "", given)
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
}

// TestManifestsChartNames checks that the names of objects are names to Kubernetes, whatever the release and the chart are called, and that
// the objects of a chart that another one has twice are all others.
func TestManifestsChartNames(t *testing.T) {
	engine := newChartEngine(t, chartOf(t, "--prometheus.url=http://p:9090", "--service-monitor", "--service.headlamp"))
	label := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	for _, tt := range []struct {
		name, release, alias string
		set                  map[string]any
		want                 string
	}{
		{name: "a release", release: "costs", want: "costs"},
		{name: "a release with dots", release: "costs.v1.eu", want: "costs-v1-eu"},
		{name: "a release that begins with a digit", release: "2026", want: "promcost-2026"},
		{name: "a long release", release: strings.Repeat("a", 53), want: strings.Repeat("a", 37) + "-abe346a7"},
		{name: "a name of its own", release: "costs", set: map[string]any{"nameOverride": "eu"}, want: "costs-eu"},
		{name: "a full name of its own", release: "costs", set: map[string]any{"fullnameOverride": "all"}, want: "all"},
		{name: "part of a chart", release: "platform", alias: "promcost", want: "platform-promcost"},
		{name: "part of a chart under an alias", release: "platform", alias: "spot_costs", want: "platform-spot-costs"},
		{name: "part of a part of a chart", release: "platform", alias: "shop/charts/promcost", want: "platform-shop-promcost"},
		{name: "part of another part of it", release: "platform", alias: "bank/charts/promcost", want: "platform-bank-promcost"},
		{name: "part of a chart whose release has its name", release: "promcost", alias: "promcost", want: "promcost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := maps.Clone(engine.defaults)
			maps.Copy(values, tt.set)
			text, err := engine.render(tt.release, tt.alias, values)
			if err != nil {
				t.Fatal(err)
			}
			all := objectsIn(t, text)
			if _, ok := all["StatefulSet "+tt.want]; !ok {
				t.Errorf("no StatefulSet is called %s: %v", tt.want, slices.Sorted(maps.Keys(all)))
			}
			for name := range all {
				if _, name, _ := strings.Cut(name, " "); !label.MatchString(name) || len(name) > 63 {
					t.Errorf("%q is no name of a Service", name)
				}
			}
		})
	}
	aliases := []string{"promcost", "costs", "prom", "cost"}
	seen := map[string]string{}
	for _, alias := range aliases {
		text, err := engine.render("promcost-prod", alias, engine.defaults)
		if err != nil {
			t.Fatal(err)
		}
		for name := range objectsIn(t, text) {
			if seen[name] != "" {
				t.Errorf("aliases %s and %s both have %s", alias, seen[name], name)
			}
			seen[name] = alias
		}
	}
}

// TestManifestsGlobals gives the chart what charts of charts share, of which some is meant for others.
func TestManifestsGlobals(t *testing.T) {
	engine := newChartEngine(t, chartOf(t, "--prometheus.url=http://p:9090"))
	rendered := func(t *testing.T, set map[string]any) map[string]any {
		t.Helper()
		values := overlaid(engine.defaults, set)
		text, err := engine.render("costs", "", values)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := objectsIn(t, text)["StatefulSet costs"].(map[string]any)
		if !ok {
			t.Fatalf("there is no StatefulSet in\n%s", text)
		}
		return o
	}
	at := func(o any, keys ...string) any {
		for _, key := range keys {
			section, ok := o.(map[string]any)
			if !ok {
				return nil
			}
			o = section[key]
		}
		return o
	}
	for _, key := range []string{"labels", "commonLabels"} {
		o := rendered(t, map[string]any{"global": map[string]any{key: map[string]any{"app.kubernetes.io/name": "platform", "app.kubernetes.io/part-of": "platform", "team": 5, "production": true}}})
		for _, labels := range []any{at(o, "metadata", "labels"), at(o, "spec", "template", "metadata", "labels")} {
			if at(labels, "app.kubernetes.io/name") != "promcost" || at(labels, "team") != "5" || at(labels, "production") != "true" {
				t.Errorf("global.%s: the labels are %v", key, labels)
			}
		}
	}
	for adapt, want := range map[string]any{"force": nil, "auto": 65532, "disabled": 65532} {
		o := rendered(t, map[string]any{"global": map[string]any{"compatibility": map[string]any{"openshift": map[string]any{"adaptSecurityContext": adapt}}}})
		context := at(o, "spec", "template", "spec", "securityContext")
		if got := at(context, "runAsUser"); got != want || at(context, "runAsNonRoot") != true {
			t.Errorf("adaptSecurityContext %s: the context is %v", adapt, context)
		}
	}
	o := rendered(t, map[string]any{"global": map[string]any{"storageClass": "-"}})
	claims, _ := at(o, "spec", "volumeClaimTemplates").([]any)
	if len(claims) != 1 || at(claims[0], "spec", "storageClassName") != "" {
		t.Errorf("the claims are %v", claims)
	}
}

// opaque are the values whose keys users choose.
var opaque = []string{"flags", "resources", "labels", "files", "global", "podLabels", "podAnnotations", "nodeSelector", "affinity", "podSecurityContext", "securityContext"}

// keysOf are the keys of a mapping, and those of mappings in it that are sections.
func keysOf(values map[string]any) []string {
	var keys []string
	for k, v := range values {
		keys = append(keys, k)
		if section, ok := v.(map[string]any); ok && !slices.Contains(opaque, k) {
			for name := range section {
				keys = append(keys, k+"."+name)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// TestManifestsChartFiles holds the values and the schema of the chart, which need no Helm to be read, to what flags say.
func TestManifestsChartFiles(t *testing.T) {
	dir := chartOf(t, "--prometheus.url=http://p:9090", "--pods=5000", "--service-monitor", "--query.max-memory=1GB")
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	v := manifests.Default("other")
	if err := v.Read(text); err != nil {
		t.Fatal(err)
	}
	if v.Prometheus.URL != "http://p:9090" || v.Pods != 5000 || !v.ServiceMonitor.Enabled || v.Flags["query.max-memory"] != "1GB" || v.Image.Tag != "latest" {
		t.Errorf("values.yaml has not what the flags say: %+v", v)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "values.schema.json")); err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			AdditionalProperties any
			Properties           map[string]struct{ Type, Description any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	flags := schema.Properties["flags"]
	if flags.AdditionalProperties != false || flags.Properties["web.enable-lifecycle"].Type != "boolean" || flags.Properties["query.max-memory"].Type != "string" {
		t.Errorf("the schema of flags is %+v", flags)
	}
	if _, ok := flags.Properties["storage.path"]; ok {
		t.Error("the schema has a flag that the objects set")
	}
}

// TestManifestsCounterparts holds the table of values to the names that both charts have: all of OpenCost's and all of this one stand in it.
func TestManifestsCounterparts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "manifests", "opencost-values.txt"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Fields(strings.Join(strings.Split(string(text), "\n")[1:], "\n"))
	var ours []string
	for _, f := range manifests.Default("latest").Fields() {
		if f.Path != "name" && f.Path != "namespace" && !strings.HasPrefix(f.Path, "sidecar.") {
			ours = append(ours, f.Path)
		}
	}
	if len(theirs) < 100 || len(ours) < 50 {
		t.Fatalf("%d and %d values", len(theirs), len(ours))
	}
	var namedTheirs, namedOurs []string
	for _, c := range manifests.Counterparts {
		namedTheirs, namedOurs = append(namedTheirs, c.Theirs...), append(namedOurs, c.Ours...)
	}
	below := func(name, of string) bool { return name == of || strings.HasPrefix(name, of+".") }
	for _, name := range theirs {
		if !slices.ContainsFunc(namedTheirs, func(of string) bool { return below(name, of) }) {
			t.Errorf("%s of OpenCost's chart has no counterpart", name)
		}
	}
	for _, of := range namedTheirs {
		if !slices.ContainsFunc(theirs, func(name string) bool { return below(name, of) }) {
			t.Errorf("OpenCost's chart has no value %s", of)
		}
	}
	for _, name := range ours {
		if !slices.Contains(namedOurs, name) {
			t.Errorf("%s of this chart stands nowhere", name)
		}
	}
	for _, name := range namedOurs {
		if !slices.Contains(ours, name) {
			t.Errorf("this chart has no value %s", name)
		}
	}
}
