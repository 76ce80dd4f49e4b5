package allocation_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/passes"
)

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
			sums, err := passes.Apply([]*allocation.Set{set}, passes.Options{Aggregate: keys})
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

// TestLabelSearch checks which labels are reported as missing everywhere, and which as colliding.
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
		"of a domain":            {use: allocation.LabelUse{Text: "center", Label: true}, sets: sets, want: "label center: no allocation of the window has one of that name, but some have cost_center: ask for label:cost_center"},
		"alias of a domain":      {use: allocation.LabelUse{Text: "owner", Label: true, Annotation: true, Alias: "owner"}, sets: []*allocation.Set{labeledSet(map[string]string{"example_com_owner": "a", "corp_io_owner": "b"}, nil)}, want: "label or annotation owner: no allocation of the window has one of that name, but some have corp_io_owner, example_com_owner: write labelMapping: {owner: corp_io_owner} into the file of --config.file"},
		"no annotation":          {use: allocation.LabelUse{Text: "costCenter", Annotation: true}, sets: sets, want: "annotation costCenter: no allocation"},
		"either":                 {use: allocation.LabelUse{Text: "costCenter", Label: true, Annotation: true}, sets: sets},
		"colliding":              {use: allocation.LabelUse{Text: "team", Label: true, Aggregated: true}, sets: sets, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 2 allocations have different values of these and are __unallocated__"},
		"colliding, not summed":  {use: allocation.LabelUse{Text: "team", Label: true}, sets: sets, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 2 allocations have different values of these and are taken to have none: ask"},
		"colliding, of one":      {use: allocation.LabelUse{Text: "team", Label: true}, sets: []*allocation.Set{labeledSet(map[string]string{"team_conflict1": "A", "team_conflict2": "b"})}, want: "label team: its name collides with others, which are exported as team_conflict1 and team_conflict2; 1 allocation has different values of these and is taken to have none: ask"},
		"colliding, both known":  {use: allocation.LabelUse{Text: "team", Label: true}, known: []string{"Team", "team"}, sets: sets},
		"colliding, as exported": {use: allocation.LabelUse{Text: "team_conflict1", Label: true}, sets: sets},
	} {
		t.Run(name, func(t *testing.T) {
			search := allocation.NewLabelSearch(tt.use, labelnames.NewNames(tt.known...))
			for _, s := range tt.sets {
				search.Add(s)
			}
			if got := fmt.Sprint(search); got == "" != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
