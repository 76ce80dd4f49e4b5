package kubeapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// kinds are the kinds of objects by resource.
var kinds = map[string]string{"allocations": "Allocation", "clusterallocations": "ClusterAllocation", "assets": "Asset"}

// definitions are the OpenAPI definitions.
func definitions() map[string]kubeapi.Definition {
	return kubeapi.Definitions(func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) })
}

const model = "io.promcost.cost.v1alpha1."

// selectable are the fields that a kind declares in OpenAPI.
func selectable(t *testing.T, kind string) (paths []string) {
	t.Helper()
	for _, f := range definitions()[model+kind].Schema.Extensions["x-kubernetes-selectable-fields"].([]any) {
		field := f.(map[string]any)
		if field["description"] == "" {
			t.Errorf("%s: %s has no description", kind, field["fieldPath"])
		}
		paths = append(paths, field["fieldPath"].(string))
	}
	return paths
}

// TestSelectableFields holds the laws of KEP-4358 for every declared field of every resource: at most 8 of a resource besides
// metadata, no metadata but name and namespace, none twice, each a string of the schema; the API takes them and no others; = and != of
// each value divide the objects.
func TestSelectableFields(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	scheme := kubeapi.NewScheme()
	for resource, kind := range kinds {
		gvk, all := kubeapi.GroupVersion.WithKind(kind), selectable(t, kind)
		if n := len(all); n > 10 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != n {
			t.Errorf("%s: %d fields: %q", kind, n, all)
		}
		whole, err := a.resources[resource].List(in(t, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			if got, value, err := scheme.ConvertFieldLabel(gvk, path, "x"); err != nil || got != path || value != "x" {
				t.Errorf("%s: %s: %s %s %v", kind, path, got, value, err)
			}
			parts := strings.Split(path, ".")
			if parts[0] == "metadata" {
				if path != "metadata.name" && path != "metadata.namespace" {
					t.Errorf("%s: %s is metadata", kind, path)
				}
			} else if s := definitions()[model+kind+"Spec"].Schema.Properties[parts[1]]; len(parts) != 2 || parts[0] != "spec" || !s.Type.Contains("string") {
				t.Errorf("%s: %s is no string of the schema", kind, path)
			}
			err := meta.EachListItem(whole, func(o runtime.Object) error {
				value := valueAt(t, o, parts)
				counts := 0
				for _, operator := range []string{"=", "==", "!="} {
					list, err := a.resources[resource].List(in(t, ""), options(t, path+operator+value, ""))
					if err != nil {
						return err
					}
					if operator != "==" {
						counts += meta.LenList(list)
					}
					if operator != "!=" && !strings.Contains(names(t, list), nameOf(t, o)) {
						t.Errorf("%s: %s%s%s does not find %s", kind, path, operator, value, nameOf(t, o))
					}
				}
				if counts != meta.LenList(whole) {
					t.Errorf("%s: %s of %s: = and != find %d of %d", kind, path, nameOf(t, o), counts, meta.LenList(whole))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		for _, path := range []string{"spec.color", "metadata.uid", "status.totalCost", "", "spec", "spec.", "metadata.name "} {
			if _, _, err := scheme.ConvertFieldLabel(gvk, path, "x"); err == nil || err.Error() != "field label not supported: "+path {
				t.Errorf("%s: %s: %v", kind, path, err)
			}
		}
	}
}

// TestSelectableFieldsAreDocumented holds the README of the program to the declared fields: all of them, and no others.
func TestSelectableFieldsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "cmd", "promcost-apiserver", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| a") || strings.HasPrefix(line, "| c") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for _, resource := range []string{"allocations", "clusterallocations", "assets"} {
		for _, f := range definitions()[model+kinds[resource]].Schema.Extensions["x-kubernetes-selectable-fields"].([]any) {
			field := f.(map[string]any)
			want = append(want, fmt.Sprintf("| %s | `%s` | %s |", resource, field["fieldPath"], field["description"]))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// valueAt is the text of an object at a path, "" where it is absent.
func valueAt(t *testing.T, o runtime.Object, path []string) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var at any
	if err := json.Unmarshal(text, &at); err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		at = at.(map[string]any)[name]
	}
	value, _ := at.(string)
	return value
}

// TestDefinitions holds that every type that is referred to is defined, that all of our types and fields say what they are, and that the fields
// are those of the objects.
func TestDefinitions(t *testing.T) {
	all := definitions()
	for name, d := range all {
		for _, needed := range d.Dependencies {
			if _, ok := all[needed]; !ok {
				t.Errorf("%s refers to %s, which is not there", name, needed)
			}
		}
		if strings.HasPrefix(name, model) && d.Schema.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for property, s := range d.Schema.Properties {
			if strings.HasPrefix(name, model) && s.Description == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
	a := newAPI(t, newFake(), kubeapi.Config{})
	for resource, kind := range kinds {
		list, err := a.resources[resource].List(in(t, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = meta.EachListItem(list, func(o runtime.Object) error {
			var sent struct{ Spec, Status map[string]any }
			text, err := json.Marshal(o)
			if err == nil {
				err = json.Unmarshal(text, &sent)
			}
			for part, members := range map[string]map[string]any{"Spec": sent.Spec, "Status": sent.Status} {
				for name := range members {
					if _, ok := all[model+kind+part].Schema.Properties[name]; !ok {
						t.Errorf("%s of %s is not defined", name, kind+part)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDeepCopy copies objects in which everything is set, and compares; nothing may be shared.
func TestDeepCopy(t *testing.T) {
	scheme := kubeapi.NewScheme()
	for _, kind := range kinds {
		for _, name := range []string{kind, kind + "List"} {
			o, err := scheme.New(kubeapi.GroupVersion.WithKind(name))
			if err != nil {
				t.Fatal(err)
			}
			fill(reflect.ValueOf(o).Elem(), 0)
			c := o.DeepCopyObject()
			if diff := cmp.Diff(o, c); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			apart(t, name, reflect.ValueOf(o), reflect.ValueOf(c))
		}
	}
}

// fill sets everything in v.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() && depth < 8 {
				fill(field, depth+1)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
	}
}

// apart checks that two equal values share no memory.
func apart(t *testing.T, where string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice:
		if a.IsNil() {
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", where)
		}
		if a.Kind() == reflect.Pointer {
			apart(t, where, a.Elem(), b.Elem())
			return
		}
		for i := range a.Len() {
			apart(t, where+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() {
				apart(t, where+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	default:
	}
}

// TestTables holds that each row has a cell for each column, and what wide tables have besides.
func TestTables(t *testing.T) {
	a := newAPI(t, newFake(), kubeapi.Config{})
	for resource, want := range map[string][2]string{
		"allocations":        {"Name Controller CPU Memory Other Cost Currency", "Change Owner Efficiency Cores GiB Bounds Node"},
		"clusterallocations": {"Name Rows Cost Currency Query", "Change Error"},
		"assets":             {"Name Type Cost Currency", "Change Provider NodeType"},
	} {
		r := a.resources[resource]
		list, err := r.List(in(t, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.ConvertToTable(context.Background(), list, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got [2][]string
		for _, c := range table.ColumnDefinitions {
			if c.Description == "" {
				t.Errorf("%s: column %s has no description", resource, c.Name)
			}
			got[c.Priority] = append(got[c.Priority], c.Name)
		}
		if diff := cmp.Diff(want, [2]string{strings.Join(got[0], " "), strings.Join(got[1], " ")}); diff != "" {
			t.Error(diff)
		}
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.ColumnDefinitions) || row.Object.Object == nil {
				t.Errorf("%s: row %+v", resource, row)
			}
		}
		if len(table.Rows) != meta.LenList(list) || table.ResourceVersion == "" {
			t.Errorf("%s: %d rows of version %s", resource, len(table.Rows), table.ResourceVersion)
		}
	}
	o, err := a.resources["allocations"].Get(in(t, "shop"), "db-0", nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := a.resources["allocations"].ConvertToTable(context.Background(), o, &metav1.TableOptions{NoHeaders: true})
	if err != nil || len(table.ColumnDefinitions) != 0 {
		t.Fatal(err, table)
	}
	want := []any{"db-0", "statefulset/db", "4.00", "2.12", "0.00", "8.00", "EUR", "0%", "bob", "50%", "1.5", "1", "0.9-?", "<none>"}
	if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}

// FuzzAnswer gives any answer of a promcost to each resource.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`{"code":200,"data":[{"a/b":{"properties":{"namespace":"a","pod":"b"},"totalCost":1}}],"warnings":["x"]}`,
		`{"data":[{"a":{"properties":null}}]}`, `{"data":[]}`, `{"data":null}`, `{}`, `[]`, `{"data":[{"a":`, `{"data":[{"a":{"totalCost":1e999}}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := newFake()
		a := newAPI(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/model/clusterInfo" || r.URL.Path == "/model/getConfigs" || r.URL.Path == "/model/questions" {
				rest.ServeHTTP(w, r)
				return
			}
			_, _ = w.Write([]byte(text))
		}), kubeapi.Config{})
		for resource := range kinds {
			list, err := a.resources[resource].List(in(t, ""), nil)
			if err != nil {
				continue
			}
			if _, err := a.resources[resource].ConvertToTable(context.Background(), list, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzRequest lists with any continue, version and window.
func FuzzRequest(f *testing.F) {
	f.Add("eyJ2IjoxNzcyNzEyMDAwLCJuIjoid2ViLTEifQ", "1772712000", "7d")
	f.Add("e30", "-1", "1h30m")
	a := newAPI(f, newFake(), kubeapi.Config{})
	f.Fuzz(func(t *testing.T, next, version, window string) {
		o := options(t, "", "")
		o.Continue, o.ResourceVersion, o.Limit = next, version, 2
		if list, err := a.resources["allocations"].List(in(t, ""), o); err == nil {
			names(t, list)
		}
		if o, err := a.resources["allocations"].Get(in(t, "shop"), "web-1:"+window, nil); err == nil && nameOf(t, o) != "shop/web-1:"+window {
			t.Errorf("got %s", nameOf(t, o))
		}
	})
}
