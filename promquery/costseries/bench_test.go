package costseries_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/recorder"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/promapi"
)

// What is measured.
const (
	benchContainers = 10_000
	benchDays       = 30
)

// nothing computes nothing.
type nothing struct{}

func (nothing) Compute(context.Context, allocation.Query) ([]*allocation.Set, error) {
	return nil, fmt.Errorf("%w: there is no source", allocation.ErrNoData)
}

// containersSet is an hour of many containers in 50 namespaces. Some are others each day.
func containersSet(rng *rand.Rand, w allocation.Window, n int) *allocation.Set {
	s := allocation.NewSet(w, allocation.NewDict())
	for i := range n {
		app := i / 10
		r := &allocation.Row{Start: w.Start, End: w.End, Labels: map[string]string{"app": fmt.Sprint("app-", app)}}
		generation := 0
		if i%10 == 0 {
			generation = w.Start.YearDay()
		}
		r.Text = [allocation.Services]string{
			"c1", fmt.Sprint("node-", i%100), fmt.Sprint("ns-", i/200), fmt.Sprintf("app-%d-%d-%d", app, generation, i),
			fmt.Sprintf("%08x-0000-4000-8000-%012x", generation, i), "main", "deployment", fmt.Sprint("app-", app), "",
		}
		for c, scale := range map[allocation.Resource]float64{allocation.CPU: 1, allocation.RAM: 1 << 30} {
			request, usage := float64(1+app%8)/10*scale, rng.ExpFloat64()*0.04*scale
			r.Values[allocation.RequestHours.Of(c)], r.Values[allocation.UsageHours.Of(c)] = request, usage
			r.Values[allocation.Hours.Of(c)], r.Values[allocation.Cost.Of(c)] = max(request, usage), max(request, usage)/scale*0.03
		}
		if i%10 == 0 {
			r.Values[allocation.NetworkCrossZoneCost] = rng.ExpFloat64() * 1e-4
		}
		r.Values[allocation.RunningSeconds], r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = 3600, 3600, 3600
		s.Append(r)
	}
	for i := range n / 100 {
		node := allocation.Node{Cluster: "c1", Name: fmt.Sprint("node-", i)}
		for r := range allocation.NumResources {
			node.Hours[r], node.Cost[r], node.Idle[r] = 10, 0.3, 0.1
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

// benchLedger has so many days of hours, counted by m.
func benchLedger(b *testing.B, days int, m *metering.Metering) (l ledgertest.Recorded, start, end time.Time) {
	b.Helper()
	backend, err := history.OpenDirectory(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s := ledgertest.History{Store: history.New(backend, history.Options{})}
	start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	end = start.AddDate(0, 0, days)
	errs := make(chan error, days)
	for d := range days {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(d), 1))
			var err error
			day := start.AddDate(0, 0, d)
			set := *containersSet(rng, allocation.Window{Start: day, End: day.Add(time.Hour)}, benchContainers)
			for h := range 24 { // all alike: to make them takes longer than to read them
				set.Window = allocation.Window{Start: day.Add(time.Duration(h) * time.Hour), End: day.Add(time.Duration(h+1) * time.Hour)}
				err = errors.Join(err, s.Write(b.Context(), &set, ledger.Keep{Kind: ledger.Hours, Complete: true, Zone: time.UTC}))
			}
			errs <- err
		}()
	}
	for range days {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
	now := func() time.Time { return end.Add(time.Hour) }
	return ledgertest.New(nothing{}, s, log.NewNopLogger(), ledgertest.Options{
		Ledger: ledger.Options{Now: now, Grace: grace, ReadOnly: true}, Recorder: recorder.Options{Metering: func() *metering.Metering { return m }},
	}), start, end
}

// BenchmarkQuery asks for 30 days of 10,000 containers, an hour a step, of the history.
func BenchmarkQuery(b *testing.B) {
	l, start, end := benchLedger(b, benchDays, metering.Default())
	engine := promapi.NewEngine(promapi.EngineOptions{})
	q := costseries.New(l, costseries.Options{Grace: grace, Now: func() time.Time { return end.Add(time.Hour) }})
	for _, expr := range []string{
		`sum by (namespace) (promcost_container_hourly_cost)`,
		`sum by (namespace) (promcost_container_cost_total)`,
		`sum by (controller) (promcost_container_hourly_cost{namespace="ns-7"})`,
		`topk(10, promcost_controller_hourly_cost)`,
		`promcost_container_hourly_cost{namespace="ns-7"}`,
		`count(promcost_container_hourly_cost)`,
	} {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				r := resultOf(b, engine, q, expr, start.Add(2*time.Hour), end.Add(grace), time.Hour)
				if r.Err != nil || len(r.Warnings) > 0 || r.Value.String() == "" {
					b.Fatal(r.Err, r.Warnings)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for s, err := range l.Hours(b.Context(), allocation.Window{Start: start, End: end}, &allocation.Projection{
				Properties: []allocation.Property{allocation.Namespace}, Columns: []allocation.Column{
					allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM), allocation.Cost.Of(allocation.GPU), allocation.PVCost, allocation.NetworkCrossZoneCost,
					allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost, allocation.LoadBalancerCost, allocation.SharedCost, allocation.ExternalCost,
				},
			}) {
				if err != nil {
					b.Fatal(err)
				}
				n += s.Len()
			}
			if n != benchDays*24*benchContainers {
				b.Fatal(n)
			}
		}
	})
	runtime.KeepAlive(l)
}

// cpuTime is the processor time of the process. Unlike elapsed time it does not depend on other processes.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
