package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/promquery"
)

// How often requests are recommended for metrics, and by how much of the history. Looking whether it is time costs nothing.
const (
	recommendEvery = 6 * time.Hour
	recommendLook  = 5 * time.Second
	recommendFrom  = 14 * 24 * time.Hour
)

// recommender keeps the requests that are recommended for containers, for metrics.
type recommender struct {
	*service
	logs  loggers
	until time.Time // end of the hours that they rest on; zero before
	list  atomic.Pointer[metering.Recommended]
}

// run recommends requests every few hours that close, until the context ends. What fails is tried again when the next hour has closed. It waits for the outlook of an hour, which
// comes once the history has all hours: no source is asked for weeks of samples only to recommend requests.
func (r *recommender) run(ctx context.Context) error {
	tried := time.Time{}
	for {
		if o := r.recorder.Outlook(); o != nil && o.End.After(tried) && o.End.Sub(r.until) >= recommendEvery {
			tried = o.End
			if err := r.recommend(promquery.Background(ctx), tried); err != nil && ctx.Err() == nil {
				level.Warn(r.logs.kit).Log("msg", "requests cannot be recommended", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(recommendLook):
		}
	}
}

// recommend recommends requests by the hours that end then.
func (r *recommender) recommend(ctx context.Context, end time.Time) error {
	ctx, account, done := r.memory.Within(ctx, "leave --collector.recommended out")
	defer done()
	preset, err := savings.PresetNamed(savings.DefaultPreset)
	if err != nil {
		return err
	}
	o := savings.Options{Window: allocation.Window{Start: end.Add(-recommendFrom), End: end}, Memory: account}.For(preset)
	q := allocation.Query{Window: o.Window, Step: time.Hour, Resolution: allocation.AutoResolution, Stored: true, Stream: true, Only: savings.Needs(o)}
	usage, err := savings.Collect(r.ledger.Sets(ctx, q), o)
	if err != nil {
		return err
	}
	covered := coverage.Measure(o.Window, usage.Covered, end)
	var list []metering.RecommendedRequest
	for _, x := range savings.Recommend(usage, preset, covered.Hours) {
		list = append(list, metering.RecommendedRequest{
			Cluster: x.Cluster, Namespace: x.Namespace, ControllerKind: x.ControllerKind, Controller: x.Controller, Container: x.Name, CPU: x.CPU.Request, RAM: x.RAM.Request,
		})
	}
	r.list.Store(metering.NewRecommended(list, r.metering().MaxSeries()))
	r.until = end
	(*r.changed.Load())()
	return nil
}
