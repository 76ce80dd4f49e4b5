package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
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
	"image.repository": {"ghcr.io/promcost/promcost", "r:5000/a"}, "image.tag": {"1.2.3", "latest"}, "storage.size": {"1Gi", "10"},
	"apiserver.repository": {"r/b"}, "apiserver.caBundle": {"", "QUJD"},
	"prometheus.url": {"http://p:9090", "https://p.example/$x?"}, "serviceMonitor.interval": {"1m", "90s"}, "dashboards.unit": {"currencyEUR", "currency:XYZ "},
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
			if f.Path == "replicas" || f.Path == "shards" || f.Path == "apiserver.replicas" {
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
			*p = map[string]any{"x": map[string]any{"y": pick(texts)}}
		}
	}
	v.Prometheus.URL = pick(valid["prometheus.url"])
	v.Flags = map[string]any{"prometheus.exclude": []any{pick(texts), pick(texts)}, "web.enable-lifecycle": r.IntN(2) == 0, "query.max-memory": "1GB", "promql.passthrough": true}
	if v.Storage.Secret == "" {
		v.Shards = 0
	}
	if v.APIServer.Secret == "" {
		v.APIServer.Replicas = 1
	}
	v.Service.Headlamp = v.Service.Headlamp && v.Web.Secret == ""
	v.HTTPRoute.Enabled = v.HTTPRoute.Enabled && len(v.HTTPRoute.Gateways) > 0
	return v
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
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			v := randomValues(rand.New(rand.NewPCG(seed, 0)), fmt.Sprint("release-", seed), texts)
			want, err := program.YAML(v)
			if err != nil {
				t.Fatal(err)
			}
			values := chartValues(t, v)
			if diff := cmp.Diff(objectsIn(t, want), objectsIn(t, render(t, v.Name, values))); diff != "" {
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
		if diff := cmp.Diff(want, withTexts(objects(texts), func(text string) string { return text })); diff != "" {
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

// addHelm adds the functions of Helm that the templates use. They are not the program's own, so that the test checks those, too.
func addHelm(t *template.Template) *template.Template {
	toInt := func(x any) int { return int(reflect.ValueOf(x).Convert(reflect.TypeFor[int]()).Int()) }
	return t.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := t.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toJson": func(x any) (string, error) {
			text, err := json.Marshal(x)
			return string(text), err
		},
		"replace":   func(old, by, text string) string { return strings.ReplaceAll(text, old, by) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"list":      func(x ...any) []any { return x },
		"has": func(x, in any) bool {
			list := reflect.ValueOf(in)
			for i := range list.Len() {
				if list.Index(i).Interface() == x {
					return true
				}
			}
			return false
		},
		"kindIs": func(kind string, x any) bool { return reflect.TypeOf(x).Kind().String() == kind },
		"int":    toInt, "base": path.Base,
		"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"indent": func(n int, text string) string {
			return strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
		},
		"fail": func(text string) (string, error) { return "", errors.New(text) },
	})
}

// TestManifestsChart renders the files of the chart by Go's own engine with the functions that they use, as Helm does.
func TestManifestsChart(t *testing.T) {
	dir := chartOf(t)
	var defaults map[string]any
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &defaults); err != nil {
		t.Fatal(err)
	}
	templates := addHelm(template.New("").Option("missingkey=error"))
	for _, pattern := range []string{"*.tpl", "*.yaml"} {
		template.Must(templates.ParseGlob(filepath.Join(dir, "templates", pattern)))
	}
	compareRendered(t, func(t *testing.T, name string, values []byte) []byte {
		var given map[string]any
		if err := yaml.Unmarshal(values, &given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(keysOf(defaults), keysOf(given)); diff != "" {
			t.Errorf("values.yaml has other keys (-values.yaml +values):\n%s", diff)
		}
		asJSON, err := json.Marshal(given) // in which a number is a float, as Helm has it
		if err := errors.Join(err, json.Unmarshal(asJSON, &given)); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, of := range templates.Templates() {
			if filepath.Ext(of.Name()) != ".yaml" {
				continue // it is a part of others
			}
			if err := of.Execute(&b, map[string]any{"Values": given, "Release": map[string]any{"Name": name, "Namespace": "costs"}, "Files": chartFiles(dir)}); err != nil {
				t.Fatal(err)
			}
			b.WriteByte('\n')
		}
		return b.Bytes()
	})
}

// chartFiles is a directory as templates read its files.
type chartFiles string

// Get is the text of a file.
func (dir chartFiles) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(dir), name))
	return string(text), err
}

// Lines are the lines of a file.
func (dir chartFiles) Lines(name string) ([]string, error) {
	text, err := dir.Get(name)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), err
}

// Glob are the files whose names match.
func (dir chartFiles) Glob(pattern string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(string(dir)), ".", func(name string, entry fs.DirEntry, err error) error {
		if matches, _ := path.Match(pattern, name); err == nil && matches {
			files[name], err = os.ReadFile(filepath.Join(string(dir), name))
		}
		return err
	})
	return files, err
}

// keysOf are the keys of a mapping, and those of mappings in it that are sections.
func keysOf(values map[string]any) []string {
	var keys []string
	for k, v := range values {
		keys = append(keys, k)
		if section, ok := v.(map[string]any); ok && k != "flags" && k != "resources" && k != "labels" {
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
