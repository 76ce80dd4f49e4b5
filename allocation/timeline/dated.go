package timeline

import (
	"cmp"
	"slices"
)

// Dated are the values that something had, such as maps of labels, each with when it was seen. Only changes are kept.
type Dated[T comparable] []DatedValue[T]

// DatedValue is a value and when it was seen.
type DatedValue[T comparable] struct {
	Interval
	Value T
}

// Add notes when a value was seen.
func (d *Dated[T]) Add(value T, seen Steps) {
	for _, x := range seen {
		if i := slices.IndexFunc(*d, func(o DatedValue[T]) bool { return o.Value == value && o.From <= x.To && x.From <= o.To }); i >= 0 {
			(*d)[i].From, (*d)[i].To = min((*d)[i].From, x.From), max((*d)[i].To, x.To)
			continue
		}
		*d = append(*d, DatedValue[T]{Interval{From: x.From, To: x.To}, value})
	}
}

// Within is what was seen within (from, to].
func (d Dated[T]) Within(from, to int64) (out Dated[T]) {
	for _, x := range d {
		if x.From, x.To = max(x.From, from), min(x.To, to); x.From < x.To {
			out = append(out, x)
		}
	}
	return out
}

// At is the value at t: of those seen before, the one that was seen last, and of several the one that came last; else the one that
// is seen first. It is the zero value where there is none.
func (d Dated[T]) At(t int64) (value T) {
	var best *DatedValue[T]
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
		value = best.Value
	}
	return value
}

// Latest is a value of which the last reported wins.
type Latest[T any] struct {
	Value T
	At    int64 // 0 where it is not known
}

// Known reports whether any value was reported.
func (l *Latest[T]) Known() bool { return l.At != 0 }

// Set takes a value that was reported at a time.
func (l *Latest[T]) Set(v T, at int64) {
	if !l.Known() || at >= l.At {
		l.Value, l.At = v, cmp.Or(at, 1)
	}
}

// Hold is how long what was seen holds: also before and after, for most at most, as far as nothing else was seen, and nobody watched
// for longer than near.
func (d Dated[T]) Hold(x Interval, watched Intervals, near, most int64) Interval {
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

// Unless is l, unknown where its value is wrong.
func (l Latest[T]) Unless(wrong func(T) bool) Latest[T] {
	if l.Known() && wrong(l.Value) {
		return Latest[T]{}
	}
	return l
}
