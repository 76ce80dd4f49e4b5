package promquery

import (
	"context"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Sampler is implemented by a Source that may answer with values on the grid of a request instead of raw samples.
type Sampler interface {
	// Raw reports whether the source gives raw samples of all of [start, end], Unix milliseconds, by itself. Range selectors for raw
	// samples cost a server more than a grid that is coarser than the scrapes.
	Raw(ctx context.Context, start, end int64) bool
}

// givesRaw reports what a Sampler says of a range of time. A source that is no Sampler gives raw samples.
func givesRaw(ctx context.Context, src Source, start, end int64) bool {
	s, ok := src.(Sampler)
	return !ok || s.Raw(ctx, start, end)
}

// chooseResolution is the resolution to compute a window at: the one that its query asks for, or else one that fits the source and the
// scrape interval.
func (w *window) chooseResolution() (time.Duration, error) {
	q := &w.query
	auto, below := q.Resolution == allocation.AutoResolution, q.ExactBelow && q.Resolution > 0 && q.Resolution < w.scrape
	switch {
	case !auto && !below:
		return q.Resolution, nil
	case w.raw:
		return 0, nil
	case auto:
		return max(allocation.LeastAuto, w.scrape), nil
	}
	return 0, fmt.Errorf("%w: maxError needs a resolution of %s, below the scrape interval of %s, and the query API gives no samples between: allow a larger maxError or a longer minDuration, give resolution=exact in their place, or let promcost read by streamed remote read or from blocks",
		allocation.ErrTooFine, allocation.ResolutionText(q.Resolution), allocation.ResolutionText(w.scrape))
}

// Raw implements Sampler.
func (p *metered) Raw(ctx context.Context, start, end int64) bool {
	return givesRaw(ctx, p.src, start, end)
}

// Raw implements Sampler. The recent source counts if it is asked for a part of that time.
func (j *joined) Raw(ctx context.Context, start, end int64) bool {
	recent := end >= j.cut
	for _, l := range j.gaps {
		recent = recent || !l.givenUp && l.From <= end && start < l.To
	}
	return j.old.Raw(ctx, start, end) && (!recent || j.recent.Raw(ctx, start, end))
}
