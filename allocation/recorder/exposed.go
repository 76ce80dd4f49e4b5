package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
)

// exposedFor is how long an hour is exposed at most, counted from the end of its grace period. The next hour replaces it, once its own
// grace period is over and it is computed and scraped.
const exposedFor = time.Hour + 15*time.Minute

// Exposed says which hours this promcost exposed on /metrics within w, as far as that is known: the hours that are kept, as they were
// first counted, or else the latest hour. They have no rows.
func (r *Recorder) Exposed(ctx context.Context, w allocation.Window) ([]metering.Exposure, error) {
	ctx, done := r.ledger.WithAccount(ctx)
	defer done()
	sets, err := r.firstKept(ctx, allocation.Window{Start: w.Start.Add(-r.clock.Grace - exposedFor - time.Hour), End: w.End})
	if err != nil {
		return nil, err
	}
	var out []metering.Exposure
	for _, s := range sets {
		from := s.Window.End.Add(r.clock.Grace)
		if x := (metering.Exposure{Set: s, From: from, Next: from.Add(time.Hour), To: from.Add(exposedFor)}); x.From.Before(w.End) && x.To.After(w.Start) {
			out = append(out, x)
		}
	}
	return out, nil
}

// firstKept are the hours within w that are kept, with their assets only. An hour that was computed again is as it was counted. If
// nothing is kept, it is the latest hour.
func (r *Recorder) firstKept(ctx context.Context, w allocation.Window) ([]*allocation.Set, error) {
	if !r.ledger.Keeps() {
		if last, _, _ := r.Latest(); last != nil {
			return []*allocation.Set{last}, nil
		}
		return nil, nil
	}
	var listings [2]*ledger.Listing
	for i, kind := range [...]ledger.Kind{ledger.Counted, ledger.Hours} {
		s, err := r.archive.List(ctx, kind, w)
		if err != nil {
			return nil, fmt.Errorf("list the hours of the history: %w", err)
		}
		listings[i] = s
	}
	var kept []ledger.Kept
	for _, h := range r.clock.ClosedHours(w) {
		for _, s := range listings {
			if k := s.Longest(h.Start, h); k != nil && k.Window.Duration() == h.Duration() {
				kept = append(kept, *k)
				break
			}
		}
	}
	sets, _, err := r.archive.Read(ctx, kept, &allocation.Projection{}) // only assets: small, and held as long as the query runs
	return sets, err
}
