package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"
)

// addHelm adds the functions of Helm that the templates use: those of sprig, and some of its own.
func addHelm(t *template.Template) *template.Template {
	decode := func(text string) (x map[string]any) {
		if err := yaml.Unmarshal([]byte(text), &x); err != nil {
			return map[string]any{"Error": err.Error()}
		}
		return x
	}
	return t.Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := t.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toJson": func(x any) (string, error) {
			text, err := json.Marshal(x)
			return string(text), err
		},
		"fromJson": decode,
		"fromYaml": decode,
		"fail":     func(text string) (string, error) { return "", errors.New(text) },
	})
}

// chartEngine renders the files of a chart by Go's own engine with the functions that they use, as Helm does.
type chartEngine struct {
	dir       string
	defaults  map[string]any
	templates *template.Template
}

// newChartEngine reads a chart.
func newChartEngine(t *testing.T, dir string) *chartEngine {
	t.Helper()
	e := &chartEngine{dir: dir, templates: addHelm(template.New("").Option("missingkey=error"))}
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err := errors.Join(err, yaml.Unmarshal(text, &e.defaults)); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.tpl", "*.yaml"} {
		template.Must(e.templates.ParseGlob(filepath.Join(dir, "templates", pattern)))
	}
	return e
}

// render renders the chart for values: the name of the release, and the path below charts of another one that has it, "" where none has.
func (e *chartEngine) render(release, alias string, values map[string]any) ([]byte, error) {
	asJSON, err := json.Marshal(values) // in which a number is a float, as Helm has it
	if err := errors.Join(err, json.Unmarshal(asJSON, &values)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, of := range e.templates.Templates() {
		if filepath.Ext(of.Name()) != ".yaml" {
			continue // it is a part of others
		}
		err := of.Execute(&b, map[string]any{
			"Values": values, "Release": map[string]any{"Name": release, "Namespace": "costs"},
			"Chart": map[string]any{"Name": path.Base(cmp.Or(alias, "promcost")), "IsRoot": alias == ""}, "Template": map[string]any{"BasePath": path.Join("platform/charts", cmp.Or(alias, "promcost"), "templates")}, "Capabilities": map[string]any{"APIVersions": noAPIs{}}, "Files": chartFiles(e.dir),
		})
		if err != nil {
			return nil, err
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// noAPIs are the APIs of a cluster that has none.
type noAPIs struct{}

// Has reports whether there is an API.
func (noAPIs) Has(string) bool { return false }

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
