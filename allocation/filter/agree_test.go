package filter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
)

// TestSavedAgreesWithSets checks that random filters and selectors select the same rows of a set and of its saved answer.
func TestSavedAgreesWithSets(t *testing.T) {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		plain := make([]row, 30)
		for i := range plain {
			plain[i] = randomRow(rnd)
			plain[i].container += fmt.Sprint("-", i)
		}
		s := makeSet(plain)
		s.Window = allocation.Window{Start: at, End: at.Add(time.Hour)}
		f := filter.New(filter.And{randomExpr(rnd, 2), randomSelectors(t, rnd)}, options()...)
		match := bound(f, s)
		want := map[string]bool{}
		for i := range plain {
			if match(i) {
				want[s.Name(i)] = true
			}
		}
		var body bytes.Buffer
		o := encode.Options{SingularProperties: seed%2 == 0, Location: time.FixedZone("x", 3600)}
		if err := encode.Allocations(&body, []*allocation.Set{s}, o); err != nil {
			t.Fatal(err)
		}
		names, err := f.Saved(&body)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, name := range names {
			got[name] = true
		}
		if strings.Contains(f.String(), "derived") || strings.Contains(f.String(), "nodePool") {
			continue // no answer has them
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s: %s", seed, f, diff)
		}
	}
}

// randomSelectors returns an Or of one selector of each kind, or an empty And.
func randomSelectors(t *testing.T, rnd *rand.Rand) filter.Expr {
	t.Helper()
	if rnd.IntN(3) == 0 {
		return filter.And{}
	}
	selectable := filter.NewSelectable()
	for _, path := range []string{".spec.team", ".spec.providerID", ".status.start", ".status.end"} {
		if err := selectable.Add(path, filter.Allocations); err != nil {
			t.Fatal(err)
		}
	}
	names := selectable.Fields(filter.Allocations)
	value := pick(rnd, append([]string{"aws:///zone/i-1", "i-1", "1970-01-01T00:00:00Z"}, words...))
	fields, err := selectable.Parse(filter.Allocations, pick(rnd, names)+pick(rnd, []string{"=", "!="})+value+","+pick(rnd, names)+"!="+pick(rnd, words))
	if err != nil {
		t.Fatal(err)
	}
	selector, err := filter.ParseLabelSelector(pick(rnd, labelSelectors))
	if err != nil {
		t.Fatal(err)
	}
	return filter.Or{fields, selector}
}

// labelSelectors use every operator.
var labelSelectors = []string{
	"app=a", "app==ab", "app!=a", "app in (a,b,Job)", "team notin (a,b)", "app", "!team", "a,app", "app=", "app in (,a)", "a>1", "a<3", "",
}

// TestLabelSelectors compares what selectors select with what Kubernetes' own do, on the labels of random rows.
func TestLabelSelectors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	plain := make([]row, 60)
	for i := range plain {
		plain[i] = randomRow(rnd)
		if i%3 == 0 {
			plain[i].labels["a"] = strconv.Itoa(i % 5)
		}
	}
	for _, text := range labelSelectors {
		e, err := filter.ParseLabelSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		match := bound(filter.New(e), makeSet(plain))
		asset := filter.NewAssets(e).BindAssets(nil)
		for i, r := range plain {
			want := selector.Matches(labels.Set(r.labels))
			if got := match(i); got != want {
				t.Errorf("%s on %v: got %v, want %v", text, r.labels, got, want)
			}
			if got := asset(&allocation.Asset{Labels: r.labels}); got != want {
				t.Errorf("%s on an asset with %v: got %v, want %v", text, r.labels, got, want)
			}
		}
	}
}

// TestLabelSelectorSpellings checks that keys find labels as Kubernetes writes them and as Prometheus does. If several labels match, the
// one that the selector spells exactly counts.
func TestLabelSelectorSpellings(t *testing.T) {
	const raw, written = "app.kubernetes.io/name", "app_kubernetes_io_name"
	for _, tc := range []struct {
		selector string
		labels   map[string]string
		want     bool
	}{
		{raw + "=x", map[string]string{raw: "x"}, true},
		{raw + "=x", map[string]string{written: "x"}, true},
		{written + "=x", map[string]string{raw: "x"}, true},
		{written + "=x", map[string]string{written: "x"}, true},
		{raw + "=x", map[string]string{raw: "y", written: "x"}, false},
		{written + "=x", map[string]string{raw: "y", written: "x"}, true},
		{raw + "=x", map[string]string{"app-kubernetes-io/name": "x"}, false},
		{written + "=x", map[string]string{"app-kubernetes-io/name": "x", raw: "y"}, false}, // either may be meant
		{written + "=x", map[string]string{"app-kubernetes-io/name": "x", raw: "x"}, true},
		{"costCenter=x", map[string]string{"cost_center": "x"}, true},
		{"cost_center=x", map[string]string{"costCenter": "x"}, true},
		{"Team=x", map[string]string{"team": "x"}, true},
		{"team=x", map[string]string{"team_conflict1": "x", "team_conflict2": "y"}, false},
		{"team=x", map[string]string{"team_conflict1": "x", "team_conflict2": "x"}, true},
		{"team_conflict2=x", map[string]string{"team_conflict1": "y", "team_conflict2": "x"}, true},
		{"!" + raw, map[string]string{written: "x"}, false},
		{"!" + raw, map[string]string{"app": "x"}, true},
		{raw + " notin (x)", map[string]string{written: "x"}, false},
		{raw + " notin (x)", nil, true},
	} {
		e, err := filter.ParseLabelSelector(tc.selector)
		if err != nil {
			t.Fatal(err)
		}
		key, value, _ := strings.Cut(tc.selector, "=")
		for _, e := range []filter.Expr{e, &filter.Comparison{Field: filter.Label, Key: key, Values: []string{value}}} {
			if _, ok := e.(*filter.Comparison); ok && !strings.Contains(tc.selector, "=") {
				continue
			}
			got := []bool{
				bound(filter.New(e), makeSet([]row{{labels: tc.labels}}))(0), filter.NewAssets(e).BindAssets(nil)(&allocation.Asset{Labels: tc.labels}),
			}
			if diff := cmp.Diff([]bool{tc.want, tc.want}, got); diff != "" {
				t.Errorf("%s (%T) on %v: %s", tc.selector, e, tc.labels, diff)
			}
		}
	}
}

// TestDerivedFields checks that a derived field is computed once a row, and only if a filter names it.
func TestDerivedFields(t *testing.T) {
	asked := 0
	constant := func(text string) func(*allocation.Set) (func(int) string, error) {
		return func(*allocation.Set) (func(int) string, error) { return func(int) string { return text }, nil }
	}
	of := filter.WithFields(filter.Derived{Name: "cost-center.v2", Bind: func(s *allocation.Set) (func(int) string, error) {
		return func(row int) string {
			asked++
			return strings.ToUpper(s.Text(allocation.Namespace, row))
		}, nil
	}}, filter.Derived{Name: "namespace", Bind: constant("the language's own wins")}, filter.Derived{Name: "team", Bind: constant("over the alias")})
	s := namedSet()
	for _, tc := range []struct {
		filter string
		want   string
		asked  int
	}{
		{`cost-center.v2:"WEB","API"`, "web api", 4},
		{`cost-center.v2<~:"D"+cost-center.v2~>:"A"`, "db bare", 4},
		{`cost-center.v2!:"DATA"`, "web api", 4},
		{`namespace:"web"`, "web", 0},
		{`namespace:"web"+team:"over the alias"`, "web", 0},
		{`namespace:"web"+team:"red"`, "", 0},
		{`namespace:"web"|cost-center.v2:""`, "web", 4},
	} {
		asked = 0
		f, err := filter.Parse(tc.filter, of)
		if err != nil {
			t.Fatal(err)
		}
		match := bound(f, s)
		var got []string
		for i := range rows {
			if match(i) {
				got = append(got, rows[i].name)
			}
		}
		if strings.Join(got, " ") != tc.want || asked != tc.asked {
			t.Errorf("%s: got %v by asking %d times, want %s by %d", tc.filter, got, asked, tc.want, tc.asked)
		}
	}
	if _, err := filter.Parse(`cost-center:"x"`, of); err == nil || !strings.Contains(err.Error(), "team, nodePool, cost-center.v2") {
		t.Errorf("got %v", err)
	}
	if _, err := filter.ParseAssets(`cost-center.v2:"x"`, of); err == nil {
		t.Error("assets have a field of allocations")
	}
}

// TestUnmappedAlias checks that an alias without labels is refused.
func TestUnmappedAlias(t *testing.T) {
	_, err := filter.Parse(`namespace:"a"+team:"red"`, filter.WithLabels(allocation.LabelMapping{"owner": {"o"}}))
	if err == nil || !strings.Contains(err.Error(), "column 15: team stands for no label") {
		t.Errorf("got %v", err)
	}
	if got := selected(filter.New(&filter.Comparison{Field: "nothing", Values: []string{""}})); got != "web api db bare" {
		t.Errorf("an unknown field is missing in %q, want all rows", got)
	}
	if got := selected(filter.New(nil)); got != "web api db bare" {
		t.Errorf("a nil condition selects %q, want all rows", got)
	}
}

// assetText is a field of assets whose value is a text, and where an asset has it.
type assetText struct {
	field filter.Field
	of    func(a *allocation.Asset) *string
}

var assetTexts = []assetText{
	{filter.Name, func(a *allocation.Asset) *string { return &a.Title }},
	{filter.Category, func(a *allocation.Asset) *string { return &a.Category }},
	{filter.Cluster, func(a *allocation.Asset) *string { return &a.Cluster }},
	{filter.Provider, func(a *allocation.Asset) *string { return &a.Provider }},
	{filter.Service, func(a *allocation.Asset) *string { return &a.Service }},
	{filter.Account, func(a *allocation.Asset) *string { return &a.Account }},
}

// TestAssetsAgainstNaiveEvaluator compares random filters with the plain evaluator, on random assets and on their saved answer.
func TestAssetsAgainstNaiveEvaluator(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		set := &assets.Set{Assets: make([]allocation.Asset, 20)}
		for i := range set.Assets {
			a := &set.Assets[i]
			a.Type, a.Name, a.Labels = allocation.CloudAsset, strconv.Itoa(i), randomMap(rnd)
			for _, f := range assetTexts {
				*f.of(a) = pick(rnd, words[:8])
			}
		}
		expr := randomAssetExpr(rnd, 2)
		parsed, err := filter.ParseAssets(filter.NewAssets(expr).String())
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range set.Assets {
			a := &set.Assets[i]
			holds := evaluateBy(expr, func(c *filter.Comparison, value string) bool {
				if c.Field == filter.Label {
					return compareMap(c, a.Labels, value)
				}
				i := slices.IndexFunc(assetTexts, func(f assetText) bool { return f.field == c.Field })
				return compareText(c.Op, *assetTexts[i].of(a), value)
			})
			if holds {
				want = append(want, a.Name)
			}
			if got := parsed.BindAssets(nil)(a); got != holds {
				t.Fatalf("seed %d: %s on %+v: got %v", seed, parsed, a, got)
			}
		}
		var body bytes.Buffer
		if err := encode.Assets(&body, []*assets.Set{set}, encode.Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Saved(&body)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("seed %d: %s: %v, %s", seed, parsed, err, diff)
		}
	}
}

func randomAssetExpr(rnd *rand.Rand, depth int) filter.Expr {
	if depth > 0 && rnd.IntN(3) > 0 {
		parts := []filter.Expr{randomAssetExpr(rnd, depth-1), randomAssetExpr(rnd, depth-1)}
		if rnd.IntN(2) == 0 {
			return filter.And(parts)
		}
		return filter.Or(parts)
	}
	c := &filter.Comparison{Field: filter.Label, Op: filter.Op(rnd.IntN(int(filter.NotSuffix) + 1)), Values: []string{pick(rnd, words), pick(rnd, words)}}
	switch rnd.IntN(3) {
	case 0:
		c.Key = pick(rnd, keys)
	case 1:
		c.Field = assetTexts[rnd.IntN(len(assetTexts))].field
	}
	return c
}
