package filter_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
)

// fieldType is what operators mean on a field.
type fieldType int

const (
	text fieldType = iota
	element
)

// meanings say which of the subjects web, webs, aweb and none, which lacks the field, each operator selects.
var meanings = []struct {
	op, value string
	want      [2]string // by fieldType
}{
	{":", "web", [2]string{"web", "web"}},
	{"!:", "web", [2]string{"webs aweb none", "webs aweb none"}},
	{"~:", "web", [2]string{"web webs aweb", "web"}},
	{"!~:", "web", [2]string{"none", "webs aweb none"}},
	{"<~:", "web", [2]string{"web webs", "web webs"}},
	{"!<~:", "web", [2]string{"aweb none", "aweb none"}},
	{"~>:", "web", [2]string{"web aweb", "web aweb"}},
	{"!~>:", "web", [2]string{"webs none", "webs none"}},

	{":", "WEB", [2]string{"", ""}},
	{"~:", "WEB", [2]string{"", ""}},
	{"<~:", "WEB", [2]string{"", ""}},
	{"~>:", "WEB", [2]string{"", ""}},

	{":", "", [2]string{"none", "none"}},
	{"!:", "", [2]string{"web webs aweb", "web webs aweb"}},
	{"~:", "", [2]string{"web webs aweb none", "none"}},
	{"!~:", "", [2]string{"", "web webs aweb"}},
	{"<~:", "", [2]string{"web webs aweb none", "web webs aweb"}},
	{"!<~:", "", [2]string{"", "none"}},
	{"~>:", "", [2]string{"web webs aweb none", "web webs aweb"}},
	{"!~>:", "", [2]string{"", "none"}},

	{":", "__unallocated__", [2]string{"none", "none"}},
	{"!:", "__unallocated__", [2]string{"web webs aweb", "web webs aweb"}},
	{"~:", "__unallocated__", [2]string{"", "none"}},
	{"!~:", "__unallocated__", [2]string{"web webs aweb none", "web webs aweb"}},
	{"<~:", "__unallocated__", [2]string{"", ""}},
	{"!<~:", "__unallocated__", [2]string{"web webs aweb none", "web webs aweb none"}},
	{"~>:", "__unallocated__", [2]string{"", ""}},
	{"!~>:", "__unallocated__", [2]string{"web webs aweb none", "web webs aweb none"}},

	{":", `x","aweb`, [2]string{"aweb", "aweb"}},
	{"!:", `web","webs`, [2]string{"aweb none", "aweb none"}},
	{":", `web","`, [2]string{"web none", "web none"}},
	{"<~:", `webs","a`, [2]string{"webs aweb", "webs aweb"}},
	{"!~>:", `s","none`, [2]string{"web aweb none", "web aweb none"}},
}

// foldedMeanings are what operators select with the value WEB where case does not matter, by fieldType.
var foldedMeanings = [2]map[string]string{
	{":": "web", "~:": "web webs aweb", "<~:": "web webs", "~>:": "web aweb"},
	{":": "web", "~:": "web", "<~:": "web webs", "~>:": "web aweb"},
}

// exportedInSmall reports whether values of the field are names that kube-state-metrics writes in lower case.
func exportedInSmall(field string) bool { return field == "label" || field == "annotation" }

// subjects are the values that the subjects have in the field that is tested.
var subjects = []string{"web", "webs", "aweb", ""}

// allocationSubjects are all fields of allocations, each with a function that gives a row a value of it.
var allocationSubjects = []struct {
	field string
	kind  fieldType
	set   func(r *allocation.Row, value string)
}{
	{"cluster", text, textOf(allocation.Cluster)},
	{"node", text, textOf(allocation.NodeName)},
	{"namespace", text, textOf(allocation.Namespace)},
	{"controllerName", text, textOf(allocation.Controller)},
	{"controllerKind", text, textOf(allocation.ControllerKind)},
	{"container", text, textOf(allocation.Container)},
	{"pod", text, textOf(allocation.Pod)},
	{"services", element, func(r *allocation.Row, value string) { r.Services = []string{"other", value} }},
	{"label", element, func(r *allocation.Row, value string) { r.Labels = map[string]string{"other": "x", value: ""} }},
	{"label[app]", text, labelOf("app")},
	{"label[app.kubernetes.io/name]", text, labelOf("app.kubernetes.io/name")},
	{"label[app_kubernetes_io_name]", text, labelOf("app.kubernetes.io/name")},
	{"label[app.kubernetes.io/name]", text, labelOf("app_kubernetes_io_name")},
	{"annotation", element, func(r *allocation.Row, value string) { r.Annotations = map[string]string{"other": "x", value: ""} }},
	{"annotation[note]", text, annotationOf("note")},
	{"department", text, labelOf("department")},
	{"environment", text, labelOf("env")},
	{"owner", text, labelOf("owner")},
	{"owner", text, annotationOf("owner")},
	{"product", text, labelOf("app")},
	{"team", text, labelOf("team")},
	{"team", text, func(r *allocation.Row, value string) {
		r.Labels = map[string]string{"team": ""}
		annotationOf("team")(r, value)
	}},
}

func textOf(p allocation.Property) func(*allocation.Row, string) {
	return func(r *allocation.Row, value string) { r.Text[p] = value }
}

func labelOf(key string) func(*allocation.Row, string) {
	return func(r *allocation.Row, value string) { r.Labels = map[string]string{"other": "x", key: value} }
}

func annotationOf(key string) func(*allocation.Row, string) {
	return func(r *allocation.Row, value string) { r.Annotations = map[string]string{"other": "x", key: value} }
}

// TestOperators tries every operator on every field of allocations, in a Set and in its saved answer.
func TestOperators(t *testing.T) {
	for _, subject := range allocationSubjects {
		s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
		for i, value := range subjects {
			r := &allocation.Row{}
			if r.Text[allocation.PodUID] = strconv.Itoa(i); value != "" {
				subject.set(r, value)
			}
			s.Append(r)
		}
		for _, m := range meanings {
			expr := subject.field + m.op + `"` + m.value + `"`
			t.Run(expr, func(t *testing.T) {
				f, err := filter.Parse(expr)
				if err != nil {
					t.Fatal(err)
				}
				want := m.want[subject.kind]
				if (subject.field == "controllerKind" || exportedInSmall(subject.field)) && m.value == "WEB" {
					want = foldedMeanings[subject.kind][m.op]
				}
				match := bound(f, s)
				var got []string
				for i, value := range subjects {
					if match(i) {
						got = append(got, value)
					}
				}
				if diff := cmp.Diff(want, list(got)); diff != "" {
					t.Errorf("of a set: %s", diff)
				}
				if diff := cmp.Diff(want, list(savedSubjects(t, f, s))); diff != "" {
					t.Errorf("of an answer: %s", diff)
				}
			})
		}
	}
}

// list writes names as meanings does.
func list(names []string) string {
	for i, name := range names {
		if name == "" {
			names[i] = "none"
		}
	}
	return strings.Join(names, " ")
}

// savedSubjects are the subjects that f selects of an answer with the set's rows, each in a set of its own name.
func savedSubjects(t *testing.T, f *filter.Filter, s *allocation.Set) []string {
	t.Helper()
	var body bytes.Buffer
	if err := encode.Allocations(&body, []*allocation.Set{s}, encode.Options{}); err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(body.String(), `"errorBounds":null}`)
	if len(rows) != len(subjects)+1 {
		t.Fatalf("%d rows in %s", len(rows), body.String())
	}
	var got []string
	for _, row := range rows[:len(subjects)] {
		_, members, _ := strings.Cut(row, `"properties":`)
		name := fmt.Sprintf(`{"data":{"it":{"properties":%s}}`, members)
		selected, err := f.Saved(strings.NewReader(name))
		if err != nil {
			t.Fatalf("%v in %s", err, name)
		}
		if len(selected) > 0 {
			got = append(got, subjectOf(members))
		}
	}
	slices.SortStableFunc(got, func(a, b string) int { return slices.Index(subjects, a) - slices.Index(subjects, b) })
	return got
}

// subjectOf is the value of the subject in its JSON.
func subjectOf(members string) string {
	for _, value := range []string{"webs", "aweb", "web"} {
		if strings.Contains(members, `"`+value+`"`) {
			return value
		}
	}
	return ""
}

// assetSubjects are the fields of assets, each with a function that gives an asset a value of it.
var assetSubjects = []struct {
	field string
	kind  fieldType
	set   func(a *allocation.Asset, value string)
}{
	{"name", text, func(a *allocation.Asset, value string) { a.Title = value }},
	{"category", text, func(a *allocation.Asset, value string) { a.Category = value }},
	{"cluster", text, func(a *allocation.Asset, value string) { a.Cluster = value }},
	{"project", text, func(a *allocation.Asset, value string) { a.Project = value }},
	{"provider", text, func(a *allocation.Asset, value string) { a.Provider = value }},
	{"providerID", text, func(a *allocation.Asset, value string) { a.ProviderID = value }},
	{"account", text, func(a *allocation.Asset, value string) { a.Account = value }},
	{"service", text, func(a *allocation.Asset, value string) { a.Service = value }},
	{"region", text, func(a *allocation.Asset, value string) {
		a.Region = value
		assetLabel("topology_kubernetes_io_region")(a, value)
	}},
	{"label", element, func(a *allocation.Asset, value string) { a.Labels = map[string]string{"other": "x", value: ""} }},
	{"label[a.b/c]", text, assetLabel("a_b_c")},
	{"label[a_b_c]", text, assetLabel("a.b/c")},
	{"label[app]", text, assetLabel("app")},
	{"department", text, assetLabel("department")},
	{"environment", text, assetLabel("env")},
	{"owner", text, assetLabel("kubernetes_label_owner")},
	{"product", text, assetLabel("app")},
	{"team", text, assetLabel("team")},
}

func assetLabel(key string) func(*allocation.Asset, string) {
	return func(a *allocation.Asset, value string) { a.Labels = map[string]string{"other": "x", key: value} }
}

// TestAssetOperators tries every operator on every field of assets, directly and in a saved answer.
func TestAssetOperators(t *testing.T) {
	for _, subject := range assetSubjects {
		set := &assets.Set{}
		for i, value := range subjects {
			a := allocation.Asset{Type: allocation.CloudAsset, Name: value, Start: time.Unix(0, 0), End: time.Unix(int64(i), 0)}
			if value != "" {
				subject.set(&a, value)
			}
			set.Assets = append(set.Assets, a)
		}
		var body bytes.Buffer
		if err := encode.Assets(&body, []*assets.Set{set}, encode.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, m := range meanings {
			expr := subject.field + m.op + `"` + m.value + `"`
			t.Run(expr, func(t *testing.T) {
				f, err := filter.ParseAssets(expr)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				match := f.BindAssets(nil)
				for i := range set.Assets {
					if match(&set.Assets[i]) {
						got = append(got, set.Assets[i].Name)
					}
				}
				want := m.want[subject.kind]
				if exportedInSmall(subject.field) && m.value == "WEB" {
					want = foldedMeanings[subject.kind][m.op]
				}
				if diff := cmp.Diff(want, list(got)); diff != "" {
					t.Error(diff)
				}
				saved, err := f.Saved(bytes.NewReader(body.Bytes()))
				slices.SortStableFunc(saved, func(a, b string) int { return slices.Index(subjects, a) - slices.Index(subjects, b) })
				if diff := cmp.Diff(want, list(saved)); diff != "" || err != nil {
					t.Errorf("of an answer: %v, %s", err, diff)
				}
			})
		}
	}
}

// TestAssetTypes compares types by every operator, in any case.
func TestAssetTypes(t *testing.T) {
	for expr, want := range map[string]string{
		`assetType:"node"`: "n1 n2", `assetType:"Node"`: "n1 n2", `assetType!:"node"`: "data web/front", `assetType~:"OD"`: "n1 n2",
		`assetType!~:"o"`: "data", `assetType<~:"load"`: "web/front", `assetType!<~:"load","disk"`: "n1 n2", `assetType~>:"K","e"`: "data n1 n2",
		`assetType!~>:"e"`: "data web/front", `assetType:""`: "", `assetType:"network","disk"`: "data",
	} {
		f, err := filter.ParseAssets(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		match := f.BindAssets(nil)
		for _, a := range assetList() {
			if match(&a) {
				got = append(got, a.Title)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", expr, diff)
		}
	}
}
