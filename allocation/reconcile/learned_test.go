package reconcile_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

var estimated = allocation.Billed{Adjustments: true, Estimate: true}

// assetCost is what an asset costs at list price and with its adjustment.
type assetCost struct{ list, total float64 }

// costsOf are the costs of the assets of a set.
func costsOf(s *allocation.Set) map[reconcile.Asset]assetCost {
	out := map[reconcile.Asset]assetCost{}
	add := func(kind reconcile.Kind, cluster, name, id string, list, adjustment float64) {
		key := reconcile.Asset{Kind: kind, AssetKey: allocation.AssetKey{Cluster: cluster, Name: name, ProviderID: id}}
		out[key] = assetCost{out[key].list + list, out[key].total + list + adjustment}
	}
	for _, n := range s.Nodes {
		add(reconcile.Node, n.Cluster, n.Name, n.ProviderID, n.TotalCost(), n.Adjustment[0]+n.Adjustment[1]+n.Adjustment[2])
	}
	for _, d := range s.Disks {
		kind := reconcile.Volume
		if d.Local {
			kind = reconcile.LocalDisk
		}
		add(kind, d.Cluster, d.Name, d.ProviderID, d.Cost, d.Adjustment)
	}
	for _, l := range s.Balancers {
		add(reconcile.Balancer, l.Cluster, l.Namespace+"/"+l.Service, "", l.Cost, l.Adjustment)
	}
	for _, n := range s.Networks {
		add(reconcile.Network, n.Cluster, "", "", n.TotalCost(), n.Adjustment)
	}
	for _, m := range s.Management {
		add(reconcile.Management, m.Cluster, "", "", m.Cost, m.Adjustment)
	}
	return out
}

// span is the smallest and the largest factor by which bills multiply list costs.
type span struct{ least, most float64 }

// day is a day of a world, at list prices where no bill charges it, and with estimates.
type day struct {
	list, estimated map[reconcile.Asset]assetCost
	hit             map[string]bool // what lines are about
	at              time.Time
}

func (d *day) billed(a reconcile.Asset) bool {
	node := a
	node.Kind = reconcile.Node
	return d.hit[fmt.Sprint(d.at, a)] || a.Kind == reconcile.LocalDisk && d.hit[fmt.Sprint(d.at, node)]
}

// days are all days of a world, with those after the reach.
func (w *world) days(t *testing.T, r *reconcile.Reconciler, until time.Time) (days []*day) {
	t.Helper()
	w.r = r
	for at := w.window.Start; at.Before(until); at = at.AddDate(0, 0, 1) {
		window := allocation.Window{Start: at, End: at.AddDate(0, 0, 1)}
		d := &day{hit: map[string]bool{}, at: at}
		if at.Before(w.window.End) {
			_, _, d.hit = w.lines(t, window)
		}
		d.list = costsOf(w.sets(t, allocation.Query{Window: window, Bills: allocation.Billed{Adjustments: true}})[0])
		d.estimated = costsOf(w.sets(t, allocation.Query{Window: window, Bills: estimated})[0])
		days = append(days, d)
	}
	return days
}

// TestLearnedCosts is the law of learned costs: what is billed costs what it does without estimates, and the rest costs its list cost times
// a factor between the smallest and the largest of its kind.
func TestLearnedCosts(t *testing.T) {
	estimates := 0
	for seed := range soak.Of[uint64](6, 200) {
		w := newWorld(t, seed)
		days := w.days(t, w.r, w.window.End.AddDate(0, 0, 1))
		var factors [reconcile.External]span
		for kind := range factors {
			factors[kind] = span{1, 1} // where none is known
		}
		for _, d := range days {
			for a, cost := range d.list {
				if d.billed(a) && cost.list > 0 {
					f := &factors[a.Kind]
					f.least, f.most = min(f.least, cost.total/cost.list), max(f.most, cost.total/cost.list)
				}
			}
		}
		for _, d := range days {
			for a, list := range d.list {
				got, f := d.estimated[a], factors[a.Kind]
				switch {
				case d.billed(a):
					if got != list {
						t.Errorf("seed %d, %s: %v is billed and costs %v, without estimates %v", seed, d.at, a, got, list)
					}
				case got.total < f.least*got.list-1e-9 || got.total > f.most*got.list+1e-9:
					t.Errorf("seed %d, %s: %v costs %v, not between %v and %v of its list cost %v", seed, d.at, a, got.total, f.least, f.most, got.list)
				case math.Abs(got.total-got.list) > 1e-9:
					estimates++
				}
			}
		}
	}
	if estimates == 0 {
		t.Error("nothing was estimated: the law says nothing")
	}
}

// TestLearnedPiecesAddUp verifies that estimates of hours, days and windows across the reach have the same sums, shares and warnings, and
// that the rows cost what the assets do.
func TestLearnedPiecesAddUp(t *testing.T) {
	for seed := range soak.Of[uint64](6, 60) {
		w := newWorld(t, seed)
		window := allocation.Window{Start: w.window.Start.AddDate(0, 0, 2), End: w.window.End.AddDate(0, 0, 1)}
		sum := func(step time.Duration) *allocation.Set {
			set, err := passes.Merge(window, w.sets(t, allocation.Query{Window: window, Step: step, Bills: estimated}))
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		whole := sum(0)
		for _, step := range []time.Duration{slot, time.Hour, 5 * slot, 24 * time.Hour} {
			of := sum(step)
			compareAmounts(t, fmt.Sprintf("seed %d: steps of %s", seed, step), amounts(whole), amounts(of))
			if !near(whole.Estimated.Cost, of.Estimated.Cost, 0) || !near(whole.Estimated.Total, of.Estimated.Total, 0) {
				t.Errorf("seed %d: steps of %s estimate %v, the window %v", seed, step, of.Estimated, whole.Estimated)
			}
		}
		rows, err := passes.Apply([]*allocation.Set{whole}, passes.Options{Idle: true, ShareTenancy: true, Check: true})
		if err != nil {
			t.Fatal(err)
		}
		cost := 0.0
		for row := range rows[0].Len() {
			cost += rows[0].TotalCost(row)
		}
		if !near(cost, whole.AssetsCost(), 0) || !near(cost, whole.Estimated.Total, 0) {
			t.Errorf("seed %d: rows cost %v, assets %v, of which %v", seed, cost, whole.AssetsCost(), whole.Estimated)
		}
		if whole.Estimated.From.IsZero() || whole.Estimated.From.After(w.window.End) {
			t.Errorf("seed %d: estimated from %s, bills reach to %s", seed, whole.Estimated.From, w.window.End)
		}
	}
}

// TestMovedReach verifies that bills that reach a day less change what is not billed and the last day that was, and nothing else.
func TestMovedReach(t *testing.T) {
	for seed := range soak.Of[uint64](6, 60) {
		w := newWorld(t, seed)
		end := w.window.End.AddDate(0, 0, 1)
		later := w.days(t, w.r, end)
		last := w.window.End.AddDate(0, 0, -1)
		now := end.Add(time.Hour).AddDate(0, 0, -1)
		book := billing.FromLines(billing.Options{Bills: w.book.Bills(), Zone: w.zone, Now: now}, w.charged)
		earlier := w.days(t, reconcile.New(w.ledger, books{book}, reconcile.Options{Zone: w.zone, Now: func() time.Time { return end }}), end)
		changed := false
		for i, d := range later {
			for a, cost := range d.estimated {
				was := earlier[i].estimated[a]
				switch {
				case was == cost:
				case d.at.Before(last) && d.billed(a):
					t.Errorf("seed %d, %s: %v cost %v by bills that reached a day less, now %v", seed, d.at, a, was.total, cost.total)
				default:
					changed = true
				}
			}
		}
		if !changed {
			t.Errorf("seed %d: bills of a day change nothing", seed)
		}
	}
}

// fleet is a ledger of machines that cost 1 an hour each.
type fleet []allocation.Node

func (l fleet) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			s := allocation.NewSet(w, allocation.NewDict())
			for _, n := range l {
				n.ProviderID = cmp.Or(n.ProviderID, "aws:///a/"+n.Name)
				n.Start, n.End, n.RunningSeconds = w.Start, w.End, w.Duration().Seconds()
				n.Cost[allocation.CPU] = w.Duration().Hours()
				n.Idle = n.Cost
				s.Nodes = append(s.Nodes, n)
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// TestLearnedClasses verifies whose bills a machine that is not billed learns from, with a savings plan that ends inside the last week: the
// border of the reach moves costs by no more than the last day's factor differs from the week's.
func TestLearnedClasses(t *testing.T) {
	l := fleet{
		{Cluster: "east", Name: "i-1", InstanceType: "large"},
		{Cluster: "east", Name: "i-2", InstanceType: "small"},
		{Cluster: "east", Name: "i-3", InstanceType: "small", Spot: true},
		{Cluster: "west", Name: "i-4", InstanceType: "large"},
		{Cluster: "west", Name: "i-5", InstanceType: "small"},
		{Cluster: "west", Name: "i-6", InstanceType: "tiny"},
		{Cluster: "west", Name: "i-7", InstanceType: "tiny", Spot: true},
		{Cluster: "west", Name: "own", InstanceType: "large", ProviderID: "k3s://own"}, // no bill is about its like
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	reach := start.AddDate(0, 0, 9)
	b := &biller{rng: rand.New(rand.NewPCG(1, 1))}
	for day := start; day.Before(reach); day = day.AddDate(0, 0, 1) {
		for name, rate := range map[string]float64{"i-1": 1, "i-2": 0.3, "i-3": 0.25} {
			if name == "i-1" && day.Before(start.AddDate(0, 0, 4)) { // the plan
				rate = 0.5
			}
			item := account("aws", "AWS", "payer", "222", "USD")
			item.Resource.ID = name
			b.add(item, allocation.Window{Start: day, End: day.AddDate(0, 0, 1)}, 24*rate)
		}
	}
	now := reach.AddDate(0, 0, 2)
	book := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}}, Zone: time.UTC, Now: now}, b.lines)
	r := reconcile.New(l, books{book}, reconcile.Options{Now: func() time.Time { return now }})
	week := (2*0.5 + 5) / 7
	for _, when := range []struct {
		name string
		day  time.Time
		want [8]float64
	}{
		{"the last billed day", reach.AddDate(0, 0, -1), [8]float64{1, 0.3, 0.25, week, 0.3, (week + 0.3) / 2, 0.25, 1}},
		{"beyond the reach", reach, [8]float64{week, 0.3, 0.25, week, 0.3, (week + 0.3) / 2, 0.25, 1}},
		{"before the bills", start.AddDate(0, 0, -1), [8]float64{week, 0.3, 0.25, week, 0.3, (week + 0.3) / 2, 0.25, 1}},
	} {
		for set, err := range r.Sets(t.Context(), allocation.Query{Window: allocation.Window{Start: when.day, End: when.day.AddDate(0, 0, 1)}, Bills: estimated}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range set.Nodes {
				if got := 1 + n.Adjustment[allocation.CPU]/24; !near(when.want[i], got, 0) {
					t.Errorf("%s: %s costs %v of its list price, want %v", when.name, n.Name, got, when.want[i])
				}
			}
			if got := set.Estimated.Total; !near(set.AssetsCost(), got, 0) || !set.Estimated.From.Equal(when.day) {
				t.Errorf("%s: estimated is %v", when.name, set.Estimated)
			}
			if text := "are estimated from the last billed days"; !strings.Contains(strings.Join(set.Warnings, "\n"), text) {
				t.Errorf("%s: no warning says that costs %s: %q", when.name, text, set.Warnings)
			}
		}
	}
}
