package costseries

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/metering"
)

// loader makes the series of selections of one kind, gauges or counters, hour by hour.
type loader struct {
	*querier
	selected []*selection
	only     *allocation.Projection
	window   allocation.Window // of the hours that are needed, empty for none
	// hour takes an hour, or the error that it could not be read with.
	hour    func(context.Context, *allocation.Set, error) error
	resume  time.Time // hours before are not needed
	series  []*series
	clock   []int64
	hours   int     // at most, in all
	live    []int32 // series that have a sample at the last time of the clock
	touched []int32 // series that have a sample at the time that is being added
	found   int     // values that were emitted while only labels are wanted
	used    int64   // bytes that the series take
	drawn   int64   // bytes of memory drawn for them
	refused error   // set once there is no memory for further series
	builder labels.ScratchBuilder
	warn    warnings
	// spendings gives the state of the budgets; nil before the first use.
	spendings func(context.Context, time.Time) (*metering.Spending, error)
	// outlooks gives what subjects should cost; nil before the first use.
	outlooks func(context.Context, time.Time) (*metering.Outlook, error)
}

func (q *querier) loader(selected []*selection) *loader {
	return &loader{querier: q, selected: selected, only: projection(selected), used: int64(len(selected)) * selectionBytes}
}

// prepare chooses the hours whose samples are between mint and maxt. Counters need all hours since their month began.
func (l *loader) prepare(mint, maxt int64, of kind) error {
	l.window, l.warn.window, l.warn.kind = l.querier.window(mint, maxt), l.asked(mint, maxt), of
	if !l.window.Start.Before(l.window.End) {
		return nil
	}
	if err := checkHours(l.window); err != nil {
		return err
	}
	l.hours = int(l.window.Duration()/time.Hour) + 1
	l.hour = l.gauges
	if of == counters {
		l.window.Start = l.firstOfMonth(l.window)
		l.hour = (&counter{loader: l, since: mint}).hour
	}
	return nil
}

// firstOfMonth is the beginning of the month of the first hour of a window.
func (l *loader) firstOfMonth(w allocation.Window) time.Time {
	return l.month(w.Start.Add(time.Hour - time.Millisecond))
}

// shown is the time at which an hour is shown, in Unix milliseconds.
func (l *loader) shown(set *allocation.Set) int64 {
	return set.Window.End.Add(l.opts.Grace).UnixMilli()
}

// gauges adds the samples of an hour, and ends the series that have none in it.
func (l *loader) gauges(ctx context.Context, set *allocation.Set, err error) error {
	if err != nil {
		return nil //nolint:nilerr // the warnings have it, and the series go on after it
	}
	l.clock = append(l.clock, l.shown(set))
	if err := l.emit(ctx, set, l.put); err != nil {
		return err
	}
	l.markEnds()
	return l.drawAhead(ctx)
}

// emit calls emit for the series of the selections in a set, with a value. Where series are summed, it is called for each part
// of a sum.
func (l *loader) emit(ctx context.Context, set *allocation.Set, emit func(i int32, v float64)) error {
	var spending *metering.Totals
	for _, s := range l.selected {
		take := func(n int, values []string, v float64) {
			if i := l.seriesOf(ctx, s, n, values); i != unselected {
				emit(i, v)
			}
		}
		emitLabels := func(values []string, v float64) {
			if s.matches(values) {
				take(s.number(values), values, v)
			}
		}
		switch {
		case s.histograms != nil:
			s.histograms.emit(set, func(values []string, h *histogram.FloatHistogram) {
				if s.matches(values) {
					if i := l.seriesOf(ctx, s, s.number(values), values); i != unselected {
						l.putHistogram(i, h)
					}
				}
			})
		case s.set != nil:
			s.set(set, emitLabels)
		case s.budget:
			if spending == nil {
				at, err := l.spending(ctx, time.UnixMilli(l.shown(set)))
				if err != nil && !errors.Is(err, allocation.ErrNoData) {
					return fmt.Errorf("read costs: %w", err)
				}
				l.warn.budgets(set.Window, at)
				spending = at.Totals()
			}
			s.row.Emit(spending, func(_ int, values []string, v float64) { emitLabels(values, v) })
		case s.expects:
			outlook, err := l.outlook(ctx, time.UnixMilli(l.shown(set)))
			if err != nil && !errors.Is(err, allocation.ErrNoData) {
				return fmt.Errorf("read costs: %w", err)
			}
			s.row.Emit(outlook.Totals(s.subject), func(_ int, values []string, v float64) { emitLabels(values, v) })
		default:
			s.reader.Read(set, func(n int, v float64) { take(n, s.reader.Labels(n), v) })
		}
		if l.refused != nil {
			return l.refused
		}
	}
	return nil
}

// spending is the state of the budgets at an instant of the query.
func (l *loader) spending(ctx context.Context, at time.Time) (s *metering.Spending, err error) {
	if l.spendings == nil {
		w := l.querier.window(l.mint, l.maxt)
		if l.spendings, err = l.sets.SpendingsIn(ctx, allocation.Window{Start: w.Start, End: w.End.Add(l.opts.Grace)}); err != nil {
			return nil, err
		}
	}
	return l.spendings(ctx, at)
}

// outlook is what subjects should have cost by an instant of the query.
func (l *loader) outlook(ctx context.Context, at time.Time) (o *metering.Outlook, err error) {
	if l.outlooks == nil {
		w := l.querier.window(l.mint, l.maxt)
		subjects := map[string]metering.Subject{}
		for _, s := range l.selected {
			if s.expects {
				subjects[s.subject.Name] = *s.subject
			}
		}
		if l.outlooks, err = l.opts.Outlooks(ctx, allocation.Window{Start: w.Start, End: w.End.Add(l.opts.Grace)}, slices.Collect(maps.Values(subjects))...); err != nil {
			return nil, err
		}
	}
	return l.outlooks(ctx, at)
}

// Bytes that are drawn for a selection, and for a series besides its samples. A series holds its labels several times.
const (
	selectionBytes = 5000
	seriesBytes    = 600
	labelTimes     = 3
	drawnAtOnce    = 64 << 10
)

// unselected is the number of a series that is read, but not selected.
const unselected int32 = -1

// seriesOf is the series that has a number within a selection, or unselected. Numbers come in ascending order, and the first use
// of one makes the series, if there is memory for it.
func (l *loader) seriesOf(ctx context.Context, s *selection, n int, values []string) int32 {
	if n < len(s.series) {
		return s.series[n]
	}
	if l.refused != nil {
		return unselected
	}
	if len(s.selectors) > 1 && !s.matches(values) {
		s.series = append(s.series, unselected)
		return unselected
	}
	i := int32(len(l.series))
	own := s.labelSet(&l.builder, values)
	s.series, l.series = append(s.series, i), append(l.series, &series{labels: own, clock: &l.clock})
	if l.used += seriesBytes + labelTimes*int64(own.ByteSize()); l.used-l.drawn > drawnAtOnce {
		l.refused = l.draw(ctx, l.used)
	}
	return i
}

// put adds a sample to a series at the last time of the clock.
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

// markEnds puts stale markers where series had a sample at the time before and have none now.
func (l *loader) markEnds() {
	now := len(l.clock) - 1
	for _, i := range l.live {
		if s := l.series[i]; s.last != now {
			s.put(now, stale)
		}
	}
	l.live, l.touched = l.touched, l.live[:0]
}

// drawAhead draws what the series take by now, and what their samples of the hours to come will take.
func (l *loader) drawAhead(ctx context.Context) error {
	return l.draw(ctx, l.used+int64(len(l.live)*max(0, l.hours-len(l.clock)))*8)
}

// draw changes the memory drawn to the given bytes.
func (l *loader) draw(ctx context.Context, bytes int64) error {
	if err := memory.FromContext(ctx).Draw(bytes - l.drawn); err != nil {
		return fmt.Errorf("load %d series of up to %d hours: %w", len(l.series), l.hours, err)
	}
	l.drawn = bytes
	return nil
}
