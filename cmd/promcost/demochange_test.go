package main

import (
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// checkDemoChange asks the demo why it costs more, and compares each effect on each namespace, and the effects of each event on what
// it touched, with the truth.
func checkDemoChange(t *testing.T, base string, c *democluster.Cluster) {
	t.Helper()
	truth := c.ChangeTruth(c.ChangeWindow())
	ask := func(filter string) map[string]changeRow {
		var answer changeAnswer
		askFor(t, base+"/model/allocation/change", truth.Start, truth.End, url.Values{
			"aggregate": {"namespace"}, "filter": {filter}, "idle": {"false"}, "shareTenancyCosts": {"false"}, "reconcile": {"false"},
		}.Encode(), &answer)
		if !answer.Data.BaselineWindow.Start.Equal(truth.BaselineStart) {
			t.Fatalf("the baseline starts at %s, want %s", answer.Data.BaselineWindow.Start, truth.BaselineStart)
		}
		out := map[string]changeRow{"": answer.Data.Total}
		for _, r := range answer.Data.Rows {
			out[r.Name] = r
		}
		return out
	}
	// compare allows for the seconds that scrapes do not tell, and for the demo's outages: parts of what the row costs.
	compare := func(what string, got changeRow, want democluster.Effects, cost float64) {
		const tolerance = 0.005
		for name, v := range got.Effects {
			if math.Abs(v-want[name]) > tolerance*cost {
				t.Errorf("%s, which costs %v: %s is %v, want %v", what, cost, name, v, want[name])
			}
		}
	}
	const containers = `node!:""` // neither volumes nor load balancers that have no pods
	namespaces := ask(containers)
	for _, row := range truth.Namespaces {
		got := namespaces[row.Namespace]
		compare(row.Namespace, got, row.Effects, row.Baseline+row.Cost)
		compare(row.Namespace, changeRow{Effects: map[string]float64{"baseline": got.Baseline, "cost": got.Cost}}, democluster.Effects{"baseline": row.Baseline, "cost": row.Cost}, row.Baseline+row.Cost)
	}
	for _, e := range truth.Events {
		if e.Kind == democluster.PriceEvent {
			compare(e.Kind, changeRow{Effects: map[string]float64{"price": namespaces[""].Effects["price"]}}, e.Effects, namespaces[""].Cost)
			continue
		}
		filter := containers + `+namespace:"` + e.Namespace + `"`
		if e.Controller != "" {
			filter += `+controllerName:"` + e.Controller + `"`
		}
		got := ask(filter)[""]
		compare(e.Kind, got, e.Effects, got.Baseline+got.Cost)
	}
	checkNoChange(t, base, truth.Start.Add(3*time.Hour), truth.Start.Add(9*time.Hour))
}

// checkNoChange compares hours of a day with themselves, where what idle and shared costs come to depends on how windows are cut
// into sets: nothing changes.
func checkNoChange(t *testing.T, base string, start, end time.Time) {
	t.Helper()
	var answer changeAnswer
	askFor(t, base+"/model/allocation/change", start, end, url.Values{
		"aggregate": {"namespace"}, "drill": {"controller"}, "shareIdle": {"weighted"}, "shareNamespaces": {"kube-system"},
		"baseline": {start.Format(time.RFC3339) + "," + end.Format(time.RFC3339)},
	}.Encode(), &answer)
	for _, r := range append(answer.Data.Rows, answer.Data.Total) {
		for name, v := range r.Effects {
			if math.Abs(v) > 1e-9*r.Cost {
				t.Errorf("%s differs from itself: %s is %v of %v", r.Name, name, v, r.Cost)
			}
		}
	}
	if len(answer.Data.Rows) < 4 {
		t.Errorf("%d rows", len(answer.Data.Rows))
	}
}
