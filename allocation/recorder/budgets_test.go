package recorder_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/recorder"
)

// budgeting is a metering of budgets: of everything in a month, and of a namespace in a week, a day and a year.
func budgeting(t *testing.T) *metering.Metering {
	t.Helper()
	everything, err := allocation.ParseKeys("all", nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := filter.Parse(`namespace:"ns-1"`)
	if err != nil {
		t.Fatal(err)
	}
	budgets := []metering.Budget{{Name: "all", Amount: 1000, Period: metering.BudgetMonth, Options: passes.Options{Aggregate: everything, Idle: true}}}
	for _, p := range []metering.BudgetPeriod{metering.BudgetWeek, metering.BudgetDay, metering.BudgetYear} {
		budgets = append(budgets, metering.Budget{Name: string(p), Amount: 10, Period: p, Options: passes.Options{Aggregate: everything, Filter: one}})
	}
	m, err := metering.New(metering.Options{Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// costOf is what the model says of a budget.
func costOf(t *testing.T, r *ledgertest.Rig, b *metering.Budget, from, to time.Time) float64 {
	t.Helper()
	costs, err := b.Costs([]*allocation.Set{r.Exactly(allocation.Window{Start: from, End: to})})
	if err != nil {
		t.Fatal(err)
	}
	return costs[0]
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func TestSpending(t *testing.T) {
	m := budgeting(t)
	start := ledgertest.ParseTime(t, "2026-03-06T00:00")
	r := ledgertest.Live(t, "2026-03-13T05:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}, func(r *ledgertest.Rig) { r.Model.From = start })
	for _, now := range []string{"2026-03-06T01:10", "2026-03-08T13:15", "2026-03-09T00:15", "2026-03-12T05:30", "2026-03-13T05:30"} {
		got, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, now))
		if err != nil {
			t.Fatal(err)
		}
		end := ledgertest.ParseTime(t, now).Add(-10 * time.Minute).Truncate(time.Hour)
		for _, s := range got.States {
			period := s.Budget.Period.Window(end, time.UTC)
			from := period.Start
			if from.Before(start) {
				from = start // nothing was before
			}
			if want := costOf(t, r, s.Budget, from, end); !near(s.Spent, want) {
				t.Errorf("%s: %s has spent %v, want %v", now, s.Budget.Name, s.Spent, want)
			}
			if s.Known != end.Sub(from) {
				t.Errorf("%s: %s knows %s, want %s", now, s.Budget.Name, s.Known, end.Sub(from))
			}
			want := s.Spent + s.Spent/end.Sub(from).Hours()*period.End.Sub(end).Hours()
			if !end.Add(-7 * 24 * time.Hour).Before(start) {
				want = s.Spent
				for h := end; h.Before(period.End); h = h.Add(time.Hour) {
					then := h
					for !then.Before(end) {
						then = then.Add(-7 * 24 * time.Hour)
					}
					want += costOf(t, r, s.Budget, then, then.Add(time.Hour))
				}
			}
			if !near(s.Forecast, want) {
				t.Errorf("%s: %s will have spent %v, want %v", now, s.Budget.Name, s.Forecast, want)
			}
		}
	}
}

// A restarted process, and one that only reads, give the same answer.
func TestSpendingSurvivesRestarts(t *testing.T) {
	m := budgeting(t)
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}
	r := ledgertest.Live(t, "2026-03-03T05:30", o, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-01T00:00") })
	before := r.Spending()
	if before == nil || !before.End.Equal(ledgertest.ParseTime(t, "2026-03-03T05:00")) {
		t.Fatalf("budgets stand as %v", before)
	}
	for _, readOnly := range []bool{false, true} {
		r.Opts.Ledger.ReadOnly = readOnly
		r.StopAndRestart(t)
		if r.Spending() != nil {
			t.Error("it knows how budgets stand before it has read anything")
		}
		r.Start(t)
		if diff := cmp.Diff(before, r.Spending(), cmpopts.IgnoreFields(metering.BudgetState{}, "Budget")); diff != "" {
			t.Errorf("read only %v: -before +after:\n%s", readOnly, diff)
		}
	}
	r.Pass(time.Hour)
	if now := r.Spending(); !now.End.Equal(ledgertest.ParseTime(t, "2026-03-03T05:00")) { // it computes nothing
		t.Errorf("budgets stand as of %s", now.End)
	}
}

func TestSpendingFollowsTheConfig(t *testing.T) {
	none, m := metering.Default(), budgeting(t)
	current := none
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return current }}}
	r := ledgertest.Live(t, "2026-03-02T05:30", o, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-01T00:00") })
	if s := r.Spending(); s != nil {
		t.Errorf("there are no budgets, but %v", s)
	}
	for _, tt := range []struct {
		metering *metering.Metering
		want     int
	}{{m, 4}, {none, 0}} {
		r.Stop()
		current = tt.metering
		r.Start(t)
		n := 0
		if s := r.Spending(); s != nil {
			n = len(s.States)
		}
		if n != tt.want || r.Accrued().Metering() != current {
			t.Errorf("%d budgets, want %d", n, tt.want)
		}
	}
}

// halved are bills that charge half of the list price of nodes until an instant.
type halved struct {
	version string
	until   time.Time
	off     float64 // part of the list price
}

func (h *halved) Version() string  { return h.version }
func (h *halved) Until() time.Time { return h.until }

func (h *halved) Reconcile(_ context.Context, s *allocation.Set) (*allocation.Set, error) {
	if s.Window.End.After(h.until) {
		return s, nil
	}
	off := passes.Adjustments{Nodes: map[allocation.AssetKey]float64{}}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		off.Nodes[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID}] = -h.off * n.TotalCost()
	}
	return passes.Reconcile(s, off)
}

// A budget by bill has spent what bills charge as far as they reach, and list prices after that. Revised bills count at once.
func TestSpendingByBill(t *testing.T) {
	everything, err := allocation.ParseKeys("all", nil)
	if err != nil {
		t.Fatal(err)
	}
	var budgets []metering.Budget
	for _, billed := range [...]bool{false, true} {
		budgets = append(budgets, metering.Budget{Name: fmt.Sprint("billed ", billed), Amount: 10, Period: metering.BudgetMonth, Billed: billed, Options: passes.Options{Aggregate: everything, Idle: true, ShareTenancy: true}})
	}
	m, err := metering.New(metering.Options{Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	var bills recorder.Bills
	o := ledgertest.Options{Recorder: recorder.Options{
		Backfill: -1, Metering: func() *metering.Metering { return m }, Bills: func(context.Context) (recorder.Bills, error) { return bills, nil },
	}}
	start := ledgertest.ParseTime(t, "2026-03-01T00:00")
	r := ledgertest.Live(t, "2026-03-04T05:30", o, func(r *ledgertest.Rig) { r.Model.From = start })
	end := ledgertest.ParseTime(t, "2026-03-04T05:00")
	nodes := func(to time.Time) (sum float64) {
		for _, n := range r.Exactly(allocation.Window{Start: start, End: to}).Nodes {
			sum += n.TotalCost()
		}
		return sum
	}
	all := costOf(t, r, &budgets[0], start, end)
	for _, tc := range []struct {
		name  string
		bills *halved // nil for none
		until string
	}{
		{name: "no bills"},
		{"no charges yet", &halved{"0", time.Time{}, 0.5}, ""},
		{"two days", &halved{"1", time.Time{}, 0.5}, "2026-03-03T00:00"},
		{"restated", &halved{"2", time.Time{}, 0.25}, "2026-03-03T00:00"},
		{"a day more", &halved{"3", time.Time{}, 0.25}, "2026-03-04T00:00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bills = nil
			off, until, after := 0.0, time.Time{}, 0.0
			if tc.until != "" {
				until = ledgertest.ParseTime(t, tc.until)
				off, after = tc.bills.off*nodes(until), costOf(t, r, &budgets[0], until, end)
			}
			if tc.bills != nil {
				if tc.bills.until = until; until.IsZero() {
					after = all
				}
				bills = tc.bills
			}
			got, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, "2026-03-04T05:30"))
			if err != nil {
				t.Fatal(err)
			}
			list, billed := &got.States[0], &got.States[1]
			if !near(list.Spent, all) || !list.BilledUntil.IsZero() || list.SpentUnbilled != 0 {
				t.Errorf("at list prices: %+v, want %v", list, all)
			}
			if !near(billed.Spent, all-off) || !billed.BilledUntil.Equal(until) || !near(billed.SpentUnbilled, after) {
				t.Errorf("by bill: %+v, want %v until %s, and %v after it", billed, all-off, until, after)
			}
		})
	}
}

// Many instants of one listing give the same as each instant on its own.
func TestSpendingsIn(t *testing.T) {
	m := budgeting(t)
	r := ledgertest.Live(t, "2026-03-04T05:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-01T00:00") })
	w := allocation.Window{Start: ledgertest.ParseTime(t, "2026-03-01T00:20"), End: ledgertest.ParseTime(t, "2026-03-04T05:30")}
	spendings, err := r.SpendingsIn(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for now := w.Start; !now.After(w.End); now = now.Add(5 * time.Hour) {
		want, err := r.SpendingAt(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := spendings(t.Context(), now)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metering.BudgetState{}, "Budget")); err != nil || diff != "" {
			t.Errorf("%s: %v (-alone +of many):\n%s", now, err, diff)
		}
	}
}

// Budgets are not shown while the history is being filled: missing hours are not free.
func TestSpendingIsShownOnceWhole(t *testing.T) {
	m := budgeting(t)
	var r *ledgertest.Rig
	var shown []*metering.Spending
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }, Changed: func() {
		if s := r.Spending(); s != nil {
			shown = append(shown, s)
		}
	}}}
	ledgertest.Live(t, "2026-03-03T05:30", o, func(made *ledgertest.Rig) {
		r = made
		r.Model.From = ledgertest.ParseTime(t, "2026-03-01T00:00")
	})
	r.Stop()
	if len(shown) == 0 {
		t.Fatal("budgets were not shown")
	}
	for _, s := range shown {
		if diff := cmp.Diff(r.Spending(), s, cmpopts.IgnoreFields(metering.BudgetState{}, "Budget"), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("-in the end +at first:\n%s", diff)
		}
	}
	before, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, "2026-02-20T05:30"))
	if err != nil || len(before.States) > 0 {
		t.Errorf("before there was anything: %v, %v", before, err)
	}
}

// As long as hours of a budget's period are still to be computed, its state is not known for instants after them, not even
// past ones; its forecast is not known as long as hours of the week before are missing. Hours for which the source has
// nothing do not matter, nor hours that will not be computed.
func TestSpendingAwaitsHours(t *testing.T) {
	m := budgeting(t)
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}
	hole := ledgertest.Between(t, "2026-03-03T10:00", "2026-03-03T12:00")
	r := ledgertest.Live(t, "2026-03-12T05:30", o, func(r *ledgertest.Rig) { r.Model.From = ledgertest.ParseTime(t, "2026-03-01T00:00") })
	r.Stop()
	spendings := func(now string) (list []string) {
		t.Helper()
		s, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, now))
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range s.States {
			list = append(list, fmt.Sprintf("%s %t", state.Budget.Name, state.Forecast >= 0))
		}
		for _, name := range s.Unknown {
			list = append(list, name+" unknown")
		}
		return list
	}
	all := []string{"all true", "week true", "day true", "year true"}
	if diff := cmp.Diff(all, spendings("2026-03-12T05:30")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	gone := regexp.MustCompile(`^sets_(daily/year=2026/|hourly/)date=2026-03-03(/hour=1[01])?\.`)
	for name := range r.Bucket.Objects() {
		if gone.MatchString(name) {
			if err := r.Bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, readOnly := range []bool{false, true} {
		r.Opts.Ledger.ReadOnly = readOnly
		r.Restart(t)
		for _, tt := range []struct {
			now  string
			want []string
		}{
			{"2026-03-03T10:10", all},
			{"2026-03-03T13:10", []string{"all unknown", "week unknown", "day unknown", "year unknown"}},
			{"2026-03-05T12:10", []string{"day false", "all unknown", "week unknown", "year unknown"}},
			{"2026-03-09T12:10", []string{"week false", "day false", "all unknown", "year unknown"}},
			{"2026-03-12T05:30", []string{"week true", "day true", "all unknown", "year unknown"}},
		} {
			if readOnly {
				tt.want = all
			}
			if diff := cmp.Diff(tt.want, spendings(tt.now)); diff != "" {
				t.Errorf("%s, read only %v (-want +got):\n%s", tt.now, readOnly, diff)
			}
		}
	}
	r.Opts.Ledger.ReadOnly, r.Model.Without = false, func(w allocation.Window) bool { return hole.Start.Before(w.End) && w.Start.Before(hole.End) }
	r.StopAndRestart(t)
	r.Start(t)
	if diff := cmp.Diff(all, spendings("2026-03-12T05:30")); diff != "" {
		t.Errorf("nothing was in them (-want +got):\n%s", diff)
	}
}

// Of what is kept, only what a budget needs is read, which changes nothing, whatever it selects and bears.
func TestSpendingOfWhatIsShared(t *testing.T) {
	parse := func(text string) allocation.Filter {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	keys := func(field string) []allocation.Key {
		list, err := allocation.ParseKeys(field, nil)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	ns := []passes.Share{{Name: "ns-2", Filter: parse(`namespace:"ns-2"`)}}
	var budgets []metering.Budget
	for i, o := range []passes.Options{
		{Filter: parse(`controllerName:"app-1"+controllerKind:"deployment"`)},
		{Filter: parse(`label[app]:"app-1" | pod:"pod-3"`), ShareIdle: passes.Weighted},
		{Filter: parse(`department:"x" | node:"node-1"`), ShareIdle: passes.Even, ShareTenancy: true},
		{Aggregate: keys("namespace"), ShareSplit: passes.Even, Share: ns, Filter: parse(`label[app]:"app-1"`)},
		{Aggregate: keys("label:app"), ShareSplit: passes.Even, Share: ns, SharedCost: 730, Idle: true, IdleByNode: true},
		{ShareSplit: passes.Weighted, Share: []passes.Share{{Name: "share", Filter: parse(`label[app]:"app-2"`)}}, ShareTenancy: true, ShareLoadBalancers: true},
	} {
		budgets = append(budgets, metering.Budget{Name: fmt.Sprint("budget ", i), Amount: 1, Period: metering.BudgetDay, Options: o})
	}
	m, err := metering.New(metering.Options{Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	r := ledgertest.NewRig(t, "2026-03-02T01:30", ledgertest.Options{Recorder: recorder.Options{Metering: func() *metering.Metering { return m }}})
	w := ledgertest.Between(t, "2026-03-02T00:00", "2026-03-02T01:00")
	if err := r.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Opts.Ledger.ReadOnly = true
	r.Restart(t)
	got, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, "2026-03-02T01:30"))
	if err != nil || len(got.States) != len(budgets) {
		t.Fatalf("%d of %d budgets, %v", len(got.States), len(budgets), err)
	}
	for i := range got.States {
		if want := costOf(t, r, &budgets[i], w.Start, w.End); want == 0 || !near(got.States[i].Spent, want) {
			t.Errorf("%s: %v, want %v", budgets[i].Name, got.States[i].Spent, want)
		}
	}
}

// TestSpendingTellsOlderRules has spending of hours by older rules, and later by the current ones, too.
func TestSpendingTellsOlderRules(t *testing.T) {
	m := budgeting(t)
	r := ledgertest.Live(t, "2026-03-09T05:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}, func(r *ledgertest.Rig) {
		r.Model.From, r.Model.Rules = ledgertest.ParseTime(t, "2026-03-09T00:00"), allocation.OldestRules
	})
	for _, tt := range []struct {
		passed time.Duration
		mixed  bool
	}{{0, false}, {2 * time.Hour, true}} {
		r.Model.Change(func(m *ledgertest.Model) {
			if tt.passed > 0 {
				m.Rules = 0
			}
		})
		r.Pass(tt.passed)
		got, err := r.SpendingAt(t.Context(), ledgertest.ParseTime(t, "2026-03-09T05:30").Add(tt.passed))
		if err != nil {
			t.Fatal(err)
		}
		if want := ledgertest.Between(t, "2026-03-09T00:00", "2026-03-09T05:00"); len(got.States) == 0 || got.Rules.Mixed() != tt.mixed || !got.Rules.Older.Start.Equal(want.Start) || !got.Rules.Older.End.Equal(want.End) {
			t.Errorf("after %s: mixed %v, older %v, want %v and %v", tt.passed, got.Rules.Mixed(), got.Rules.Older, tt.mixed, want)
		}
	}
}
