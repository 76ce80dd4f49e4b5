package billcheck_test

import (
	"context"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/billing"
)

// day is the n-th of November 2026.
func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

// ledger has the same assets on each day: two nodes, a volume and a load balancer.
type ledger struct{ without bool }

func (l ledger) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		if l.without {
			yield(nil, allocation.ErrNoData)
			return
		}
		s := allocation.NewSet(q.Window, allocation.NewDict())
		if q.Only.WithoutAssets { // as stored sets are read
			yield(s, nil)
			return
		}
		node := func(name, id, kind string, cost float64) allocation.Node {
			n := allocation.Node{Cluster: "one", Name: name, ProviderID: "aws:///us-east-1a/" + id, InstanceType: kind, RunningSeconds: 86400, Start: q.Window.Start, End: q.Window.End}
			n.Cost[allocation.CPU] = cost
			return n
		}
		s.Nodes = []allocation.Node{node("a", "i-1", "m5", 10), node("b", "i-2", "m5", 6)}
		s.Disks = []allocation.Disk{{Cluster: "one", Name: "a", ProviderID: "aws:///us-east-1a/i-1", Local: true, Cost: 0.5, ByteHours: 1, Start: q.Window.Start, End: q.Window.End}, {Cluster: "one", Name: "pv", ProviderID: "vol-1", Cost: 3, ByteHours: 1, Start: q.Window.Start, End: q.Window.End}}
		s.Balancers = []allocation.LoadBalancer{{Cluster: "one", Namespace: "web", Service: "front", IP: "198.51.100.7", Cost: 2, Hours: 24, Start: q.Window.Start, End: q.Window.End}}
		yield(s, nil)
	}
}

// charge is a line of one day.
func charge(n int, cost float64, change func(*billing.Item)) billing.Line {
	item := &billing.Item{
		Bill:    "aws",
		Account: billing.Account{Provider: "AWS", ID: "payer", SubID: "prod", PeriodStart: day(1), PeriodEnd: day(1).AddDate(0, 1, 0), Currency: "USD"},
		Charge:  billing.Charge{ConsumedUnit: "Hours"},
	}
	change(item)
	return billing.Line{
		Item: item, Start: day(n), End: day(n + 1), Costs: billing.Costs{cost, cost, cost, cost}, Known: [billing.NumCosts]bool{true, true, true, true},
		Quantity: 24, PricingQuantity: math.NaN(),
	}
}

func id(text string) func(*billing.Item) {
	return func(i *billing.Item) { i.Resource.ID = text }
}

func check(t *testing.T, l ledger, lines ...billing.Line) *billcheck.Report {
	t.Helper()
	book := billing.FromLines(billing.Options{
		Zone: time.UTC, Now: day(5),
		Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}, {Name: "other", Rates: billing.Rates{Currency: "USD"}}},
	}, lines)
	r, err := billcheck.Check(t.Context(), l, book, billcheck.Options{Window: allocation.Window{Start: day(1), End: day(9)}, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheck(t *testing.T) {
	tagged := func(i *billing.Item) {
		i.Resource.ID, i.Tags = "i-gone", billing.Tags{{Name: "eks:cluster-name", Value: "one"}}
	}
	r := check(t, ledger{},
		charge(2, 8, id("i-1")), charge(2, 3, id("vol-1")), charge(3, 8, id("i-1")),
		charge(2, 5, tagged), charge(2, 1, func(i *billing.Item) { i.Service.Name = "Amazon S3" }),
		charge(2, 4, func(i *billing.Item) { i.Charge.Category = billing.Tax }),
		charge(3, 7, func(i *billing.Item) { i.Tags = billing.Tags{{Name: "kubernetes_namespace", Value: "web"}} }),
	)
	if err := r.Problem(); err != nil {
		t.Error(err)
	}
	if !r.Start.Equal(day(2)) || !r.End.Equal(day(4)) {
		t.Errorf("days %s to %s", r.Start, r.End)
	}
	kinds := map[string]float64{}
	for _, k := range r.Kinds {
		if kinds[k.Kind] = k.Cost; math.Abs(*k.Share-k.Cost/36) > 1e-12 {
			t.Errorf("%s: share %v of %v", k.Kind, *k.Share, k.Cost)
		}
	}
	want := map[string]float64{"node": 16, "volume": 3, "local disk": 0, "load balancer": 0, "network": 0, "management": 0, "external": 7, "cloud": 10}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if ratio, ok := r.Bills[0].MatchedRatio(); !ok || math.Abs(ratio-19.0/36) > 1e-12 {
		t.Errorf("matched ratio %v", ratio)
	}
	two := 1.25
	if diff := cmp.Diff([]billcheck.NodeType{{Cluster: "one", InstanceType: "m5", List: 20, Billed: 16, Ratio: &two}}, r.Nodes); diff != "" {
		t.Error(diff)
	}
	unbilled := []billcheck.Unbilled{
		{Kind: "node", Cluster: "one", Name: "b", Days: 2, Cost: 12},
		{Kind: "load balancer", Cluster: "one", Name: "web/front", Days: 2, Cost: 4},
		{Kind: "volume", Cluster: "one", Name: "pv", Days: 1, Cost: 3},
	}
	if diff := cmp.Diff(unbilled, r.Unbilled, cmpopts.IgnoreFields(billcheck.Unbilled{}, "Remedy")); diff != "" || r.UnbilledCost != 19 {
		t.Errorf("unbilled %v: %s", r.UnbilledCost, diff)
	}
	if r.TakenOffCost != 1 { // the own disk of i-1, on two days
		t.Errorf("%v is taken off", r.TakenOffCost)
	}
	unmatched := []billcheck.Unmatched{{Bill: "aws", Resource: "i-gone", Lines: 1, Cost: 5, Why: "its tag eks:cluster-name is of a cluster"}}
	if diff := cmp.Diff(unmatched, r.Unmatched, cmpopts.IgnoreFields(billcheck.Unmatched{}, "Remedy")); diff != "" || r.UnmatchedCost != 5 {
		t.Errorf("unmatched %v: %s", r.UnmatchedCost, diff)
	}
	for _, u := range r.Unbilled {
		if u.Remedy == "" {
			t.Errorf("%s has no remedy", u.Name)
		}
	}
}

// TestEffectiveCostIsWarnedOf has lines whose EffectiveCost lacks what was billed, and commitments, which lack nothing.
func TestEffectiveCostIsWarnedOf(t *testing.T) {
	costs := func(l billing.Line, effective, billed float64) billing.Line {
		l.Costs[billing.Effective], l.Costs[billing.Billed] = effective, billed
		return l
	}
	committed := func(i *billing.Item) { i.Commitment.Status = "Used" }
	purchase := func(i *billing.Item) { i.Charge.Category = billing.Purchase }
	credit := func(i *billing.Item) { i.Charge.Category = billing.Credit }
	for _, tc := range []struct {
		name  string
		lines []billing.Line
		warns bool
	}{
		{"all effective", []billing.Line{costs(charge(2, 0, id("i-1")), 10, 10)}, false},
		{"a fifth is 0", []billing.Line{costs(charge(2, 0, id("i-1")), 8, 8), costs(charge(2, 0, id("i-2")), 0, 2)}, true},
		{"5 % are 0", []billing.Line{costs(charge(2, 0, id("i-1")), 9.5, 9.5), costs(charge(2, 0, id("i-2")), 0, 0.5)}, false},
		{"credits above all charges", []billing.Line{costs(charge(2, 0, id("i-1")), 10, 10), costs(charge(2, 0, credit), -110, -110)}, false},
		{"a fee of commitments", []billing.Line{costs(charge(2, 0, committed), 10, 0), costs(charge(2, 0, purchase), 0, 100)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := check(t, ledger{}, tc.lines...)
			if got := strings.Contains(strings.Join(r.Warnings, " "), "EffectiveCost is"); got != tc.warns {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	for _, tc := range []struct {
		name  string
		l     ledger
		lines []billing.Line
		want  string
	}{
		{"no lines", ledger{}, nil, "no line of a bill was read"},
		{"nothing is final", ledger{}, []billing.Line{charge(5, 1, id("i-1"))}, "charge no whole day"},
		{"nothing matches", ledger{}, []billing.Line{charge(2, 1, id("i-9"))}, "no line of a bill is of cluster one"},
		{"no cluster", ledger{without: true}, []billing.Line{charge(2, 1, id("i-9"))}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := check(t, tc.l, tc.lines...).Problem()
			if err == nil && tc.want != "" || err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
