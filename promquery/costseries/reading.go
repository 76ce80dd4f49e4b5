package costseries

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// load makes the series of a set, and of all other sets of the query that nobody has looked at yet. The engine selects everything
// before it looks at anything, so selections that need the same hours can share one reading of them.
func (q *querier) load(ctx context.Context, s *seriesSet) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.loaded {
		return
	}
	sets := q.waiting
	q.waiting = nil
	err := q.loadAll(ctx, sets)
	for _, other := range sets {
		if other.loaded = true; err != nil {
			other.list, other.warn, other.err = nil, nil, err
		}
	}
}

// loadAll makes the series of sets.
func (q *querier) loadAll(ctx context.Context, sets []*seriesSet) error {
	made := make([][]*loader, len(sets))
	var loaders [numKinds][]*loader
	for i, s := range sets {
		if s.labelsOnly {
			var err error
			if s.list, s.warn, err = q.recent(ctx, s.mint, s.maxt, s.selected); err != nil {
				return err
			}
			continue
		}
		for _, pass := range q.passes(s.selected) {
			l := q.loader(pass.selected)
			if err := l.prepare(s.mint, s.maxt, pass.kind); err != nil {
				return err
			}
			made[i], loaders[pass.kind] = append(made[i], l), append(loaders[pass.kind], l)
		}
	}
	for of := range numKinds {
		for _, r := range readings(loaders[of], q.hoursOf(of)) {
			if err := r.run(ctx); err != nil {
				return err
			}
		}
	}
	for i, s := range sets {
		for _, l := range made[i] {
			s.list, s.warn = append(s.list, l.series...), s.warn.Merge(l.warn.annotations())
		}
		s.arrange()
		if err := s.draw(ctx); err != nil {
			return err
		}
	}
	return nil
}

// PointBytes is what the engine takes in memory for a series at a step: a sample as an argument, and one as a result.
const PointBytes = 2 * 16

// evaluatedBytes is the engine's own memory for a series.
const evaluatedBytes = 200

// draw draws the memory that the engine is going to take for the series.
func (s *seriesSet) draw(ctx context.Context) error {
	if s.labelsOnly {
		return nil
	}
	if err := memory.FromContext(ctx).Draw(int64(len(s.list)) * (evaluatedBytes + s.steps*PointBytes)); err != nil {
		return fmt.Errorf("evaluate %d series at %d steps: %w", len(s.list), s.steps, err)
	}
	return nil
}

// arrange sorts and limits the series as they were asked for.
func (s *seriesSet) arrange() {
	if s.sorted {
		slices.SortFunc(s.list, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	}
	if s.limit > 0 && len(s.list) > s.limit {
		s.list = s.list[:s.limit]
	}
}

// reading is one pass over hours that feeds one or more loaders.
type reading struct {
	window  allocation.Window
	only    *allocation.Projection
	loaders []*loader
	hours   Hours
}

// readings are the passes that loaders need. Loaders share one where that reads no more than a pass for each.
func readings(loaders []*loader, hours Hours) (list []*reading) {
	loaders = slices.DeleteFunc(loaders, func(l *loader) bool { return l.hour == nil })
	slices.SortStableFunc(loaders, func(a, b *loader) int {
		return cmp.Or(a.window.Start.Compare(b.window.Start), b.window.End.Compare(a.window.End))
	})
	for _, l := range loaders {
		own := &reading{window: l.window, only: l.only, loaders: []*loader{l}, hours: hours}
		if i := slices.IndexFunc(list, own.cheaperWith); i >= 0 {
			list[i] = list[i].with(own)
			continue
		}
		list = append(list, own)
	}
	return list
}

// with is one reading in place of two.
func (r *reading) with(other *reading) *reading {
	w := r.window
	if other.window.Start.Before(w.Start) {
		w.Start = other.window.Start
	}
	if other.window.End.After(w.End) {
		w.End = other.window.End
	}
	loaders := slices.Concat(r.loaders, other.loaders)
	return &reading{window: w, only: r.only.Union(other.only), loaders: loaders, hours: r.hours}
}

// cheaperWith reports whether one reading takes no longer than two.
func (r *reading) cheaperWith(other *reading) bool {
	return r.with(other).weight() <= r.weight()+other.weight()
}

// assetColumns is how many columns of rows take as long to read as the assets.
const assetColumns = 10

// weight is about how long a reading takes.
func (r *reading) weight() float64 {
	columns := 1 + len(r.only.Properties) + len(r.only.Columns)
	if !r.only.WithoutAssets {
		columns += assetColumns
	}
	return r.window.Duration().Hours() * float64(columns)
}

// run gives each loader the hours that it needs, and adds those that cannot be read to its warnings.
func (r *reading) run(ctx context.Context) (err error) {
	for w := r.window; w.Start.Before(w.End); {
		if w.Start, err = r.feed(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// feed gives the loaders hours within w until none of them needs the next one. It returns from when on some loader needs hours
// again, or the end of w.
func (r *reading) feed(ctx context.Context, w allocation.Window) (next time.Time, err error) {
	for set, err := range r.hours(ctx, w, r.only) {
		if set == nil {
			return next, fmt.Errorf("read costs: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return next, r.ended(err)
		}
		for _, l := range r.loaders {
			if set.Window.Start.Before(l.window.Start) || set.Window.End.After(l.window.End) || set.Window.Start.Before(l.resume) {
				continue
			}
			l.warn.hour(set, err)
			if err := l.hour(ctx, set, err); err != nil {
				return next, err
			}
		}
		if next = r.needed(set.Window.End); next.After(set.Window.End) {
			return next, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return next, r.ended(err)
	}
	return w.End, nil
}

// needed is the first time from t on at which some loader needs hours, or the end of the window.
func (r *reading) needed(t time.Time) time.Time {
	next := r.window.End
	for _, l := range r.loaders {
		from := t
		if l.resume.After(t) {
			from = l.resume
		}
		if from.Before(l.window.End) && from.Before(next) {
			next = from
		}
	}
	return next
}

// ended is the error of a reading whose context has ended. It names the first hours that could not be read: they took the time.
func (r *reading) ended(err error) error {
	for _, l := range r.loaders {
		if len(l.warn.missing) > 0 {
			s := &l.warn.missing[0]
			return fmt.Errorf("read costs: %w (costs of %s are missing: %s)", err, s, s.why)
		}
	}
	return fmt.Errorf("read costs: %w", err)
}
