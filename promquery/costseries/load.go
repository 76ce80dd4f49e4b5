package costseries

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
)

// loader makes the series of selections, hour by hour.
type loader struct {
	*querier
	selected []*selection
	only     *allocation.Projection
	series   []*series
	clock    []int64
	hours    int // at most, from the next on
	live     []int32
	index    map[string]int32 // series by selection and values; -1 for those that are not selected
	groups   map[string]int32 // and by the values that they are summed by
	builder  labels.ScratchBuilder
	key      []byte
	told     notes
	looked   int   // series that were emitted, where they are not read
	since    int64 // counters have samples from then on
}

func (q *querier) loader(selected []*selection) *loader {
	return &loader{querier: q, selected: selected, only: projection(selected), index: map[string]int32{}, groups: map[string]int32{}}
}

// run reads the hours that have their samples from mint to maxt; of counters, those before since their month began.
func (l *loader) run(ctx context.Context, mint, maxt int64, counting bool) error {
	w := l.window(mint, maxt)
	if !w.Start.Before(w.End) {
		return nil
	}
	if err := checkHours(w); err != nil {
		return err
	}
	l.hours, l.told.window = int(w.Duration()/time.Hour)+1, w
	if !counting {
		return l.each(ctx, l.sets.Hours(ctx, w, l.only), l.gauges)
	}
	l.since = mint
	w.Start = l.month(w.Start.Add(time.Hour - time.Millisecond))
	c := counter{loader: l}
	return l.each(ctx, l.sets.Counted(ctx, w, l.only), c.hour)
}

// each does something with hours, and notes those that cannot be had.
func (l *loader) each(ctx context.Context, hours func(func(*allocation.Set, error) bool), do func(*allocation.Set, error) error) error {
	for set, err := range hours {
		if set == nil {
			return fmt.Errorf("read costs: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read costs: %w", err)
		}
		l.told.hour(set, err)
		if err := do(set, err); err != nil {
			return err
		}
	}
	return nil
}

// shown is when an hour is shown, in Unix milliseconds.
func (l *loader) shown(set *allocation.Set) int64 {
	return set.Window.End.Add(l.opts.Grace).UnixMilli()
}

// gauges adds the samples of an hour, and ends the series that have none in it.
func (l *loader) gauges(set *allocation.Set, err error) error {
	if err != nil {
		return nil //nolint:nilerr // it is told of, and the series go on after it
	}
	now := len(l.clock)
	l.clock = append(l.clock, l.shown(set))
	l.emit(set, func(s *selection, values []string, v float64) {
		if i := l.find(s, values); i >= 0 {
			l.put(i, now, v)
		}
	})
	l.end(now)
	return l.bound(now)
}

// emit emits what the selections have of a set.
func (l *loader) emit(set *allocation.Set, emit func(s *selection, values []string, v float64)) {
	var of *allocation.Subject
	var totals *allocation.Totals
	for _, s := range l.selected {
		if s.subject == nil {
			s.set(l.Queryable, set, func(values []string, v float64) { emit(s, values, v) })
			continue
		}
		if of != s.subject {
			of, totals = s.subject, s.subject.Totals(set)
		}
		s.of.Emit(totals, func(_ int, values []string, v float64) { emit(s, values, v) })
	}
}

// put adds a sample to a series at a time, the last that there is by now.
func (l *loader) put(i int32, now int, v float64) {
	s := l.series[i]
	if len(s.values) == 0 || s.last != now {
		l.live = append(l.live, i)
	}
	before := s.bytes()
	s.put(now, v)
	l.used.Add(int64(s.bytes() - before))
}

// end puts stale markers where series had a sample before and have none now.
func (l *loader) end(now int) {
	slices.Sort(l.live)
	l.live = slices.Compact(l.live)
	alive := l.live[:0]
	for _, i := range l.live {
		if s := l.series[i]; s.last == now {
			alive = append(alive, i)
		} else {
			s.put(now, stale)
		}
	}
	l.live = alive
}

// seriesBytes is about what a series takes besides its values.
const seriesBytes = 200

// find is the series of the values of a family's labels, -1 where it is not selected.
func (l *loader) find(s *selection, values []string) int32 {
	l.keyOf(s, values)
	i, ok := l.index[string(l.key)]
	if ok {
		return i
	}
	l.used.Add(int64(len(l.key)) + 64)
	i = -1
	key := string(l.key)
	if s.matches(values) {
		i = l.group(s, values)
	}
	l.index[key] = i
	return i
}

// keyOf makes key that of a series.
func (l *loader) keyOf(s *selection, values []string) {
	l.key = append(l.key[:0], byte(s.index>>8), byte(s.index))
	for _, v := range values {
		l.key = append(append(l.key, v...), 0xff)
	}
}

// group is the series that the one of these values is or is added to.
func (l *loader) group(s *selection, values []string) int32 {
	if s.summed {
		l.key = append(l.key[:0], byte(s.index>>8), byte(s.index))
		for _, v := range s.by {
			l.key = append(append(l.key, values[v]...), 0xff)
		}
		if i, ok := l.groups[string(l.key)]; ok {
			return i
		}
		l.groups[string(l.key)] = int32(len(l.series))
	}
	l.series = append(l.series, &series{labels: s.identity(&l.builder, values), clock: &l.clock})
	l.used.Add(int64(seriesBytes + len(l.key)))
	return int32(len(l.series) - 1)
}

// bound refuses what takes too much memory, or is going to.
func (l *loader) bound(now int) error {
	most := l.opts.MaxMemory
	used := l.used.Load()
	if most <= 0 || used+int64(len(l.live)*max(0, l.hours-now))*8 <= most {
		return nil
	}
	return fmt.Errorf("%w: %d series of up to %d hours take more than --query.max-memory (%d MB): select fewer by labels, ask for a shorter range, or sum them by fewer labels in the innermost expression",
		allocation.ErrTooMuch, len(l.series), l.hours, most>>20)
}
