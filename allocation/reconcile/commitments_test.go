package reconcile_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// TestCommittedParts checks what bills say of the commitments that a node used, on a day on which it costs 48 at list price, and in half of it.
func TestCommittedParts(t *testing.T) {
	start := time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC)
	type line struct {
		status   string
		resource string
		cost     float64
		unknown  bool // it does not tell an amortized cost
	}
	for name, tc := range map[string]struct {
		lines []line
		want  allocation.Charged // of the day
	}{
		"not billed":               {nil, allocation.Charged{}},
		"on demand":                {[]line{{"", "i-0123", 24, false}}, allocation.Charged{Listed: 48}},
		"under a plan, and beyond": {[]line{{"Used", "i-0123", 10, false}, {"", "i-0123", 3, false}}, allocation.Charged{Listed: 48, Committed: 10}},
		"another machine's":        {[]line{{"", "i-0123", 24, false}, {"Used", "i-9999", 10, false}}, allocation.Charged{Listed: 48}},
		"unused":                   {[]line{{"", "i-0123", 24, false}, {"Unused", "i-0123", 10, false}}, allocation.Charged{Listed: 48}},
		"not amortized":            {[]line{{"Used", "i-0123", 10, true}, {"", "i-0123", 3, false}}, allocation.Charged{}},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := &ledger{start: start}, &revised{}
			for i := range 48 {
				s := allocation.NewSet(allocation.Window{Start: start.Add(time.Duration(i) * slot), End: start.Add(time.Duration(i+1) * slot)}, allocation.NewDict())
				n := allocation.Node{Cluster: "c", Name: "n", ProviderID: "i-0123", Start: s.Window.Start, End: s.Window.End}
				n.Hours[allocation.CPU], n.Cost[allocation.CPU] = 0.5, 1
				s.Nodes = append(s.Nodes, n)
				l.slots = append(l.slots, s)
			}
			for _, of := range tc.lines {
				item := &billing.Item{
					Bill: "aws", Account: billing.Account{Provider: "AWS", ID: "payer", PeriodStart: start, PeriodEnd: start.AddDate(0, 1, 0), Currency: "USD"},
					Resource: billing.Resource{ID: of.resource}, Commitment: billing.Commitment{Status: of.status},
				}
				b.lines = append(b.lines, billing.Line{Item: item, Start: start, End: start.AddDate(0, 0, 1), Cost: of.cost, Costs: billing.Costs{of.cost}, Known: [billing.NumCosts]bool{!of.unknown}})
			}
			r := reconcile.New(l, b, reconcile.Options{Now: func() time.Time { return start.AddDate(0, 0, 3) }})
			for hours, part := range map[int]float64{24: 1, 12: 0.5} {
				q := allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Duration(hours) * time.Hour)}, Bills: allocation.Billed{Adjustments: true}}
				for set, err := range r.Sets(t.Context(), q) {
					if err != nil {
						t.Fatal(err)
					}
					want := allocation.Charged{Listed: tc.want.Listed * part, Committed: tc.want.Committed * part}
					if got := set.Nodes[0].Charged; got != want {
						t.Errorf("%d hours: %+v, want %+v", hours, got, want)
					}
				}
			}
		})
	}
}
