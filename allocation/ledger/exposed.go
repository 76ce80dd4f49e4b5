package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// exposedFor is for how long an hour is exposed at the most, from when the grace period after it is over: until the next one is, and that is computed and
// scraped.
const exposedFor = time.Hour + 15*time.Minute

// Exposed says which hours this promcost exposed on /metrics within w, as far as that is known: those that are kept, as they were
// counted first, and where none are kept, the latest one. Of their rows they have nothing.
func (l *Ledger) Exposed(ctx context.Context, w allocation.Window) ([]allocation.Exposure, error) {
	ctx, _, done := l.opts.Memory.Within(ctx, remedy)
	defer done()
	sets, err := l.firstKept(ctx, allocation.Window{Start: w.Start.Add(-l.opts.Grace - exposedFor - time.Hour), End: w.End})
	if err != nil {
		return nil, err
	}
	var out []allocation.Exposure
	for _, s := range sets {
		from := s.Window.End.Add(l.opts.Grace)
		if x := (allocation.Exposure{Set: s, From: from, To: from.Add(exposedFor)}); x.From.Before(w.End) && x.To.After(w.Start) {
			out = append(out, x)
		}
	}
	return out, nil
}

// firstKept are the assets of the hours within w that are kept, as counters have counted them where they were computed again; where
// nothing is kept, the latest hour.
func (l *Ledger) firstKept(ctx context.Context, w allocation.Window) ([]*allocation.Set, error) {
	if !l.keeps() {
		if last, _, _ := l.Latest(); last != nil {
			return []*allocation.Set{last}, nil
		}
		return nil, nil
	}
	var shelves [2]*shelf
	for i, kind := range [...]Kind{Counted, Hours} {
		s, err := l.usable(ctx, kind, w, &allocation.Query{Stored: true})
		if err != nil {
			return nil, fmt.Errorf("list the hours of the history: %w", err)
		}
		shelves[i] = s
	}
	var kept []Kept
	for _, h := range l.ClosedHours(w) {
		for _, s := range shelves {
			if k := s.at(h.Start, h); k != nil && k.Window.Duration() == h.Duration() {
				kept = append(kept, *k)
				break
			}
		}
	}
	sets, _, err := l.read(ctx, kept, &allocation.Projection{}) // assets alone: little, held as long as the question is
	return sets, err
}
