package filter_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// row is an allocation as the tests write it.
type row struct {
	cluster, node, namespace, kind, controller, pod, container string
	services                                                   []string
	labels, annotations                                        map[string]string
}

// rows are the allocations that most tests filter, with a name each.
var rows = []struct {
	name string
	row
}{
	{"web", row{"one", "n1", "web", "deployment", "front", "front-1", "nginx", []string{"front", "front-lb"}, map[string]string{"app": "front", "app_kubernetes_io_name": "nginx"}, map[string]string{"note": "a b"}}},
	{"api", row{"one", "n2", "api", "deployment", "api", "api-1", "server", []string{"api"}, map[string]string{"app": "api", "team": ""}, nil}},
	{"db", row{"two", "n3", "data", "statefulset", "db", "db-0", "postgres", nil, map[string]string{"app.kubernetes.io/name": "postgres"}, nil}},
	{"bare", row{"two", "n3", "data", "", "", "bare", "sh", nil, nil, nil}},
}

func makeSet(rows []row) *allocation.Set {
	s := allocation.NewSet(allocation.Window{}, allocation.NewDict())
	for _, r := range rows {
		s.Append(&allocation.Row{
			Text: [allocation.Services]string{
				allocation.Cluster: r.cluster, allocation.NodeName: r.node, allocation.Namespace: r.namespace, allocation.Pod: r.pod,
				allocation.Container: r.container, allocation.ControllerKind: r.kind, allocation.Controller: r.controller,
			},
			Services: r.services, Labels: r.labels, Annotations: r.annotations,
		})
		if r.node != "" {
			s.Nodes = append(s.Nodes, allocation.Node{Cluster: r.cluster, Name: r.node, Pool: poolOf(r.node)})
		}
	}
	return s
}

// poolOf is the pool of a node, "" of some.
func poolOf(node string) string {
	return map[string]string{"n1": "batch", "n3": "general", "a": "ab", "b": "ab", "ab": "a"}[node]
}

func namedSet() *allocation.Set {
	plain := make([]row, len(rows))
	for i := range rows {
		plain[i] = rows[i].row
	}
	return makeSet(plain)
}

// selected are the names of the rows that a filter selects, separated by spaces.
func selected(f *filter.Filter) string {
	var names []string
	match := bound(f, namedSet())
	for i := range rows {
		if match(i) {
			names = append(names, rows[i].name)
		}
	}
	return strings.Join(names, " ")
}

// TestQuotesInValues reads quotes and backslashes within values, and writes them so that they are read back.
func TestQuotesInValues(t *testing.T) {
	values := []string{`say "hi"`, `"`, `""`, `\`, `\\`, `\"`, `C:\dir\`, `a\b`, `a","b`, `a"+pod:"b`}
	var rows []row
	for _, v := range values {
		rows = append(rows, row{pod: v, labels: map[string]string{"note": v}})
	}
	set := makeSet(rows)
	for i, v := range values {
		escaped := strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), `"`, `\"`)
		for _, text := range []string{`pod:"` + escaped + `"`, `label[note]:"nothing","` + escaped + `"`, `(pod:"` + escaped + `")`} {
			f, err := filter.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			again, err := filter.Parse(f.String())
			if err != nil || again.String() != f.String() {
				t.Errorf("%s is read back as %v, %v", f, again, err)
			}
			match := bound(f, set)
			for k := range rows {
				if match(k) != (k == i) {
					t.Errorf("%s matches %s: %v", text, values[k], match(k))
				}
			}
		}
	}
	// A backslash before anything else is itself, as it was before there were escapes.
	if f, err := filter.Parse(`pod:"a\b"`); err != nil || !bound(f, set)(7) {
		t.Errorf("%v: %v", f, err)
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct{ filter, want string }{
		{`namespace:"web"`, "web"},
		{`namespace:"Web"`, ""},
		{`namespace!:"web"`, "api db bare"},
		{`namespace:"web","api"`, "web api"},
		{`namespace!:"web","api"`, "db bare"},
		{`namespace:"nowhere"`, ""},
		{`namespace!:"nowhere"`, "web api db bare"},
		{`cluster:"two"`, "db bare"},
		{`node:"n1","n3"`, "web db bare"},
		{`nodePool:"batch"`, "web"},
		{`nodePool!:"batch"`, "api db bare"},
		{`nodePool<~:"gen","b"`, "web db bare"},
		{`nodePool:"__unallocated__"`, "api"},
		{`pod<~:"front","db"`, "web db"},
		{`pod!<~:"front","db"`, "api bare"},
		{`pod~>:"-1"`, "web api"},
		{`pod!~>:"-1"`, "db bare"},
		{`pod~:"r"`, "web bare"},
		{`pod!~:"r"`, "api db"},
		{`container:"nginx"`, "web"},
		{`controllerName:"api"`, "api"},
		{`controllerKind:"Deployment"`, "web api"},
		{`controllerKind!:"DEPLOYMENT"`, "db bare"},
		{`controllerKind<~:"STATE"`, "db"},
		{`controllerName:"__unallocated__"`, "bare"},
		{`controllerName:""`, "bare"},
		{`controllerName!:""`, "web api db"},
		{`controllerName:"","db"`, "db bare"},
		{`controllerKind:"__unallocated__"`, "bare"},
		{`services:"front-lb"`, "web"},
		{`services~:"front-lb"`, "web"},
		{`services~:"front-l"`, ""},
		{`services<~:"front"`, "web"},
		{`services~>:"-lb","api"`, "web api"},
		{`services!:"api"`, "web db bare"},
		{`services:"__unallocated__"`, "db bare"},
		{`services!:""`, "web api"},
		{`label[app]:"front","api"`, "web api"},
		{`label[app]!:"front"`, "api db bare"},
		{`label[app]:"__unallocated__"`, "db bare"},
		{`label[app]~:"p"`, "api"},
		{`label[app]<~:"f"`, "web"},
		{`label[app]~>:"t"`, "web"},
		{`label[app]!~>:"t"`, "api db bare"},
		{`label[team]:""`, "web api db bare"},
		{`label[app.kubernetes.io/name]:"nginx","postgres"`, "web db"},
		{`label[app_kubernetes_io_name]:"nginx","postgres"`, "web db"},
		{`label[ app ]:"front"`, "web"},
		{`label:"app"`, "web api"},
		{`label~:"app"`, "web api"},
		{`label~:"ap"`, ""},
		{`label!:"app"`, "db bare"},
		{`label:"app.kubernetes.io/name"`, "web db"},
		{`label:"app_kubernetes_io_name"`, "web db"},
		{`label<~:"app.k"`, "web db"},
		{`label~>:"io/name"`, "web db"},
		{`label:"__unallocated__"`, "bare"},
		{`label!:""`, "web api db"},
		{`annotation[note]:"a b"`, "web"},
		{`annotation:"note"`, "web"},
		{`namespace:"web"+container:"nginx"`, "web"},
		{`namespace:"web"+container:"server"`, ""},
		{`namespace:"web"|container:"server"`, "web api"},
		{`namespace:"web" container:"nginx"`, "web"},
		{` namespace : "web" , "api" + container : "nginx" `, "web"},
		{`(namespace:"web"|namespace:"api") (container:"nginx")`, "web"},
		{`cluster:"one"+(pod:"front-1"|label[app]:"api")`, "web api"},
		{`(cluster:"one"+namespace:"web")|(cluster:"two"+namespace!:"web")`, "web db bare"},
		{`((((namespace:"web"))))`, "web"},
		{"namespace:\"web\"\n+\tpod:\"front-1\"", "web"},
		{`cluster:"one"+pod!:"x"+(node:"n1"|node:"n2")+container~:"n"`, "web"},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			f, err := filter.Parse(tc.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := selected(f); got != tc.want {
				t.Errorf("selected %q, want %q", got, tc.want)
			}
			again, err := filter.Parse(f.String())
			if err != nil || again.String() != f.String() {
				t.Errorf("%q is read back as %v, %v", f, again, err)
			}
		})
	}
}

func TestEmptyLists(t *testing.T) {
	if got := selected(filter.New(filter.And{})); got != "web api db bare" {
		t.Errorf("empty And selects %q", got)
	}
	if got := selected(filter.New(filter.Or{})); got != "" {
		t.Errorf("empty Or selects %q", got)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tc := range []struct {
		filter string
		offset int
		want   []string
	}{
		{``, 0, []string{"expected a comparison", "found the end"}},
		{`   `, 3, []string{"expected a comparison"}},
		{`namespace`, 9, []string{"expected an operator (: !: ~: ", "found the end"}},
		{`namespace="web"`, 9, []string{"expected an operator", `found "="`}},
		{`namespace:web`, 10, []string{"double quotes", `namespace:"web"`, `found "w"`}},
		{`namespace:"web`, 10, []string{"no closing double quote"}},
		{`namespace:"web\"`, 10, []string{"no closing double quote", `\\ for a backslash`}},
		{`namespace:"web",`, 16, []string{"double quotes", "found the end"}},
		{`namespace:"web"+`, 16, []string{"expected a comparison", "found the end"}},
		{`namespace:"web"trailing`, 15, []string{`"+", "|" or the end`, `found "t"`}},
		{`namespace:"web" trailing`, 16, []string{`unknown field "trailing"`}},
		{`namespace:"web" "api"`, 16, []string{`found "\""`}},
		{`namespace:"web")`, 15, []string{"closes nothing", "remove"}},
		{`(namespace:"web"`, 16, []string{`"(" at column 1`, "found the end"}},
		{`pod:"a"+((namespace:"web")`, 26, []string{`"(" at column 9`}},
		{`()`, 1, []string{"expected a comparison", `found ")"`}},
		{`names:"web"`, 0, []string{`unknown field "names"`, "cluster, node, namespace"}},
		{`Namespace:"web"`, 0, []string{`did you mean "namespace"?`}},
		{`pod:"a"+namspace:"web"`, 8, []string{`unknown field "namspace", did you mean "namespace"?`}},
		{`labels[app]:"web"`, 0, []string{`did you mean "label"?`}},
		{`namespace[app]:"web"`, 9, []string{"namespace takes no key"}},
		{`label[app:"web"`, 5, []string{`expected a "]"`}},
		{`label[]:"web"`, 5, []string{"key is empty", "label[app]"}},
		{`namespace:"a"+pod:"b"|pod:"c"`, 21, []string{"on one level", "parentheses"}},
		{`namespace:"a"|pod:"b" pod:"c"`, 22, []string{"on one level", "white space"}},
		{`(namespace:"a"|pod:"b"+pod:"c")+pod:"d"`, 22, []string{"on one level"}},
		{`namespace!~<:"a"`, 9, []string{"expected an operator", `found "!"`}},
		{"namespace:\"a\"\xff", 13, []string{`found "\xff"`}},
		{`namespace:"` + strings.Repeat("x", filter.MaxBytes) + `"`, filter.MaxBytes, []string{"65548 bytes long, at most 65536"}},
		{strings.Repeat("(", 1001) + `pod:"a"` + strings.Repeat(")", 1001), 1000, []string{"more than 1000 deep"}},
		{strings.Repeat("x", 65000), 0, []string{"unknown field", "x…"}},
		{strings.Repeat("(", 65000), 1000, []string{"more than 1000 deep"}},
	} {
		name := tc.filter
		if len(name) > 40 {
			name = name[:40]
		}
		t.Run(name, func(t *testing.T) {
			_, err := filter.Parse(tc.filter)
			var syntax *filter.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v is no SyntaxError", err)
			}
			if syntax.Offset != tc.offset {
				t.Errorf("offset %d, want %d", syntax.Offset, tc.offset)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if len(err.Error()) > 1000 {
				t.Errorf("error is %d bytes long", len(err.Error()))
			}
		})
	}
}

func TestCaret(t *testing.T) {
	long := `pod:"` + strings.Repeat("x", 60) + `"`
	for _, tc := range []struct{ name, filter, want string }{
		{"short", `namespace:"ä"+pod="b"`, "column 18: expected an operator (: !: ~: !~: <~: !<~: ~>: !~>:), found \"=\"\n" +
			"  namespace:\"ä\"+pod=\"b\"\n" +
			"                   ^"},
		{"cut", long + `+pod="b"+` + long, "column 71: expected an operator (: !: ~: !~: <~: !<~: ~>: !~>:), found \"=\"\n" +
			"  …" + strings.Repeat("x", 35) + `"+pod="b"+pod:"` + strings.Repeat("x", 30) + "…\n" +
			"  " + strings.Repeat(" ", 41) + "^"},
		{"control characters", "pod:\"\n\t\"=", "column 9: expected \",\" and a value, \"+\", \"|\" or the end, found \"=\"\n  pod:\"  \"=\n          ^"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := filter.Parse(tc.filter)
			if diff := cmp.Diff("parse filter: "+tc.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeepestNesting(t *testing.T) {
	f, err := filter.Parse(strings.Repeat("(", 1000) + `namespace:"web"` + strings.Repeat(")", 1000))
	if err != nil {
		t.Fatal(err)
	}
	if got := selected(f); got != "web" {
		t.Errorf("selected %q", got)
	}
}

// TestLongInputs reads and binds the longest inputs that are allowed. If the time grew faster than their length, the test would not end.
func TestLongInputs(t *testing.T) {
	s := namedSet()
	for _, tc := range []struct{ head, repeat, tail string }{
		{"", "(", ""},
		{"", `(pod:"a"|`, ""},
		{"", `pod:"a"+`, `pod:"a"`},
		{"", `(pod:"a")+`, `pod:"a"`},
		{`pod:"a"`, `,"b"`, ""},
		{`pod~:"a"`, `,"b"`, ""},
		{"", "label[", ""},
		{"", `label[a]:"b" `, ""},
		{"", `pod:"`, ""},
		{"", " ", `pod:"a"`},
		{"x", "x", ""},
		{"x", ".", `:"a"`},
		{`pod:"a"`, ")", ""},
		{"", "\xff", ""},
	} {
		text := tc.head + strings.Repeat(tc.repeat, (filter.MaxBytes-len(tc.head)-len(tc.tail))/len(tc.repeat)) + tc.tail
		f, err := filter.Parse(text)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("%s…: the error is %d bytes long", tc.repeat, len(err.Error()))
			}
			continue
		}
		bound(f, s)(0)
		if len(f.Explain()) == 0 {
			t.Errorf("%s… has no explanation", tc.repeat)
		}
	}
	var list strings.Builder
	for i := 0; list.Len() < filter.MaxBytes-20; i++ {
		fmt.Fprintf(&list, "l%d:x,", i)
	}
	for _, v := range filter.V1Filters() {
		e, err := filter.V1(v.Name, list.String())
		if err != nil {
			t.Fatal(err)
		}
		bound(filter.New(e), s)(0)
		if _, err := filter.V1(v.Name, strings.Repeat("a,", filter.MaxBytes)); err == nil || !strings.Contains(err.Error(), "131072 bytes long") {
			t.Errorf("%s: got %v", v.Name, err)
		}
	}
}

// TestNestedLists binds a filter that alternates AND and OR as deep as is allowed.
func TestNestedLists(t *testing.T) {
	text := `namespace:"web"`
	for i := range filter.MaxDepth - 1 {
		text = "(" + text + []string{`+cluster:"one"`, `|pod:"none"`}[i%2] + ")"
	}
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := selected(f); got != "web" {
		t.Errorf("selected %q", got)
	}
	if again, err := filter.Parse(f.String()); err != nil || selected(again) != "web" || strings.Count(f.Explain(), "\n") < filter.MaxDepth {
		t.Errorf("read back: %v", err)
	}
}

func TestNoAllocationPerRow(t *testing.T) {
	s := namedSet()
	f, err := filter.Parse(`(namespace:"web"|label[app]~:"p")+services!<~:"x"`)
	if err != nil {
		t.Fatal(err)
	}
	match := bound(f, s)
	if n := testing.AllocsPerRun(100, func() {
		for i := range s.Len() {
			match(i)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAgainstNaiveEvaluator(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		plain := make([]row, 40)
		for i := range plain {
			plain[i] = randomRow(rnd)
		}
		s := makeSet(plain)
		expr := randomExpr(rnd, 3)
		f := filter.New(expr, options()...)
		parsed, err := filter.Parse(f.String(), options()...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, f := range []*filter.Filter{f, parsed} {
			match := bound(f, s)
			for i, r := range plain {
				if got, want := match(i), evaluate(expr, r); got != want {
					t.Fatalf("seed %d: %s on %+v: got %v, want %v", seed, f, r, got, want)
				}
			}
		}
	}
}
