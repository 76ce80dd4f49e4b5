package timeline

import (
	"slices"
	"sort"
)

// Step is a value that holds on (From, To].
type Step struct {
	From, To int64
	V        float64
}

// Steps are a function of time: sorted, without overlap, absent in the gaps between them. Only changes are kept.
type Steps []Step

// add appends (from, to] = v after the last step, joining it where nothing changes.
func (s Steps) add(from, to int64, v float64) Steps {
	if n := len(s); n > 0 {
		last := &s[n-1]
		from = max(from, last.To)
		if from >= to {
			return s
		}
		if last.To == from && last.V == v {
			last.To = to
			return s
		}
	}
	if from >= to {
		return s
	}
	return append(s, Step{from, to, v})
}

// index is the position of the first step that ends at or after t.
func (s Steps) index(t int64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].To >= t })
}

// At is the value at t and whether there is one.
func (s Steps) At(t int64) (float64, bool) {
	if i := s.index(t); i < len(s) && s[i].From < t {
		return s[i].V, true
	}
	return 0, false
}

// Value is the value at t, 0 where there is none.
func (s Steps) Value(t int64) float64 {
	v, _ := s.At(t)
	return v
}

// Reach extends the values of s into its gaps, and before and after it, by up to most: by the value before, or else the value
// after. So the value at an instant only depends on values within most of it.
func (s Steps) Reach(most int64) Steps {
	var out Steps
	for i, x := range s {
		to := x.To + most
		if i+1 < len(s) {
			to = min(to, s[i+1].From)
		}
		out = out.add(x.From-most, to, x.V)
	}
	return out
}

// Around returns the steps of s that are at most most from t, at least in part.
func (s Steps) Around(t, most int64) Steps {
	first := sort.Search(len(s), func(i int) bool { return s[i].To >= t-most })
	s = s[first:]
	return s[:sort.Search(len(s), func(i int) bool { return s[i].From > t+most })]
}

// IsZero reports whether s is 0 or absent at all times.
func (s Steps) IsZero() bool { return !slices.ContainsFunc(s, func(x Step) bool { return x.V != 0 }) }

// LengthWithin is for how long s is neither 0 nor absent within (from, to].
func (s Steps) LengthWithin(from, to int64) (sum int64) {
	for i := range s {
		if x := &s[i]; x.V != 0 {
			sum += max(0, min(x.To, to)-max(x.From, from))
		}
	}
	return sum
}

// Edges appends the instants at which s changes to dst.
func (s Steps) Edges(dst []int64) []int64 {
	for _, x := range s {
		dst = append(dst, x.From, x.To)
	}
	return dst
}

// Varies reports whether steps have more than one value.
func (s Steps) Varies() bool {
	return slices.ContainsFunc(s, func(x Step) bool { return x.V != s[0].V })
}

// NotNegative is s without the steps of values below 0.
func (s Steps) NotNegative() Steps {
	if !slices.ContainsFunc(s, func(x Step) bool { return x.V < 0 }) {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), func(x Step) bool { return x.V < 0 })
}

// Between returns the steps of s whose values are from least to most.
func (s Steps) Between(least, most float64) Steps {
	return slices.DeleteFunc(slices.Clone(s), func(x Step) bool { return x.V < least || x.V > most })
}

// Positive is s without the steps of values of 0 and below.
func (s Steps) Positive() Steps {
	return slices.DeleteFunc(slices.Clone(s), func(x Step) bool { return x.V <= 0 })
}

// NextInstant returns the first instant after t of those that s has as values, in Unix seconds. It is Forever if there is none.
func (s Steps) NextInstant(t int64) int64 {
	next := int64(Forever)
	for _, x := range s {
		if at := int64(x.V * 1000); at > t {
			next = min(next, at)
		}
	}
	return next
}

// combine is the function that is f of a and b piece by piece; f gets which of both are present, and says whether there is a
// value.
func combine(a, b Steps, f func(a, b float64, inA, inB bool) (float64, bool)) Steps {
	var few [8]Step
	return append(Steps(nil), appendCombined(few[:0], a, b, f)...)
}

// appendCombined appends the steps of combine to dst, which is empty.
func appendCombined(dst, a, b Steps, f func(a, b float64, inA, inB bool) (float64, bool)) Steps {
	for at := int64(Unborn); len(a) > 0 || len(b) > 0; {
		va, inA, nextA := a.from(at)
		vb, inB, nextB := b.from(at)
		next := min(nextA, nextB)
		if inA || inB {
			if v, ok := f(va, vb, inA, inB); ok {
				dst = dst.add(at, next, v)
			}
		}
		at, a, b = next, a.endingAfter(next), b.endingAfter(next)
	}
	return dst
}

// from is the value of s just after at, whether there is one, and until when neither changes. No step of s ends by at.
func (s Steps) from(at int64) (v float64, in bool, until int64) {
	switch {
	case len(s) == 0:
		return 0, false, Forever
	case s[0].From > at:
		return 0, false, s[0].From
	}
	return s[0].V, true, s[0].To
}

// endingAfter is s without the steps at its beginning that end at t or before.
func (s Steps) endingAfter(t int64) Steps {
	for len(s) > 0 && s[0].To <= t {
		s = s[1:]
	}
	return s
}

// Overlay returns a where it is present and b elsewhere: the first alternative with data wins.
func Overlay(a, b Steps) Steps {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	var few [8]Step
	out := appendCombined(few[:0], a, b, func(va, vb float64, inA, _ bool) (float64, bool) {
		if inA {
			return va, true
		}
		return vb, true
	})
	if a.same(out) {
		return a
	}
	return append(Steps(nil), out...)
}

// Max returns the larger of a and b where both are present, otherwise the present one. Duplicates count once.
func Max(a, b Steps) Steps {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	case a[len(a)-1].To <= b[0].From:
		out := append(make(Steps, 0, len(a)+len(b)), a...)
		for _, x := range b {
			out = out.add(x.From, x.To, x.V)
		}
		return out
	}
	return combine(a, b, larger)
}

// larger is the larger of two values, of which at least one is present.
func larger(a, b float64, inA, inB bool) (float64, bool) {
	switch {
	case inA && inB:
		return max(a, b), true
	case inA:
		return a, true
	}
	return b, true
}

// Disputed is for how long a and b are both present with values that differ, by more than rounding, in milliseconds.
func Disputed(a, b Steps) (sum int64) {
	const rounding = 1e-9
	if len(a) == 0 || len(b) == 0 || a[len(a)-1].To <= b[0].From {
		return 0
	}
	apart := combine(a, b, func(va, vb float64, inA, inB bool) (float64, bool) {
		return 1, inA && inB && max(va-vb, vb-va) > rounding*max(va, vb)
	})
	for i := range apart {
		sum += apart[i].To - apart[i].From
	}
	return sum
}

// Sum returns a + b. An absent value counts as 0.
func Sum(a, b Steps) Steps {
	if len(a) == 0 {
		return b
	}
	return combine(a, b, func(va, vb float64, _, _ bool) (float64, bool) { return va + vb, true })
}

// Above is a where it is larger than b, by more than rounding. An absent b counts as 0.
func Above(a, b Steps) Steps {
	const rounding = 1e-9
	return combine(a, b, func(va, vb float64, inA, _ bool) (float64, bool) { return va, inA && va > vb*(1+rounding) })
}

// Cover reports whether s has a value at every instant of life.
func (s Steps) Cover(life Intervals) bool {
	var known Intervals
	for _, x := range s {
		known = append(known, Interval{x.From, x.To})
	}
	known = Union(known)
	for _, x := range life {
		if known.Clip(x.From, x.To).Length() < x.To-x.From {
			return false
		}
	}
	return true
}

// Interval is the stretch (From, To] of time.
type Interval struct{ From, To int64 }

// Intervals are sorted and disjoint.
type Intervals []Interval

// Mask is 1 within s.
func Mask(s Intervals) Steps {
	out := make(Steps, 0, len(s))
	for _, x := range s {
		out = append(out, Step{x.From, x.To, 1})
	}
	return out
}

// Bounds are the first and the last instant of s, which is not empty.
func (s Intervals) Bounds() (from, to int64) { return s[0].From, s[len(s)-1].To }

// Length is the time covered.
func (s Intervals) Length() int64 {
	sum := int64(0)
	for _, x := range s {
		sum += x.To - x.From
	}
	return sum
}

// Edges appends the instants at which s begins or ends to dst.
func (s Intervals) Edges(dst []int64) []int64 {
	for _, x := range s {
		dst = append(dst, x.From, x.To)
	}
	return dst
}

// Find is the interval that contains t, and whether there is one.
func (s Intervals) Find(t int64) (Interval, bool) {
	i := sort.Search(len(s), func(i int) bool { return s[i].To >= t })
	if i < len(s) && s[i].From < t {
		return s[i], true
	}
	return Interval{}, false
}

// With returns s with another interval, which mostly lies within one of s.
func (s Intervals) With(x Interval) Intervals {
	if in, ok := s.Find(x.To); ok && x.From >= in.From {
		return s
	}
	return Union(append(s, x))
}

// Clip is the part of s inside (from, to]. It is s itself if that is all of it: do not write to it while s is in use.
func (s Intervals) Clip(from, to int64) Intervals {
	cut := func(x Interval) bool { return x.From < from || x.To > to || x.From >= x.To }
	if !slices.ContainsFunc(s, cut) { // mostly
		return slices.Clip(s)
	}
	var out Intervals
	for _, x := range s {
		if a, b := max(x.From, from), min(x.To, to); a < b {
			out = append(out, Interval{a, b})
		}
	}
	return out
}

// Without returns the parts of s that other does not cover.
func (s Intervals) Without(other Intervals) (out Intervals) {
	for _, x := range s {
		out = appendComplement(out, other, x.From, x.To)
	}
	return out
}

// Union merges intervals given in any order; they are sorted in place, and one alone is returned as it is.
func Union(all Intervals) Intervals {
	if len(all) == 1 {
		return slices.Clip(all) // often
	}
	slices.SortFunc(all, func(a, b Interval) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	var out Intervals
	for _, x := range all {
		if n := len(out); n > 0 && x.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, x.To)
			continue
		}
		out = append(out, x)
	}
	return out
}

// Joined returns s with its shortest gaps filled, so that at most most intervals are left.
func (s Intervals) Joined(most int) Intervals {
	if len(s) <= most {
		return s
	}
	gaps := make([]int64, 0, len(s))
	for i := range s[1:] {
		gaps = append(gaps, s[i+1].From-s[i].To)
	}
	slices.Sort(gaps)
	filled := gaps[len(gaps)-most]
	out := Intervals{s[0]}
	for _, x := range s[1:] {
		if last := &out[len(out)-1]; x.From-last.To <= filled {
			last.To = x.To
		} else {
			out = append(out, x)
		}
	}
	return out
}

// Gathered joins intervals, given in any order, that are at most within apart, and twice as far as long as more than most are left.
func (s Intervals) Gathered(within int64, most int) Intervals {
	for ; ; within *= 2 {
		padded := make(Intervals, 0, len(s))
		for _, x := range s {
			padded = append(padded, Interval{x.From, x.To + within})
		}
		joined := Union(padded)
		for i := range joined {
			joined[i].To -= within
		}
		if len(joined) <= most {
			return joined
		}
	}
}

// Complement returns the parts of (from, to] that the sorted intervals do not cover.
func Complement(s Intervals, from, to int64) Intervals { return appendComplement(nil, s, from, to) }

// appendComplement appends a Complement.
func appendComplement(dst, s Intervals, from, to int64) Intervals {
	for _, x := range s {
		if x.From > from {
			dst = append(dst, Interval{from, min(x.From, to)})
		}
		if from = max(from, x.To); from >= to {
			return dst
		}
	}
	return append(dst, Interval{from, to})
}

// Within is s where mask is present and not 0.
func Within(s, mask Steps) Steps {
	return combine(s, mask, func(v, m float64, inS, inMask bool) (float64, bool) {
		return v, inS && inMask && m != 0
	})
}

// Without is s where mask is absent or 0.
func Without(s, mask Steps) Steps {
	return combine(s, mask, func(v, m float64, inS, _ bool) (float64, bool) { return v, inS && m == 0 })
}

// Quotient is s divided by another at the times at which both are above 0, times a factor.
func Quotient(s, by Steps, factor float64) Steps {
	return combine(s, by, func(v, n float64, inS, inBy bool) (float64, bool) {
		return v / n * factor, inS && inBy && v > 0 && n > 0
	})
}

// Apportioned is s divided by how many share it, where these are more than one.
func Apportioned(s, sharers Steps) Steps {
	return combine(s, sharers, func(v, n float64, inS, _ bool) (float64, bool) { return v / max(1, n), inS })
}
