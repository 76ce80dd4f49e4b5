package manifests

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"
)

// embedded are the files of the chart that are the same for all values, and what only manifests have.
//
//go:embed all:chart sidecar.yaml
var embedded embed.FS

// File is a file by name, with slashes.
type File struct {
	Name string
	Text []byte
}

// refusal is why values make no sense together.
type refusal string

func (r refusal) Error() string { return string(r) }

// functions are those that Helm gives templates, as far as these use them, but for include.
func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	all["toJson"] = func(x any) (string, error) {
		text, err := json.Marshal(x)
		return string(text), err
	}
	all["fromJson"] = func(text string) (x map[string]any, err error) { return x, json.Unmarshal([]byte(text), &x) }
	all["fromYaml"] = func(text string) (x map[string]any) {
		if err := yaml.Unmarshal([]byte(text), &x); err != nil {
			return map[string]any{"Error": err.Error()}
		}
		return x
	}
	all["fail"] = func(reason string) (string, error) { return "", refusal(reason) }
	return all
}

// chartFiles are the files of the chart that templates read, with the methods that Helm gives them.
type chartFiles map[string]string

// Get is the text of a file.
func (f chartFiles) Get(name string) string { return f[name] }

// Glob are the files whose names match a pattern.
func (f chartFiles) Glob(pattern string) (chartFiles, error) {
	matching := chartFiles{}
	for name, text := range f {
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if matches {
			matching[name] = text
		}
	}
	return matching, nil
}

// Lines are the lines of a file.
func (f chartFiles) Lines(name string) (lines []any) {
	for line := range strings.Lines(f[name]) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// files are the files of the chart that templates read.
func (p *Program) files() chartFiles {
	contexts, err := json.MarshalIndent(map[string]any{"podSecurityContext": podSecurityContext(), "securityContext": securityContext()}, "", "  ")
	if err != nil {
		panic("BUG: a security context that is no JSON: " + err.Error())
	}
	files := chartFiles{"files/source-flags.txt": strings.Join(p.sourceFlags(), "\n") + "\n", "defaults/security-contexts.json": string(contexts) + "\n"}
	for _, f := range slices.Concat(p.Rules, p.Dashboards) {
		files["files/"+path.Base(f.Name)] = string(f.Text)
	}
	return files
}

// capabilities are those of a cluster that is not asked.
type capabilities struct{ APIVersions apiVersions }

// apiVersions are the APIs of a cluster, of which none is known.
type apiVersions struct{}

// Has reports whether there is an API.
func (apiVersions) Has(string) bool { return false }

// render renders templates by name.
func (p *Program) render(v *Values, names []string) ([]byte, error) {
	t := template.New("").Option("missingkey=error").Funcs(functions())
	t.Funcs(template.FuncMap{"include": func(name string, data any) (string, error) {
		var b strings.Builder
		err := t.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}})
	patterns := []string{"chart/templates/*.tpl", "chart/templates/*.yaml"}
	if v.Sidecar.Prometheus != "" {
		patterns = append(patterns, "sidecar.yaml")
	}
	template.Must(t.ParseFS(embedded, patterns...))
	values, err := v.byName()
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Release": map[string]any{"Name": v.Name, "Namespace": v.Namespace}, "Chart": map[string]any{"Name": "promcost", "IsRoot": true}, "Template": map[string]any{"BasePath": "promcost/templates"},
		"Capabilities": capabilities{}, "Values": values, "Files": p.files(),
	}
	var b bytes.Buffer
	for _, name := range names {
		var refused refusal
		if err := t.ExecuteTemplate(&b, name, data); errors.As(err, &refused) {
			return nil, refused
		} else if err != nil {
			return nil, err
		}
		b.WriteByte('\n')
	}
	return tidy(b.Bytes())
}

// tidy writes YAML in one form, without documents that are empty.
func tidy(text []byte) ([]byte, error) {
	var docs []*yaml.Node
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return encode(docs...)
		} else if err != nil {
			return nil, fmt.Errorf("write the values as YAML: %w", err)
		}
		if doc.Content[0].Tag != "!!null" {
			docs = append(docs, &doc)
		}
	}
}

// encode writes documents with an element a line, texts of several lines below their keys, and quotes only where they are needed.
func encode(docs ...*yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, doc := range docs {
		restyle(doc)
		if err := e.Encode(doc); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), e.Close()
}

// simple are texts that YAML takes for texts without quotes.
var simple = regexp.MustCompile(`^[A-Za-z/][-A-Za-z0-9_./]*$`)

// words are simple texts that some parsers of YAML take for something else.
var words = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

// restyle sets the style of a node and of those in it.
func restyle(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Style == yaml.DoubleQuotedStyle {
		switch {
		case strings.Contains(n.Value, "\n") && !strings.ContainsAny(n.Value[:1], " \n"):
			n.Style = yaml.LiteralStyle
		case simple.MatchString(n.Value) && !slices.Contains(words, strings.ToLower(n.Value)):
			n.Style = 0
		}
	}
	for _, child := range n.Content {
		restyle(child)
	}
}
