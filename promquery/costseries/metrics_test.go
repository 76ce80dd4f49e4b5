package costseries_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// cluster computes hours that are the same whenever they are asked for, rows in any order.
type cluster struct {
	from   time.Time                      // nothing before it
	empty  func(w allocation.Window) bool // or in these hours
	mu     sync.Mutex
	orders *rand.Rand
}

// Compute implements ledger.Computer.
func (c *cluster) Compute(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var sets []*allocation.Set
	some := false
	for _, w := range windows {
		set := allocation.NewSet(w, allocation.NewDict())
		if !w.Start.Before(c.from) && !c.empty(w) {
			set, some = c.shuffled(randomSet(rand.New(rand.NewPCG(uint64(w.Start.Unix()), 5)), w)), true
			set.Resolution, set.ScrapeInterval = q.Resolution, 30*time.Second
		}
		sets = append(sets, set)
	}
	if !some {
		return nil, fmt.Errorf("%w: nothing", allocation.ErrNoData)
	}
	return sets, nil
}

// shuffled is a set with its rows in another order: the history's order differs from that of computations.
func (c *cluster) shuffled(s *allocation.Set) *allocation.Set {
	out := allocation.NewSet(s.Window, allocation.NewDict())
	out.Nodes, out.Disks, out.Management, out.Residuals = s.Nodes, s.Disks, s.Management, s.Residuals
	for _, row := range c.orders.Perm(s.Len()) {
		r := &allocation.Row{Special: s.Special(row), Start: s.Window.Start, End: s.Window.End, Labels: map[string]string{"app": s.Text(allocation.Pod, row)}}
		for p := range r.Text {
			r.Text[p] = s.Text(allocation.Property(p), row)
		}
		for col := range allocation.NumColumns {
			r.Values[col] = s.Value(col, row)
		}
		out.Append(r)
	}
	return out
}

// scraped is what a scrape of the registry gets.
func scraped(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	got, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range got {
		if f.GetName() == "promcost_series_dropped_total" {
			continue // about the process
		}
		for _, m := range f.GetMetric() {
			b := labels.NewBuilder(labels.FromStrings(model.MetricNameLabel, f.GetName()))
			for _, l := range m.GetLabel() {
				b.Set(l.GetName(), l.GetValue())
			}
			v := m.GetGauge().GetValue()
			if m.GetCounter() != nil {
				v = m.GetCounter().GetValue()
			}
			values[b.Labels().String()] = v
		}
	}
	return values
}

// exactly are values to the last bit.
func exactly(values map[string]float64) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, fmt.Sprintf("%s %x", key, values[key]))
	}
	return list
}

// budgets are one of everything in a month and one of some in a day.
func budgets(t *testing.T) []metering.Budget {
	t.Helper()
	some, err := filter.Parse(`namespace:"ns-1"`)
	if err != nil {
		t.Fatal(err)
	}
	return []metering.Budget{
		{Name: "all", Amount: 1000, Period: metering.BudgetMonth, Options: passes.Options{Idle: true}},
		{Name: "some", Amount: 10, Period: metering.BudgetDay, Options: passes.Options{Filter: some, ShareIdle: passes.Weighted}},
	}
}

// At the instant of a scrape, /metrics and a query give the same, to the last bit: of all families, over hours, months, days
// on which clocks are set, holes and restarts.
func TestQueriesAreWhatScrapesGot(t *testing.T) {
	for _, tc := range []struct {
		zone, from string
		resolution time.Duration
	}{
		{"Europe/Berlin", "2026-03-28T20:00", 0},
		{"UTC", "2026-03-31T20:00", time.Minute},
		{"Asia/Kolkata", "2026-02-28T14:30", 0},
		{"America/New_York", "2026-11-01T02:00", time.Minute},
	}[:soak.Of(1, 4)] {
		t.Run(tc.zone, func(t *testing.T) { t.Parallel(); compareScrapes(t, tc.zone, tc.from, tc.resolution) })
	}
}

func compareScrapes(t *testing.T, name, from string, resolution time.Duration) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	start, err := time.Parse("2006-01-02T15:04", from)
	if err != nil {
		t.Fatal(err)
	}
	bucket, c := objstore.NewInMemBucket(), ledgertest.NewClock(start)
	source := &cluster{from: start.Add(-30 * time.Hour), orders: rand.New(rand.NewPCG(1, 1)), empty: func(w allocation.Window) bool { return w.Start.Unix()/3600%13 == 4 }}
	engine := promapi.NewEngine(promapi.EngineOptions{})
	meter := everything(budgets(t)...)
	at, instants := start, 0
	for _, life := range []time.Duration{7 * time.Hour, 4 * time.Hour, 30 * time.Hour} {
		s := ledgertest.History{Store: history.New(history.NewBucket(bucket, history.BucketOptions{}), history.Options{Now: c.Now})}
		l := ledgertest.New(source, s, log.NewNopLogger(), ledgertest.Options{
			Ledger:   ledger.Options{Grace: grace, Zone: zone, Now: c.Now, Resolution: resolution},
			Recorder: recorder.Options{Sleep: c.Sleep, Metering: func() *metering.Metering { return meter }},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		reg := prometheus.NewRegistry()
		reg.MustRegister(collector.New(l, collector.Config{Metering: func() *metering.Metering { return meter }, Bounds: timeline.ServedBounds, Accrued: l.Accrued, Spending: l.Spending, Outlook: l.Outlook}))
		q := costseries.New(l, costseries.Options{Grace: grace, Zone: zone, Subjects: meter.Subjects(), Bounds: timeline.ServedBounds, Now: c.Now, Outlooks: l.OutlooksIn})
		for until := at.Add(life); at.Before(until); at = at.Add(50 * time.Minute) {
			c.Pass(at)
			want := scraped(t, reg)
			if set, _, _ := l.Latest(); set == nil || at.Sub(set.Window.End) >= 2*time.Hour {
				continue // unknown yet, or so old that queries leave it out
			}
			got := map[string]float64{}
			r := resultOf(t, engine, q, `{__name__=~".+"}`, at, at, 0)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			vector, _ := r.Vector()
			for _, x := range vector {
				got[x.Metric.String()] = x.F
			}
			if diff := cmp.Diff(exactly(want), exactly(got)); diff != "" {
				t.Fatalf("at %s (-scraped +asked):\n%s", at.In(zone).Format(time.RFC3339), diff)
			}
			instants++
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if instants < 35 {
		t.Errorf("only %d instants were compared", instants)
	}
}
