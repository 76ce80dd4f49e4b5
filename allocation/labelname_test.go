package allocation_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

func TestFindLabel(t *testing.T) {
	type labels map[string]string
	conflicts := labels{"team_conflict1": "upper", "team_conflict2": "lower"}
	for name, tc := range map[string]struct {
		name   string
		known  []string
		labels labels
		want   string // "" is not found
	}{
		"raw":                                      {"app.kubernetes.io/partOf", nil, labels{"app.kubernetes.io/partOf": "shop"}, "shop"},
		"sanitized":                                {"app.kubernetes.io/partOf", nil, labels{"app_kubernetes_io_partOf": "shop"}, "shop"},
		"snake case":                               {"app.kubernetes.io/partOf", nil, labels{"app_kubernetes_io_part_of": "shop"}, "shop"},
		"capital first":                            {"Team", nil, labels{"team": "red"}, "red"},
		"capitals in a row":                        {"myAPIKey", nil, labels{"my_apikey": "x"}, "x"},
		"digit before a capital":                   {"node1Pool", nil, labels{"node1_pool": "x"}, "x"},
		"capital after a dot":                      {"example.com/Team", nil, labels{"example_com_team": "x"}, "x"},
		"asked in snake case, raw":                 {"cost_center", nil, labels{"costCenter": "7"}, "7"},
		"asked sanitized, raw":                     {"a_b", nil, labels{"a.b": "7"}, "7"},
		"asked in another spelling of another":     {"costCenter", nil, labels{"cost.Center": "7"}, ""},
		"as given wins":                            {"costCenter", nil, labels{"costCenter": "1", "cost_center": "2"}, "1"},
		"sanitized wins over snake case":           {"a.costCenter", nil, labels{"a_costCenter": "1", "a_cost_center": "2"}, "1"},
		"another name":                             {"team", nil, labels{"teams": "x", "tea": "y"}, ""},
		"raw keys that read alike and differ":      {"a_b", nil, labels{"a.b": "1", "a/b": "2"}, ""},
		"raw keys that read alike and are equal":   {"a_b", nil, labels{"a.b": "1", "a/b": "1"}, "1"},
		"collision of names that nobody knows":     {"team", nil, conflicts, ""},
		"collision of equal values":                {"team", nil, labels{"team_conflict1": "red", "team_conflict2": "red"}, "red"},
		"collision, the first in byte order":       {"Team", []string{"team", "Team"}, conflicts, "upper"},
		"collision, the second in byte order":      {"team", []string{"Team"}, conflicts, "lower"},
		"collision of more than are known":         {"team", []string{"Team"}, labels{"team_conflict1": "a", "team_conflict2": "b", "team_conflict3": "c"}, ""},
		"collision of fewer than are known":        {"team", []string{"Team", "TEAM"}, conflicts, ""},
		"numbers of collisions are no texts":       {"a.b", []string{"a/b"}, labels{"a_b_conflict10": "second", "a_b_conflict9": "first"}, "first"},
		"key of a collision, as it is exported":    {"team_conflict2", nil, conflicts, "lower"},
		"a name that ends like one of a collision": {"team", nil, labels{"team_conflicting": "x", "team_conflict": "y", "team_conflict0": "z"}, ""},
		"the annotation of Kubernetes' own":        {"kubectl.kubernetes.io/last-applied-configuration", nil, labels{"kubectl_kubernetes_io_last_applied_configuration": "{}"}, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			n := allocation.NewLabelNames(tc.known...).Name(tc.name)
			got, ok := allocation.FindLabel(&n, tc.labels)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("found %q, %v, want %q", got, ok, tc.want)
			}
		})
	}
}

// TestFindLabelInEveryExport writes random labels as each kind of exporter does, and looks for each by its name in Kubernetes.
func TestFindLabelInEveryExport(t *testing.T) {
	invalid, camel := regexp.MustCompile(`[^a-zA-Z0-9_]`), regexp.MustCompile(`([a-z0-9])([A-Z])`)
	sanitized := func(name string) string { return invalid.ReplaceAllString(name, "_") }
	snake := func(name string) string { return strings.ToLower(camel.ReplaceAllString(sanitized(name), "${1}_${2}")) }
	r := rand.New(rand.NewPCG(16, 1))
	collisions := 0
	for range 20_000 {
		labels := map[string]string{}
		for i := range 1 + r.IntN(3) {
			name := make([]byte, 1+r.IntN(4))
			for j := range name {
				name[j] = "abAB1./-_"[r.IntN(9)]
			}
			labels[string(name)] = strconv.Itoa(i)
		}
		names := make([]string, 0, len(labels))
		same := map[string]int{}
		for name := range labels {
			names = append(names, name)
			same[snake(name)]++
		}
		sort.Strings(names)
		exported, number := map[string]string{}, map[string]int{}
		for _, name := range names {
			key := snake(name)
			if same[key] > 1 {
				collisions++
				number[key]++
				key += "_conflict" + strconv.Itoa(number[key])
			}
			exported[key] = labels[name]
		}
		for name, want := range labels {
			n := allocation.NewLabelNames(names...).Name(name)
			for kind, m := range map[string]map[string]string{
				"raw": labels, "in snake case": exported, "sanitized": {sanitized(name): want},
			} {
				if got, ok := allocation.FindLabel(&n, m); !ok || got != want {
					t.Fatalf("%q of %q, %s as %q: found %q, %v, want %q", name, names, kind, m, got, ok, want)
				}
			}
		}
	}
	if collisions < 1000 {
		t.Errorf("only %d names collided", collisions)
	}
}

// TestAggregateBySpellings aggregates by labels as kube-state-metrics exports them.
func TestAggregateBySpellings(t *testing.T) {
	set := labeledSet(
		map[string]string{"cost_center": "7", "team": "red"},
		map[string]string{"team_conflict1": "A", "team_conflict2": "b"},
		map[string]string{"team_conflict1": "c", "team_conflict2": "c"},
	)
	mapping := allocation.LabelMapping{"team": {"Team", "team"}, "owner": {"Team"}}
	for aggregate, want := range map[string][]string{
		"label:costCenter":      {"__unallocated__", "costCenter=7"},
		"label:cost_center":     {"__unallocated__", "cost_center=7"},
		"label:team":            {"__unallocated__", "team=c", "team=red"},
		"label:team_conflict1":  {"__unallocated__", "team_conflict1=A", "team_conflict1=c"},
		"label:Team,label:team": {"Team=A/team=b", "Team=c/team=c", "Team=red/team=red"},
		"label:team,label:Team": {"team=b/Team=A", "team=c/Team=c", "team=red/Team=red"},
		"team":                  {"A/b", "c/c", "red/red"},
		"owner":                 {"__unallocated__", "c", "red"},
	} {
		t.Run(aggregate, func(t *testing.T) {
			keys, err := allocation.ParseKeys(aggregate, mapping)
			if err != nil {
				t.Fatal(err)
			}
			sums, err := allocation.Apply([]*allocation.Set{set}, allocation.Options{Aggregate: keys})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row := range sums[0].Len() {
				got = append(got, sums[0].Name(row))
			}
			sort.Strings(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLabelSearch says which labels nothing has, and which collide.
func TestLabelSearch(t *testing.T) {
	sets := []*allocation.Set{
		labeledSet(map[string]string{"cost_center": "7"}, nil),
		labeledSet(map[string]string{"team_conflict1": "A", "team_conflict2": "b"}, map[string]string{"team_conflict1": "A", "team_conflict2": "b"}, map[string]string{"team_conflict1": "c", "team_conflict2": "c"}),
	}
	for name, tt := range map[string]struct {
		use   allocation.LabelUse
		known []string
		sets  []*allocation.Set
		want  string
	}{
		"found":                  {use: allocation.LabelUse{Text: "costCenter", Label: true}, sets: sets},
		"nothing has labels":     {use: allocation.LabelUse{Text: "x", Label: true}, sets: []*allocation.Set{labeledSet()}},
		"misspelled":             {use: allocation.LabelUse{Text: "costCentre", Label: true}, sets: sets, want: "label costCentre: no allocation of the window has one of that name: it is misspelled, or kube-state-metrics does not export it (see its --metric-labels-allowlist=pods=[costCentre])"},
		"no annotation":          {use: allocation.LabelUse{Text: "costCenter", Annotation: true}, sets: sets, want: "annotation costCenter: no allocation"},
		"either":                 {use: allocation.LabelUse{Text: "costCenter", Label: true, Annotation: true}, sets: sets},
		"colliding":              {use: allocation.LabelUse{Text: "team", Label: true, Aggregated: true}, sets: sets, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 2 allocations have different values of these and are __unallocated__"},
		"colliding, not summed":  {use: allocation.LabelUse{Text: "team", Label: true}, sets: sets, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 2 allocations have different values of these and are taken to have none: ask"},
		"colliding, of one":      {use: allocation.LabelUse{Text: "team", Label: true}, sets: []*allocation.Set{labeledSet(map[string]string{"team_conflict1": "A", "team_conflict2": "b"})}, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 1 allocation has different values of these and is taken to have none: ask"},
		"colliding, both known":  {use: allocation.LabelUse{Text: "team", Label: true}, known: []string{"Team", "team"}, sets: sets},
		"colliding, as exported": {use: allocation.LabelUse{Text: "team_conflict1", Label: true}, sets: sets},
	} {
		t.Run(name, func(t *testing.T) {
			search := allocation.NewLabelSearch(tt.use, allocation.NewLabelNames(tt.known...))
			for _, s := range tt.sets {
				search.Add(s)
			}
			if got := fmt.Sprint(search); got == "" != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
