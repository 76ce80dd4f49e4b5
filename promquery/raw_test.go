package promquery_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
)

// queryOnly is a source that says that it answers on a grid.
type queryOnly struct{ promquery.Source }

// Raw implements promquery.Sampler.
func (queryOnly) Raw(context.Context, int64, int64) bool { return false }

// TestAutoResolution checks that auto is exact if the source gives raw samples of the whole window, and otherwise a grid of a
// minute or the scrape interval.
func TestAutoResolution(t *testing.T) {
	c, db := demoBlocks(t)
	w := lastHour(c.End())
	cut := w.Start.Add(w.Duration() / 2).UnixMilli()
	joined := func(recent promquery.Source, until int64, lacks ...promquery.Gap) promquery.Source {
		return promquery.Join(db, recent, func(context.Context) (promquery.Cover, error) { return promquery.Cover{Until: until, Gaps: lacks}, nil })
	}
	lack := promquery.Gap{From: w.Start.UnixMilli() - 7_200_000, To: w.Start.UnixMilli() + 600_000}
	ever := w.End.Add(time.Hour).UnixMilli()
	for _, tt := range []struct {
		name  string
		src   promquery.Source
		alone bool
		want  time.Duration
	}{
		{"blocks", db, false, 0},
		{"a server that is only queried", queryOnly{db}, false, time.Minute},
		{"scraped every two minutes", queryOnly{slowly{db}}, false, 2 * time.Minute},
		{"hours computed together", queryOnly{db}, true, time.Minute},
		{"exact hours computed together", db, true, 0},
		{"blocks, then remote read", joined(db, cut), false, 0},
		{"blocks, then queries", joined(queryOnly{db}, cut), false, time.Minute},
		{"blocks of the whole window", joined(queryOnly{db}, ever), false, 0},
		{"blocks that lack some of it", joined(queryOnly{db}, ever, lack), false, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := allocation.Query{Window: w, Resolution: allocation.AutoResolution}
			if tt.alone {
				q.Step, q.Alone = 30*time.Minute, true
			}
			for _, s := range compute(t, tt.src, q) {
				if s.Resolution != tt.want || s.Reading.Resolution != tt.want {
					t.Errorf("%s was used, want %s", allocation.ResolutionText(s.Resolution), allocation.ResolutionText(tt.want))
				}
			}
		})
	}
}

// slowly is a source of which nodes and containers seem to be scraped every two minutes.
type slowly struct{ promquery.Source }

// Select implements promquery.Source.
func (s slowly) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, s.Source, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			var few timeline.Points
			few.SetSeries(p.Series())
			last := int64(0)
			for t, v := range p.All() {
				if t-last >= 115_000 {
					few.Append(t, v)
					last = t
				}
			}
			if few.Len() == 0 {
				return nil
			}
			return yield(i, key, &few)
		})
	})
}

// TestExactMustBeAskedFor: where a source only answers on a grid, maxError does not fall back on exact mode.
func TestExactMustBeAskedFor(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: lastHour(c.End()), Resolution: 20 * time.Second, ExactBelow: true}
	_, err := promquery.NewEngine(queryOnly{db}, config).Compute(t.Context(), q)
	if !errors.Is(err, allocation.ErrTooFine) || errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "maxError needs a resolution of 20s, below the scrape interval of 30s") {
		t.Errorf("got %v", err)
	}
	q = allocation.Query{Window: q.Window}
	if s := compute(t, queryOnly{db}, q)[0]; s.Resolution != 0 {
		t.Errorf("%s was used where exact was asked for", s.Resolution)
	}
}
