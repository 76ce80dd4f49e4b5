package build

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation/timeline"
)

// dated are the values that something had, such as maps of labels, each with when it was seen. Only changes are kept.
type dated[T comparable] []datedValue[T]

// datedValue is a value and when it was seen.
type datedValue[T comparable] struct {
	timeline.Interval
	value T
}

// add notes when a value was seen.
func (d *dated[T]) add(value T, seen timeline.Steps) {
	for _, x := range seen {
		if i := slices.IndexFunc(*d, func(o datedValue[T]) bool { return o.value == value && o.From <= x.To && x.From <= o.To }); i >= 0 {
			(*d)[i].From, (*d)[i].To = min((*d)[i].From, x.From), max((*d)[i].To, x.To)
			continue
		}
		*d = append(*d, datedValue[T]{timeline.Interval{From: x.From, To: x.To}, value})
	}
}

// within is what was seen within (from, to].
func (d dated[T]) within(from, to int64) (out dated[T]) {
	for _, x := range d {
		if x.From, x.To = max(x.From, from), min(x.To, to); x.From < x.To {
			out = append(out, x)
		}
	}
	return out
}

// at is the value at t: of those seen before, the one that was seen last, and of several the one that came last; else the one that
// is seen first. It is the zero value where there is none.
func (d dated[T]) at(t int64) (value T) {
	var best *datedValue[T]
	for i := range d {
		x := &d[i]
		switch {
		case best == nil:
			best = x
		case x.From >= t || best.From >= t:
			if x.From < best.From {
				best = x
			}
		case min(x.To, t) > min(best.To, t), min(x.To, t) == min(best.To, t) && x.From >= best.From:
			best = x
		}
	}
	if best != nil {
		value = best.value
	}
	return value
}

// latest is a value of which the last reported wins.
type latest[T any] struct {
	value T
	at    int64 // 0 where it is not known
}

// known reports whether any value was reported.
func (l *latest[T]) known() bool { return l.at != 0 }

// set takes a value that was reported at a time.
func (l *latest[T]) set(v T, at int64) {
	if !l.known() || at >= l.at {
		l.value, l.at = v, cmp.Or(at, 1)
	}
}

// hold is how long what was seen holds: also before and after, for most at most, as far as nothing else was seen, and nobody watched
// for longer than near.
func (d dated[T]) hold(x timeline.Interval, watched timeline.Intervals, near, most int64) timeline.Interval {
	before, after := x.From-most, x.To+most
	for _, o := range d {
		if o.To <= x.From {
			before = max(before, min(o.To+most, x.From)) // what was seen before holds until then
		}
		if o.From >= x.To {
			after = min(after, o.From)
		}
	}
	if watched.Clip(before, x.From).Length() <= near {
		x.From = before
	}
	if watched.Clip(x.To, after).Length() <= near {
		x.To = after
	}
	return x
}

// unless is l, unknown where its value is wrong.
func (l latest[T]) unless(wrong func(T) bool) latest[T] {
	if l.known() && wrong(l.value) {
		return latest[T]{}
	}
	return l
}
