package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestDemoCluster computes hours of a cluster that has every kind of object, stores them and reads them. Answers are the
// same, and so are those of the day made from them.
func TestDemoCluster(t *testing.T) {
	c, data := promtest.WriteDemo(t, democluster.New, democluster.Config{
		End: time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC), Duration: 6 * time.Hour, Nodes: 5, Pods: 60, Seed: 2,
	})
	db, err := blocks.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engine := promquery.NewEngine(db, promquery.Config{
		Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default(),
	})
	end := c.End().Truncate(time.Hour)
	computed, err := engine.Compute(t.Context(), allocation.Query{Window: allocation.Window{Start: end.Add(-4 * time.Hour), End: end}, Step: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := directory(t, history.Options{})
	for i, set := range computed {
		write(t, s, set, history.WriteOptions{Complete: true})
		computed[i] = canonical(t, set)
	}
	sets := list(t, s, history.Hourly, allocation.Window{})
	for i := range sets {
		if _, err := s.Verify(t.Context(), &sets[i]); err != nil {
			t.Error(err)
		}
	}
	stored := read(t, s, sets...)
	if diff := cmp.Diff(answers(t, computed...), answers(t, stored...)); diff != "" {
		t.Errorf("-computed +stored\n%s", diff)
	}
	w := allocation.Window{Start: end.Add(-4 * time.Hour), End: end}
	var days [2]*allocation.Set
	for i, hours := range [...][]*allocation.Set{computed, stored} {
		if days[i], err = passes.Merge(w, hours); err != nil {
			t.Fatal(err)
		}
		if err := passes.Check(days[i]); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(answers(t, days[0]), answers(t, days[1])); diff != "" {
		t.Errorf("-day of computed +day of stored\n%s", diff)
	}
}
