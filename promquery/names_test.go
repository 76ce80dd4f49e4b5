package promquery_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
)

// unstarted is a source without the starts of containers, and notes how it is asked for restarts.
type unstarted struct {
	promquery.Source

	raw   bool
	names []string // of the matchers
}

// Raw implements promquery.Sampler.
func (u *unstarted) Raw(context.Context, int64, int64) bool { return u.raw }

// Select implements promquery.Source.
func (u *unstarted) Select(ctx context.Context, sels []promquery.Selector, yield promquery.Yield) (promquery.Stats, error) {
	sels = slices.Clone(sels)
	for i := range sels {
		switch sels[i].Metric {
		case "kube_pod_container_state_started", "container_start_time_seconds", "DCGM_FI_PROF_GR_ENGINE_ACTIVE": // which has exported_pod
			sels[i].Metric += "_missing"
		case "kube_pod_container_status_restarts_total":
			if len(sels[i].Matchers) == 0 {
				u.names = append(u.names, "")
			}
			for _, m := range sels[i].Matchers {
				u.names = append(u.names, m.Value)
			}
		}
	}
	return u.Source.Select(ctx, sels, yield)
}

// TestNamesAskedFor checks that sources are asked by name for the restarts of all pods of which no start is known, and servers that are
// queried only where the names are not too long for them.
func TestNamesAskedFor(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name       string
		pods       int
		raw        bool
		from, upTo int // bytes of names
	}{
		{"few pods of blocks", 100, true, 100, 12 << 10},
		{"few pods of a server", 100, false, 100, 12 << 10},
		{"many pods of blocks", 600, true, 12 << 10, 32 << 10},
		{"many pods of a server", 600, false, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := democluster.New(democluster.Config{End: end, Duration: 2 * time.Hour, Nodes: max(4, tt.pods/30), Pods: tt.pods, ScrapeInterval: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := c.WriteBlocks(t.Context(), dir, c.Start(), c.End(), nil); err != nil {
				t.Fatal(err)
			}
			src := &unstarted{Source: openBlocks(t, dir), raw: tt.raw}
			compute(t, src, allocation.Query{Window: lastHour(end), Resolution: 5 * time.Minute})
			if len(src.names) != 1 {
				t.Fatalf("asked %d times for restarts, want once", len(src.names))
			}
			if n := len(src.names[0]); n < tt.from || n > tt.upTo {
				t.Errorf("asked for %d bytes of names, %d pods, want %d to %d bytes", n, strings.Count(src.names[0], "|")+1, tt.from, tt.upTo)
			}
		})
	}
}
