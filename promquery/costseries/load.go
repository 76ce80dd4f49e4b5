package costseries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// loader makes the series of selections, hour by hour.
type loader struct {
	*querier
	selected []*selection
	only     *allocation.Projection
	window   allocation.Window // of the hours that are needed, empty for none
	// hour takes an hour, or why it cannot be had.
	hour    func(context.Context, *allocation.Set, error) error
	again   time.Time // hours before are not needed any more
	series  []*series
	clock   []int64
	hours   int     // at most, from the next on
	live    []int32 // series that have a sample at the last time
	touched []int32 // and those that have one by now
	looked  int     // series that were emitted, where they are not read
	used    int64   // bytes that the series take
	drawn   int64   // bytes of memory drawn for them
	refused error   // why no series are made any more
	builder labels.ScratchBuilder
	told    notes
	// spendings tells how budgets stood; nil before it is wanted.
	spendings func(context.Context, time.Time) (*allocation.Spending, error)
}

func (q *querier) loader(selected []*selection) *loader {
	return &loader{querier: q, selected: selected, only: projection(selected), used: int64(len(selected)) * selectionBytes}
}

// prepare says what hours have their samples from mint to maxt; of counters, also those before since their month began.
func (l *loader) prepare(mint, maxt int64, counting bool) error {
	l.window, l.told.window = l.querier.window(mint, maxt), l.asked(mint, maxt)
	if !l.window.Start.Before(l.window.End) {
		return nil
	}
	if err := checkHours(l.window); err != nil {
		return err
	}
	l.hours = int(l.window.Duration()/time.Hour) + 1
	l.hour = l.gauges
	if counting {
		l.window.Start, l.told.counting = l.firstOfMonth(l.window), true
		l.hour = (&counter{loader: l, since: mint}).hour
	}
	return nil
}

// firstOfMonth is when the month began of the first hour of a window.
func (l *loader) firstOfMonth(w allocation.Window) time.Time {
	return l.month(w.Start.Add(time.Hour - time.Millisecond))
}

// shown is when an hour is shown, in Unix milliseconds.
func (l *loader) shown(set *allocation.Set) int64 {
	return set.Window.End.Add(l.opts.Grace).UnixMilli()
}

// gauges adds the samples of an hour, and ends the series that have none in it.
func (l *loader) gauges(ctx context.Context, set *allocation.Set, err error) error {
	if err != nil {
		return nil //nolint:nilerr // it is told of, and the series go on after it
	}
	l.clock = append(l.clock, l.shown(set))
	if err := l.emit(ctx, set, l.put); err != nil {
		return err
	}
	l.end()
	return l.bound(ctx)
}

// emit emits what the selections have of a set: the series and a value, which is a part of it where series are summed.
func (l *loader) emit(ctx context.Context, set *allocation.Set, emit func(i int32, v float64)) error {
	var spending *allocation.Totals
	for _, s := range l.selected {
		take := func(n int, values []string, v float64) {
			if i := l.numbered(ctx, s, n, values); i != unselected {
				emit(i, v)
			}
		}
		emitLabels := func(values []string, v float64) {
			if s.matches(values) {
				take(s.number(values), values, v)
			}
		}
		switch {
		case s.set != nil:
			s.set(l.Queryable, set, emitLabels)
		case s.budget:
			if spending == nil {
				at, err := l.spending(ctx, time.UnixMilli(l.shown(set)))
				if err != nil && !errors.Is(err, allocation.ErrNoData) {
					return fmt.Errorf("read costs: %w", err)
				}
				l.told.budgets(set.Window, at)
				spending = at.Totals()
			}
			s.of.Emit(spending, func(_ int, values []string, v float64) { emitLabels(values, v) })
		default:
			s.reader.Read(set, func(n int, v float64) { take(n, s.reader.Labels(n), v) })
		}
		if l.refused != nil {
			return l.refused
		}
	}
	return nil
}

// spending is how the budgets stood at an instant of the query's.
func (l *loader) spending(ctx context.Context, at time.Time) (s *allocation.Spending, err error) {
	if l.spendings == nil {
		w := l.querier.window(l.mint, l.maxt)
		if l.spendings, err = l.sets.SpendingsIn(ctx, allocation.Window{Start: w.Start, End: w.End.Add(l.opts.Grace)}); err != nil {
			return nil, err
		}
	}
	return l.spendings(ctx, at)
}

// What is drawn for a selection, and for a series besides its samples, which holds its labels several times.
const (
	selectionBytes = 5000
	seriesBytes    = 600
	labelTimes     = 3
	drawnAtOnce    = 64 << 10
)

// unselected is the number of a series that is read, but not selected.
const unselected int32 = -1

// numbered is the series of a number of a selection, which are given one after the other. It makes none for which there is no memory.
func (l *loader) numbered(ctx context.Context, s *selection, n int, values []string) int32 {
	if n < len(s.numbers) {
		return s.numbers[n]
	}
	if l.refused != nil {
		return unselected
	}
	if len(s.any) > 1 && !s.matches(values) {
		s.numbers = append(s.numbers, unselected)
		return unselected
	}
	i := int32(len(l.series))
	of := s.identity(&l.builder, values)
	s.numbers, l.series = append(s.numbers, i), append(l.series, &series{labels: of, clock: &l.clock})
	if l.used += seriesBytes + labelTimes*int64(of.ByteSize()); l.used-l.drawn > drawnAtOnce {
		l.refused = l.draw(ctx, l.used)
	}
	return i
}

// put adds a sample to a series at the last time that there is by now.
func (l *loader) put(i int32, v float64) {
	s, now := l.series[i], len(l.clock)-1
	if len(s.values) == 0 || s.last != now {
		l.touched = append(l.touched, i)
		if len(s.values) == cap(s.values) {
			l.used += int64(s.grow(l.hours - now))
		}
	}
	s.put(now, v)
}

// end puts stale markers where series had a sample before and have none now.
func (l *loader) end() {
	now := len(l.clock) - 1
	for _, i := range l.live {
		if s := l.series[i]; s.last != now {
			s.put(now, stale)
		}
	}
	l.live, l.touched = l.touched, l.live[:0]
}

// bound draws what the series take by now, and what their samples of the hours to come will take.
func (l *loader) bound(ctx context.Context) error {
	return l.draw(ctx, l.used+int64(len(l.live)*max(0, l.hours-len(l.clock)))*8)
}

// draw draws so many bytes in all.
func (l *loader) draw(ctx context.Context, bytes int64) error {
	if err := memory.Of(ctx).Draw(bytes - l.drawn); err != nil {
		return fmt.Errorf("load %d series of up to %d hours: %w", len(l.series), l.hours, err)
	}
	l.drawn = bytes
	return nil
}
