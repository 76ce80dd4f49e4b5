package costseries_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/collector"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// priced computes hours of namespaces by what they cost.
type priced struct {
	from  time.Time // nothing before it
	costs map[string]func(hour time.Time) float64
	empty func(hour time.Time) bool // the source has nothing of these
}

// Compute implements ledger.Computer.
func (p priced) Compute(_ context.Context, q allocation.Query) ([]*allocation.Set, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	var sets []*allocation.Set
	some := false
	for _, w := range windows {
		set := allocation.NewSet(w, allocation.NewDict())
		set.Resolution = q.Resolution
		if !w.Start.Before(p.from) && !p.empty(w.Start) {
			some, set.Covered = true, []allocation.Covered{{Cluster: "c", Start: w.Start, End: w.End}}
			for _, name := range [...]string{"new", "steady", "twice"} {
				if cost := p.costs[name](w.Start); cost > 0 {
					r := &allocation.Row{Start: w.Start, End: w.End}
					r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod] = "c", name, "p"
					r.Values[allocation.Cost.Of(allocation.CPU)] = cost
					set.Append(r)
				}
			}
		}
		sets = append(sets, set)
	}
	if !some {
		return nil, fmt.Errorf("%w: nothing", allocation.ErrNoData)
	}
	return sets, nil
}

// TestExpectedCosts checks what namespaces should have cost, by hand, and that scrapes and queries say the same, also of the past.
func TestExpectedCosts(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 11, 5, 0, 0, 0, 0, zone) // four days after clocks are set back
	from := allocation.StartOfDay(2026, 10, 31, zone)
	source := priced{from: from, empty: func(h time.Time) bool { return h.In(zone).Day() == 4 && h.In(zone).Hour() < 12 }, costs: map[string]func(time.Time) float64{
		"steady": func(time.Time) float64 { return 1 },
		"new": func(h time.Time) float64 {
			if h.Before(today) {
				return 0
			}
			return 5
		},
		// A dollar an hour from four o'clock on, and three of them today.
		"twice": func(h time.Time) float64 {
			switch {
			case h.In(zone).Hour() < 4:
				return 0
			case h.Before(today):
				return 1
			}
			return 3
		},
	}}
	// The morning of the 4th has no data: the days before are 31, 1, 2 and 3. Until eight o'clock they have eight hours, the first of November has nine.
	want := map[string]string{
		"promcost_namespace_expected_cost steady": "8", "promcost_namespace_unusual_score steady": "0",
		"promcost_namespace_expected_cost twice": "4", "promcost_namespace_unusual_score twice": "40",
	}
	c := ledgertest.NewClock(today.Add(8*time.Hour + grace))
	s := ledgertest.History{Store: history.New(history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{}), history.Options{Now: c.Now})}
	l := ledgertest.New(source, s, log.NewNopLogger(), ledgertest.Options{
		Ledger: ledger.Options{Grace: grace, Zone: zone, Now: c.Now}, Recorder: recorder.Options{Sleep: c.Sleep},
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	c.Pass(today.Add(8*time.Hour + 2*grace))
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector.New(l, collector.Config{Outlook: l.Outlook}))
	got := map[string]string{}
	for series, v := range scraped(t, reg) {
		metric := matchersOf(t, series)
		if name := metric[0].Value; strings.HasSuffix(name, "namespace_expected_cost") || strings.HasSuffix(name, "namespace_unusual_score") {
			got[name+" "+metric[2].Value] = fmt.Sprintf("%.9g", v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scraped (-want +got):\n%s", diff)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	q := costseries.New(l, costseries.Options{Grace: grace, Zone: zone, Now: c.Now, Outlooks: l.OutlooksIn})
	for _, tc := range []struct {
		name, expr string
		at         time.Time
		want       string
	}{
		{"now", `promcost_namespace_unusual_score{namespace="twice"}`, today.Add(8*time.Hour + grace), "40"},
		{"an hour ago", `promcost_namespace_unusual_score{namespace="twice"}`, today.Add(7*time.Hour + grace), "40"},
		{"before it begins", `promcost_namespace_unusual_score{namespace="twice"}`, today.Add(4*time.Hour + grace), ""},
		{"the evening before, of which the morning is missing", `promcost_namespace_unusual_score{namespace="steady"}`, today.Add(grace), ""},
		{"three days", `promcost_namespace_expected_cost{namespace="steady"}`, from.AddDate(0, 0, 3).Add(8*time.Hour + grace), ""},
		{"controllers", `promcost_controller_expected_cost{namespace="steady"}`, today.Add(8*time.Hour + grace), "8"},
		{"a range", `max_over_time(promcost_namespace_expected_cost{namespace="steady"}[3h])`, today.Add(8*time.Hour + grace), "8"},
	} {
		r := resultOf(t, promapi.NewEngine(promapi.EngineOptions{}), q, tc.expr, tc.at, tc.at, 0)
		vector, err := r.Vector()
		if err != nil {
			t.Fatal(tc.name, err)
		}
		got := ""
		if len(vector) > 0 {
			got = fmt.Sprintf("%.9g", vector[0].F)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
