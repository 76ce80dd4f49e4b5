// Package expected says what a day should cost by the days before it, how unusual a cost is, and what a period will come to
// (SEMANTICS §11).
//
// It looks at one key at a time, and knows neither sets nor sources. Growth is not extrapolated. Medians do not add: what all keys
// together are expected to cost is not the sum of what each is expected to.
package expected

import (
	"math"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// Horizon is how many days before a day decide what it should cost: four weeks.
const Horizon = 28

// Unusual is the score from which on a cost is unusual, if no other is asked for.
const Unusual = 4

const (
	week = 7
	// leastDays is how many days there have to be for a median.
	leastDays = 4
	// deviation makes of a median absolute deviation what a standard deviation is where costs are normally distributed.
	deviation = 1.4826
	// leastRatio and leastSpread bound a spread from below: as a part of the expected cost, and in currency.
	leastRatio, leastSpread = 0.05, 0.01
)

// Day is a past day of a key.
type Day struct {
	// Cost is what the key cost on the day, or in those of its hours that are compared; 0 where it did not run.
	Cost float64
	// Known says that there are data of the day. A day without data is no day without cost.
	Known bool
}

// Past are the days before a day, the last one first. Of more than Horizon days, the first count.
type Past [Horizon]Day

// Like returns the costs of the days that a day is expected to be like: those of the same weekday in four weeks, or else those of the last
// seven days. The day is so many days after the one that the days are before. It returns nil where fewer than four days are known. A
// key begins with the first day on which it costs something: what it did not cost before says nothing.
func (p *Past) Like(ahead int) []float64 {
	begun := Horizon
	for begun > 0 && (!p[begun-1].Known || p[begun-1].Cost == 0) {
		begun--
	}
	costs := make([]float64, 0, week)
	add := func(ago int) {
		if ago < begun && p[ago].Known {
			costs = append(costs, p[ago].Cost)
		}
	}
	for ago := week - 1 - ahead%week; ago < Horizon; ago += week {
		add(ago)
	}
	if len(costs) >= leastDays {
		return costs
	}
	costs = costs[:0]
	for ago := range week {
		add(ago)
	}
	if len(costs) >= leastDays {
		return costs
	}
	return nil
}

// Cost is what a day should cost. Both are in currency.
type Cost struct {
	Expected float64
	Spread   float64 // how far off costs usually are, at least a cent
}

// Of returns what a day should cost that is like days of these costs. ok is false where there are none.
func Of(like []float64) (c Cost, ok bool) {
	if len(like) == 0 {
		return Cost{}, false
	}
	c.Expected = median(like)
	off := make([]float64, len(like))
	for i, v := range like {
		off[i] = math.Abs(v - c.Expected)
	}
	c.Spread = max(deviation*median(off), leastRatio*math.Abs(c.Expected), leastSpread)
	return c, true
}

// Score returns how many spreads a cost is above what is expected, or below if it is negative.
func (c Cost) Score(cost float64) float64 { return (cost - c.Expected) / c.Spread }

// median returns the median of one or more values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Before returns the day that is so many days before that of the instant before end, up to the same time of the clock.
func Before(end time.Time, days int, zone *time.Location) allocation.Window {
	w := allocation.Window{Start: dayBefore(end, days, zone), End: dayBefore(end, days-1, zone)}
	if clock := end.In(zone); !end.Equal(dayBefore(end, -1, zone)) {
		y, m, d := w.Start.Date()
		w.End = time.Date(y, m, d, clock.Hour(), clock.Minute(), 0, 0, zone)
	}
	if days == 0 {
		w.End = end
	}
	return w
}

// dayBefore is the beginning of the day that is so many days before that of the instant before t.
func dayBefore(t time.Time, days int, zone *time.Location) time.Time {
	y, m, d := t.Add(-1).In(zone).Date()
	return allocation.StartOfDay(y, m, d-days, zone)
}

// leastCovered is the part of its hours that has to have data for the cost of a day to count.
const leastCovered = 0.9

// Known reports whether data cover enough of a window for its cost to be compared: of all of it together, and of each cluster in the part of it
// that lies within that cluster's data. The list is a coverage.Join.
func Known(w allocation.Window, covered []allocation.Covered) bool {
	if c := coverage.Measure(w, covered, time.Time{}); c.Hours < leastCovered*c.Window {
		return false
	}
	for len(covered) > 0 {
		n := 1
		for n < len(covered) && covered[n].Cluster == covered[0].Cluster {
			n++
		}
		own, part := covered[:n], w
		if covered = covered[n:]; own[0].Start.After(part.Start) {
			part.Start = own[0].Start
		}
		if last := own[n-1].End; last.Before(part.End) {
			part.End = last
		}
		if c := coverage.Measure(part, own, time.Time{}); c.Hours < leastCovered*c.Window {
			return false
		}
	}
	return true
}
