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

// Add records when a value was seen.
func (d *Dated[T]) Add(value T, seen Steps) {
	if *d == nil {
		*d = make(Dated[T], 0, len(seen)) // mostly all of them
	}
	for _, x := range seen {
		if i := slices.IndexFunc(*d, func(o DatedValue[T]) bool { return o.Value == value && o.From <= x.To && x.From <= o.To }); i >= 0 {
			(*d)[i].From, (*d)[i].To = min((*d)[i].From, x.From), max((*d)[i].To, x.To)
			continue
		}
		*d = append(*d, DatedValue[T]{Interval{From: x.From, To: x.To}, value})
	}
}

// Within returns the observations within (from, to].
func (d Dated[T]) Within(from, to int64) (out Dated[T]) {
	for _, x := range d {
		if x.From, x.To = max(x.From, from), min(x.To, to); x.From < x.To {
			out = append(out, x)
		}
	}
	return out
}

// At returns the value at t: the latest one seen before t, and of several seen at that time the last one added; if there is
// none, the first one seen after t. Without observations it is the zero value.
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
	At    int64 // 0 where unknown
}

// Known reports whether any value was reported.
func (l *Latest[T]) Known() bool { return l.At != 0 }

// Set takes a value that was reported at a time.
func (l *Latest[T]) Set(v T, at int64) {
	if !l.Known() || at >= l.At {
		l.Value, l.At = v, cmp.Or(at, 1)
	}
}

// Hold returns for how long an observation holds. It also holds before and after x, for at most most, up to the next other
// observation, and not where nobody watched for longer than near.
func (d Dated[T]) Hold(x Interval, watched Intervals, near, most int64) Interval {
	before, after := x.From-most, x.To+most
	for _, o := range d {
		if o.To <= x.From {
			before = max(before, min(o.To+most, x.From)) // an earlier observation holds until then
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
