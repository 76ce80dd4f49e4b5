package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Chart are the files of a Helm chart, whose templates make the objects that YAML writes, and whose values are
// these by default.
func (p *Program) Chart(v *Values) ([]File, error) {
	if err := p.check(v); err != nil {
		return nil, err
	}
	fields := slices.DeleteFunc(v.Fields(), func(f Field) bool { return f.release || f.section == sidecarSection })
	files := p.files()
	err := fs.WalkDir(embedded, "chart", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		files[strings.TrimPrefix(name, "chart/")] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	values, table, err := describe(fields)
	if err != nil {
		return nil, err
	}
	files["Chart.yaml"] += versions(v)
	files["README.md"] += besideOpenCost() + "\n## Values\n" + table
	files["values.yaml"] = values
	files["values.schema.json"] = p.schemaFile(fields)
	var all []File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, File{name, []byte(files[name])})
	}
	return all, nil
}

// semantic is what charts have for versions.
var semantic = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// versions are the lines of Chart.yaml that follow from the image. The chart's version is that of the image, where a chart may have it.
func versions(v *Values) string {
	version := "0.0.0"
	if semantic.MatchString(v.Image.Tag) {
		version = strings.TrimPrefix(v.Image.Tag, "v")
	}
	return fmt.Sprintf(`version: %[1]s
appVersion: %[2]q
annotations:
  artifacthub.io/category: monitoring-logging
  artifacthub.io/license: Apache-2.0
  artifacthub.io/links: |
    - {name: Documentation, url: "https://github.com/promcost/promcost#readme"}
    - {name: Reference, url: "https://github.com/promcost/promcost/blob/main/REFERENCE.md"}
  artifacthub.io/changes: |
    - {kind: changed, description: "What version %[1]s changes", links: [{name: CHANGELOG.md, url: "https://github.com/promcost/promcost/blob/main/CHANGELOG.md"}]}
  artifacthub.io/images: |
    - {name: promcost, image: %[3]q}
    - {name: promcost-apiserver, image: %[4]q}
`, version, v.Image.Tag, v.Image.Repository+":"+v.Image.Tag, v.APIServer.Repository+":"+v.Image.Tag)
}

// describe are values.yaml, and the values as README.md lists them.
func describe(fields []Field) (values, table string, err error) {
	var v, t strings.Builder
	t.WriteString("\n| value | default | what |\n| --- | --- | --- |\n")
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	section := ""
	for _, f := range fields {
		indent := ""
		if f.section != "" {
			indent = "  "
		}
		if f.section != section && f.section != "" {
			v.WriteString("\n# " + f.sectionHelp + "\n" + f.section + ":\n")
		} else if indent == "" {
			v.WriteString("\n")
		}
		section = f.section
		if f.Help != f.sectionHelp {
			v.WriteString(indent + "# " + f.Help + "\n")
		}
		text, err := f.json()
		if err != nil {
			return "", "", err
		}
		entry, err := tidy([]byte(f.name + ": " + text))
		if err != nil {
			return "", "", err
		}
		for line := range bytes.Lines(entry) {
			v.WriteString(indent + string(line))
		}
		fmt.Fprintf(&t, "| `%s` | `%s` | %s |\n", f.Path, escape.Replace(text), escape.Replace(f.Help))
	}
	return v.String()[1:], t.String(), nil
}

// property is a schema of JSON.
type property struct {
	Schema      string               `json:"$schema,omitempty"`
	Description string               `json:"description,omitempty"`
	Type        any                  `json:"type,omitempty"` // one, or a list
	Enum        []string             `json:"enum,omitempty"`
	Pattern     string               `json:"pattern,omitempty"`
	Minimum     *int                 `json:"minimum,omitempty"`
	Maximum     *int                 `json:"maximum,omitempty"`
	Items       *property            `json:"items,omitempty"`
	More        any                  `json:"additionalProperties,omitempty"` // false, or a property
	Properties  map[string]*property `json:"properties,omitempty"`
}

// schemaFile is values.schema.json.
func (p *Program) schemaFile(fields []Field) string {
	root := &property{
		Schema: "https://json-schema.org/draft-07/schema#", Type: "object", More: false,
		Properties: map[string]*property{"enabled": {Type: "boolean", Description: "What charts of charts that have this one call its condition. It changes nothing here."}},
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
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic("BUG: a schema that is no JSON: " + err.Error())
	}
	return b.String()
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
		s.Type, s.Items = []string{"array", "null"}, &property{Type: "string"}
	case *[]map[string]any:
		s.Type, s.Items = []string{"array", "null"}, &property{Type: "object"}
	case *map[string]string:
		s.Type, s.More = []string{"object", "null"}, &property{Type: "string"}
	case *map[string]any:
		s.Type = []string{"object", "null"}
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
