package promquery_test

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// jumped is a source whose clock jumped at an instant: samples scraped from then on have times that are off by that. As in a TSDB,
// samples are lost if they are not later than the last one before.
type jumped struct {
	src    promquery.Source
	at, by int64
}

// Select implements promquery.Source.
func (j jumped) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		wider := slices.Clone(sels)
		for i := range wider {
			wider[i].Start -= max(j.by, 0)
			wider[i].End -= min(j.by, 0)
		}
		return promtest.Select(ctx, j.src, wider, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			var q timeline.Points
			for t, v := range p.All() {
				if t >= j.at {
					t += j.by
				}
				if t >= sels[i].Start && t <= sels[i].End && (q.Len() == 0 || t > q.Last()) {
					q.Append(t, v)
				}
			}
			if q.Len() == 0 {
				return nil
			}
			if p.Continued() {
				q.MarkContinued()
			}
			return yield(i, key, &q)
		})
	})
}

// TestClockJumps computes over a Prometheus whose clock jumped, back or ahead. Costs are off by no more than what happened in the
// time that was doubled or left out, nothing is negative or huge, and a warning names hours without a sample.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.Start().Add(2 * time.Hour), End: c.Start().Add(7 * time.Hour)} // before the demo's own outages
	at := w.Start.Add(3 * time.Hour).UnixMilli()
	for _, resolution := range grids() {
		base, usual := sweep(t, db, w, resolution)
		for _, tt := range []struct {
			name string
			by   time.Duration
			told bool
		}{
			{"back by seconds", -20 * time.Second, false},
			{"back by minutes", -10 * time.Minute, false},
			{"ahead by seconds", 20 * time.Second, false},
			{"ahead by an hour", time.Hour, true},
		} {
			t.Run(resolution.String()+" "+tt.name, func(t *testing.T) {
				src := jumped{db, at, tt.by.Milliseconds()}
				sets := compute(t, src, allocation.Query{Window: w, Resolution: resolution}) // which checks them
				for row := range sets[0].Len() {
					if total := sets[0].TotalCost(row); total < 0 || math.IsNaN(total) || total > base {
						t.Errorf("%s costs %v", sets[0].Name(row), total)
					}
				}
				got, warnings := sweep(t, src, w, resolution)
				// Pods come and go, so the time that is another's may cost twice the average.
				if off, most := math.Abs(got/base-1), 2*math.Abs(tt.by.Seconds())/w.Duration().Seconds()+0.02; off > most {
					t.Errorf("costs are off by %.2f%%, want at most %.2f%%", 100*off, 100*most)
				}
				told := slices.ContainsFunc(warnings, func(s string) bool { return !slices.Contains(usual, s) && strings.Contains(s, "no sample") })
				if told != tt.told {
					t.Errorf("told of hours without samples: %t, want %t: %q", told, tt.told, warnings)
				}
			})
		}
	}
}
