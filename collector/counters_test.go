package collector_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/collector"
)

// monthHour is the i-th hour of a month, in which n namespaces cost a little more, the last most.
func monthHour(i, n int) *allocation.Set {
	start := time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	for k := range n {
		r := &allocation.Row{Start: start, End: start.Add(time.Hour)}
		r.Text[allocation.Cluster], r.Text[allocation.Namespace] = "c", fmt.Sprintf("ns-%03d", k)
		r.Values[allocation.Cost.Of(allocation.CPU)] = float64(k+1) * float64(1+(i*k)%7)
		s.Append(r)
	}
	return s
}

// counters gathers a family's counters by namespace.
func counters(t *testing.T, reg *prometheus.Registry, name string) map[string]*dto.Counter {
	t.Helper()
	list, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]*dto.Counter{}
	for _, f := range list {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["resource"] == "cpu" {
				of[labels["namespace"]] = m.GetCounter()
			}
		}
	}
	return of
}

func TestCountersOfTheMonth(t *testing.T) {
	for _, namespaces := range []int{5, 300} { // of 300, most are folded
		t.Run(strconv.Itoa(namespaces), func(t *testing.T) {
			latest := &latest{}
			accrued := metering.NewAccrued(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), metered(t, "namespace", 400).Metering())
			var shown *metering.Accrued
			c := collector.New(latest, collector.Config{Metering: accrued.Metering, Accrued: func() *metering.Accrued { return shown }})
			reg := prometheus.NewRegistry()
			reg.MustRegister(c)
			latest.set.Store(monthHour(0, namespaces))
			if n := len(counters(t, reg, "promcost_namespace_cost_total")); n > 0 {
				t.Errorf("%d counters before anything was counted", n)
			}
			before := map[string]*dto.Counter{}
			for i := range 40 {
				hour := monthHour(i, namespaces)
				latest.set.Store(hour)
				accrued = accrued.Add(hour)
				shown = accrued
				now := counters(t, reg, "promcost_namespace_cost_total")
				sum, want := 0.0, 0.0
				for name, v := range now {
					sum += v.GetValue()
					if was := before[name]; i > 0 && (was == nil || v.GetValue() < was.GetValue()) {
						t.Fatalf("hour %d: %s is %v after %v", i, name, v, was)
					}
					if !v.GetCreatedTimestamp().AsTime().Equal(accrued.Window.Start) {
						t.Fatalf("created %v", v.GetCreatedTimestamp())
					}
				}
				for _, s := range metering.Subjects()[:1] {
					for k := range accrued.Totals(&s).Len() {
						want += accrued.Totals(&s).Cost(k)
					}
				}
				if sum < want*(1-1e-12) || sum > want*(1+1e-12) {
					t.Fatalf("hour %d: counters sum to %v, want %v", i, sum, want)
				}
				before = now
			}
			if folded := before[allocation.OtherName] != nil; folded != (namespaces == 300) || len(before) > 200 {
				t.Errorf("%d counters, folded %v", len(before), folded)
			}
		})
	}
}
