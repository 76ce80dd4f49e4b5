package promquery_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
)

// lateStarts is a source that tells the starts of containers only from some time on, as after an upgrade of kube-state-metrics.
type lateStarts struct {
	promquery.Source

	from int64 // Unix milliseconds
	all  bool  // it gives the restarts of all pods, whatever names it is asked for
}

// Select implements promquery.Source.
func (l *lateStarts) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		sels = slices.Clone(sels)
		for i := range sels {
			switch sel := &sels[i]; sel.Metric {
			case "kube_pod_container_state_started":
				sel.Start = max(sel.Start, l.from)
			case "container_start_time_seconds":
				sel.Metric += "_missing"
			case "kube_pod_container_status_restarts_total":
				if l.all {
					sel.Matchers = nil
				}
			}
		}
		return promtest.Select(ctx, l.Source, sels, yield)
	})
}

// TestLateStarts checks that answers, error bounds and warnings do not depend on whether restarts are asked for by name, or of all pods
// because the names are too many: restarts are read of pods whose starts are told for only a part of their time, too.
func TestLateStarts(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	_, src := newDemoBlocks(t, democluster.Config{End: end, Duration: 8 * time.Hour, Nodes: 10, Pods: 200, ScrapeInterval: time.Minute})
	for _, resolution := range []time.Duration{0, time.Minute, 15 * time.Minute} {
		t.Run(allocation.ResolutionText(resolution), func(t *testing.T) {
			q := allocation.Query{Window: allocation.Window{Start: end.Add(-6 * time.Hour), End: end}, Resolution: resolution}
			late := lateStarts{Source: src, from: end.Add(-30 * time.Minute).UnixMilli()}
			ofAll := late
			ofAll.all = true
			got, want := compute(t, &late, q)[0], compute(t, &ofAll, q)[0]
			if diff := cmp.Diff(rowsOf(want), rowsOf(got)); diff != "" {
				t.Errorf("rows by restarts of all pods, and by name: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(want.Warnings, got.Warnings); diff != "" {
				t.Errorf("warnings: -want +got\n%s", diff)
			}
		})
	}
}
