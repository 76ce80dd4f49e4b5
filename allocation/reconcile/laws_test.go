package reconcile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// world is random clusters, their bill, and what reconciles them.
type world struct {
	ledger reconcile.Ledger
	set    func(allocation.Window) (*allocation.Set, error) // at list prices
	book   *billing.Book
	r      *reconcile.Reconciler
	zone   *time.Location
	window allocation.Window // whole days that the bills reach
	// charged are the lines of the book, and of days that it does not reach.
	charged []billing.Line
}

// newWorld has five days around a change of clocks, of which bills reach the first four.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	zone, err := time.LoadLocation([]string{"Europe/Berlin", "UTC", "Asia/Kolkata"}[seed%3])
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 21))
	start, end := time.Date(2026, 3, 27, 0, 0, 0, 0, zone), time.Date(2026, 4, 1, 0, 0, 0, 0, zone)
	slots := int(end.Sub(start) / slot)
	c := newClusters(rng, slots)
	l := c.ledger(start, slots)
	w := &world{ledger: l, set: l.set, zone: zone, window: allocation.Window{Start: start, End: time.Date(2026, 3, 31, 0, 0, 0, 0, zone)}}
	now := end.Add(time.Hour)
	bill := &biller{rng: rng, window: allocation.Window{Start: time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}}
	w.book = bill.book(c, zone, now)
	w.charged = bill.lines
	w.r = reconcile.New(w.ledger, books{w.book}, reconcile.Options{Zone: zone, Now: func() time.Time { return now }})
	return w
}

var everything = allocation.Billed{Adjustments: true, External: true, Cloud: true}

// sets are the reconciled sets of a query.
func (w *world) sets(t *testing.T, q allocation.Query) (list []*allocation.Set) {
	t.Helper()
	for set, err := range w.r.Sets(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if err := passes.Check(set); err != nil {
			t.Fatal(err)
		}
		list = append(list, set)
	}
	return list
}

// merged is a window, reconciled in sets of one step.
func (w *world) merged(t *testing.T, window allocation.Window, step time.Duration) *allocation.Set {
	t.Helper()
	set, err := passes.Merge(window, w.sets(t, allocation.Query{Window: window, Step: step, Bills: everything}))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func near(a, b, size float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b), size)
}

// amounts are all amounts of a set, by what they are of.
func amounts(s *allocation.Set) map[string]float64 {
	out := map[string]float64{}
	for row := range s.Len() {
		name := fmt.Sprint("row ", s.Special(row), " ", s.Name(row), " ", s.Text(allocation.PodUID, row), " ")
		for c := range allocation.NumColumns {
			out[name+c.String()] += s.Value(c, row)
		}
		for _, v := range s.Volumes(row) {
			out[name+"volume "+s.Dict().Text(v.Key)] += v.Adjustment
		}
		for _, l := range s.LoadBalancerShares(row) {
			out[name+"balancer "+s.Dict().Text(l.Key)] += l.Adjustment
		}
	}
	for _, n := range s.Nodes {
		for r := range allocation.NumResources {
			out[fmt.Sprint("node ", n.Cluster, n.Name, n.ProviderID, r)] += n.Adjustment[r]
			out[fmt.Sprint("idle of ", n.Cluster, n.Name, n.ProviderID, r)] += n.IdleAdjustment[r]
		}
	}
	for _, d := range s.Disks {
		out[fmt.Sprint("disk ", d.Cluster, d.Name, d.ProviderID, d.Local)] += d.Adjustment
	}
	for _, l := range s.Balancers {
		out["balancer "+l.Cluster+l.Service] += l.Adjustment
	}
	for _, n := range s.Networks {
		out["network "+n.Cluster] += n.Adjustment
	}
	for _, m := range s.Management {
		out["management "+m.Cluster] += m.Adjustment
	}
	for _, e := range s.External {
		out[fmt.Sprint("external ", e.Text, e.Labels)] += e.Cost
	}
	for _, c := range s.Cloud {
		out[fmt.Sprint("cloud ", c.Provider, c.Name, c.ProviderID)] += c.Cost + c.Credit
	}
	return out
}

func compareAmounts(t *testing.T, what string, want, got map[string]float64) {
	t.Helper()
	for name, v := range want {
		if !near(v, got[name], 0) {
			t.Errorf("%s: %s is %v, of the whole window %v", what, name, got[name], v)
		}
	}
	for name, v := range got {
		if _, ok := want[name]; !ok && !near(v, 0, 0) {
			t.Errorf("%s: %s is %v, of the whole window there is none", what, name, v)
		}
	}
}

// TestPiecesAddUp verifies that hours, days, odd steps and windows with odd edges have the same sums and the same shares, for every column,
// asset and cost outside of clusters.
func TestPiecesAddUp(t *testing.T) {
	for seed := range soak.Of[uint64](6, 60) {
		w := newWorld(t, seed)
		whole := amounts(w.merged(t, w.window, 0))
		for _, step := range []time.Duration{slot, time.Hour, 5 * slot, 24 * time.Hour, 31 * time.Hour} {
			compareAmounts(t, fmt.Sprintf("seed %d: steps of %s", seed, step), whole, amounts(w.merged(t, w.window, step)))
		}
		var odd []*allocation.Set
		edges := []time.Time{w.window.Start, w.window.Start.Add(13 * slot), w.window.Start.Add(75 * slot), w.window.Start.Add(81 * slot), w.window.End}
		for i := range len(edges) - 1 {
			odd = append(odd, w.sets(t, allocation.Query{Window: allocation.Window{Start: edges[i], End: edges[i+1]}, Bills: everything})...)
		}
		sum, err := passes.Merge(w.window, odd)
		if err != nil {
			t.Fatal(err)
		}
		compareAmounts(t, fmt.Sprintf("seed %d: odd windows", seed), whole, amounts(sum))
		if t.Failed() {
			return
		}
	}
}

// lines sums the lines of a window by what they are about, with the sum of absolute amounts.
func (w *world) lines(t *testing.T, window allocation.Window) (sums [reconcile.NumKinds]float64, size float64, hit map[string]bool) {
	t.Helper()
	hit = map[string]bool{}
	for day := window.Start; day.Before(window.End); day = day.AddDate(0, 0, 1) {
		of := allocation.Window{Start: day, End: day.AddDate(0, 0, 1)}
		set, err := w.set(of)
		if err != nil {
			t.Fatal(err)
		}
		x := reconcile.NewIndex(set, w.book.Bills(), nil)
		err = w.book.Read(t.Context(), of, func(l *billing.Line) error {
			m := x.Match(l.Item)
			sums[m.Kind] += l.Cost
			size += math.Abs(l.Cost)
			for _, p := range x.Parts(&m) {
				hit[fmt.Sprint(day, p.Asset)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sums, size, hit
}

// unbilled sums the list cost of the assets and days that no line is about. Own disks of billed nodes are charged elsewhere.
func (w *world) unbilled(t *testing.T, hit map[string]bool) (sum float64) {
	t.Helper()
	for day := w.window.Start; day.Before(w.window.End); day = day.AddDate(0, 0, 1) {
		s, err := w.set(allocation.Window{Start: day, End: day.AddDate(0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		isHit := func(kind reconcile.Kind, cluster, name, id string) bool {
			return hit[fmt.Sprint(day, reconcile.Asset{Kind: kind, AssetKey: allocation.AssetKey{Cluster: cluster, Name: name, ProviderID: id}})]
		}
		add := func(kind reconcile.Kind, cluster, name, id string, cost float64) {
			if !isHit(kind, cluster, name, id) && (kind != reconcile.LocalDisk || !isHit(reconcile.Node, cluster, name, id)) {
				sum += cost
			}
		}
		for _, n := range s.Nodes {
			add(reconcile.Node, n.Cluster, n.Name, n.ProviderID, n.TotalCost())
		}
		for _, d := range s.Disks {
			kind := reconcile.Volume
			if d.Local {
				kind = reconcile.LocalDisk
			}
			add(kind, d.Cluster, d.Name, d.ProviderID, d.Cost)
		}
		for _, l := range s.Balancers {
			add(reconcile.Balancer, l.Cluster, l.Namespace+"/"+l.Service, "", l.Cost)
		}
		for _, n := range s.Networks {
			add(reconcile.Network, n.Cluster, "", "", n.TotalCost())
		}
		for _, m := range s.Management {
			add(reconcile.Management, m.Cluster, "", "", m.Cost)
		}
	}
	return sum
}

// TestRandomBills verifies that the random bills have lines of every kind, so that the laws say something.
func TestRandomBills(t *testing.T) {
	var all [reconcile.NumKinds]float64
	for seed := range uint64(6) {
		w := newWorld(t, seed)
		sums, _, _ := w.lines(t, w.window)
		for kind, v := range sums {
			all[kind] += math.Abs(v)
		}
	}
	for kind, v := range all {
		if v == 0 {
			t.Errorf("no line is about a %s", reconcile.Kind(kind))
		}
	}
}

// TestRowsCostWhatWasBilled is the law of the rows on the random clusters.
func TestRowsCostWhatWasBilled(t *testing.T) {
	for seed := range soak.Of[uint64](6, 200) {
		w := newWorld(t, seed)
		w.checkRows(t, fmt.Sprintf("seed %d", seed), allocation.Query{Window: w.window, Step: 24 * time.Hour})
	}
}

// sharings are ways to share what is not a row's own.
func sharings(t *testing.T, zone *time.Location) []passes.Options {
	t.Helper()
	some, err := filter.Parse(`namespace:"shop","kube-system"`)
	if err != nil {
		t.Fatal(err)
	}
	shared := []passes.Share{{Name: "some", Filter: some}}
	return []passes.Options{
		{Idle: true},
		{Idle: true, IdleByNode: true, SplitIdle: true, ShareLoadBalancers: true, Accumulate: allocation.All, Zone: zone},
		{ShareIdle: passes.Weighted, SharedBreakdown: true},
		{ShareIdle: passes.Even, IdleByNode: true, Accumulate: allocation.Day, Zone: zone},
		{Idle: true, Share: shared, ShareSplit: passes.Weighted},
		{ShareIdle: passes.Weighted, Share: shared, ShareSplit: passes.Even, ShareLoadBalancers: true},
	}
}

// checkRows verifies that rows with tenancy costs add up to the matched lines and the list cost of what was not billed, by
// whatever they are aggregated. q is of the world's window.
func (w *world) checkRows(t *testing.T, what string, q allocation.Query) {
	t.Helper()
	sums, size, hit := w.lines(t, w.window)
	want := w.unbilled(t, hit)
	for kind := range reconcile.External {
		want += sums[kind]
	}
	q.Bills = allocation.Billed{Adjustments: true}
	sets := w.sets(t, q)
	for _, aggregate := range []string{"", "namespace", "cluster,node", "pod", "all"} {
		keys, err := allocation.ParseKeys(aggregate, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range sharings(t, w.zone) {
			o.Aggregate, o.Check, o.ShareTenancy = keys, true, true
			rows, err := passes.Apply(passes.Join(sets), o)
			if err != nil {
				t.Fatal(err)
			}
			got := 0.0
			for _, s := range rows {
				for row := range s.Len() {
					got += s.TotalCost(row)
				}
			}
			if !near(want, got, size) {
				t.Errorf("%s, by %q: rows cost %v, matched lines and what was not billed %v", what, aggregate, got, want)
			}
		}
	}
}

// TestEveryLineIsSomewhere is the law of the lines on the random clusters.
func TestEveryLineIsSomewhere(t *testing.T) {
	for seed := range soak.Of[uint64](12, 200) {
		newWorld(t, seed).checkLines(t, fmt.Sprintf("seed %d", seed))
	}
}

// checkLines verifies that what is matched, external and Cloud costs add up to the bill.
func (w *world) checkLines(t *testing.T, what string) {
	t.Helper()
	all := allocation.Window{Start: w.window.Start.AddDate(0, 0, -1), End: w.window.End.AddDate(0, 0, 3)}
	file, size := 0.0, 0.0
	if err := w.book.Read(t.Context(), all, func(l *billing.Line) error {
		file += l.Cost
		size += math.Abs(l.Cost)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	sums, _, _ := w.lines(t, all)
	got := 0.0
	for kind := range reconcile.External {
		got += sums[kind]
	}
	for _, s := range w.sets(t, allocation.Query{Window: all, Bills: allocation.Billed{External: true, Cloud: true}}) {
		for _, e := range s.External {
			got += e.Cost
		}
		for _, c := range s.Cloud {
			got += c.Cost + c.Credit
		}
	}
	if !near(file, got, size) {
		t.Errorf("%s: the bill has %v, matched, external and Cloud costs are %v", what, file, got)
	}
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
