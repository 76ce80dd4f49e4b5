// Package timeline turns the samples of series into functions of time and integrates them.
//
// Samples become cells: stretches (From, To] of time over which a value holds. On a grid, the sample that a PromQL
// instant query sees at t owns (t-r, t]; in exact mode every raw sample owns the time since the one before it. From
// there on both modes are the same arithmetic. Times are Unix milliseconds, durations too, unless a name says otherwise.
// The definitions are those of SEMANTICS §2.
package timeline

import (
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"sort"
)

// staleBits is the bit pattern of Prometheus' staleness marker: the one NaN that means "this series has ended".
const staleBits uint64 = 0x7ff0000000000002

// IsStale reports whether v is Prometheus' staleness marker.
func IsStale(v float64) bool { return math.Float64bits(v) == staleBits }

// usable reports whether a sample's value can be computed with: neither a staleness marker nor NaN nor infinite.
func usable(v float64) bool { return v-v == 0 }

// Points are the samples of one series in strictly ascending time, staleness markers included. Samples of one value at equal
// distances are a run, so a source can pass on a constant chunk without decoding it. Samples of one value at times that jitter are
// a level: all times are stored, but most readers need only the first and the last, because a level says how far apart its
// samples are at most. The zero value is empty and ready; Reset keeps the memory for the next series.
type Points struct {
	t       []int64
	v       []float64
	spans   []span
	n       int
	sampled bool
	goesOn  bool
	series  uint64
}

// span is n adjacent samples of Points. A run has only first, step and value. A level has its times in t, from off on, and value; v
// holds nothing for it. Other samples are in t and v, from off on.
type span struct {
	n     int
	off   int
	run   bool
	level bool
	first int64   // of a run
	step  int64   // of a run; of a level at least the largest distance of its samples
	value float64 // of a run or level
}

// sample is the k-th sample.
func (s *span) sample(p *Points, k int) (t int64, v float64) {
	switch {
	case s.run:
		return s.first + int64(k)*s.step, s.value
	case s.level:
		return p.t[s.off+k], s.value
	}
	return p.t[s.off+k], p.v[s.off+k]
}

// unbroken reports whether the samples of s have one value and none is further than widest from the next. Then their first and last
// say all about the function of time.
func (s *span) unbroken(p *Points, widest int64) bool {
	return (s.run || s.level) && (s.n == 1 || s.step <= widest) && !p.sampled
}

func (s *span) last(p *Points) int64 {
	if s.run {
		return s.first + int64(s.n-1)*s.step
	}
	return p.t[s.off+s.n-1]
}

// Reset empties p and keeps its memory.
func (p *Points) Reset() {
	p.t, p.v, p.spans, p.n, p.sampled = p.t[:0], p.v[:0], p.spans[:0], 0, false
	p.goesOn, p.series = false, 0
}

// MarkSampled says that the points are answers of instant queries on the grid of the computation, not raw samples: each
// holds at its own time only, and the lookback has been applied by the server.
func (p *Points) MarkSampled() { p.sampled = true }

// MarkContinued says that later samples of the series follow in other points. The last value here is then not held beyond its sample,
// because only those points know until when it holds.
func (p *Points) MarkContinued() { p.goesOn = true }

// Continued reports whether MarkContinued was called.
func (p *Points) Continued() bool { return p.goesOn }

// Sampled reports whether MarkSampled was called.
func (p *Points) Sampled() bool { return p.sampled }

// seriesSeed makes the hashes of SeriesID.
var seriesSeed = maphash.MakeSeed()

// SeriesID returns a hash of a label's value that identifies a series while the process runs. It is 0 only for "".
func SeriesID(value string) uint64 {
	if value == "" {
		return 0
	}
	return max(1, maphash.String(seriesSeed, value))
}

// SetSeries sets the series of the points: the SeriesID of the label in which series of one key differ. Without it, the key
// alone identifies the series.
func (p *Points) SetSeries(id uint64) { p.series = id }

// Series returns the id given to SetSeries, 0 if there was none.
func (p *Points) Series() uint64 { return p.series }

// Append adds a sample. It ignores one that is not later than the last: of two samples at one time the first wins.
func (p *Points) Append(t int64, v float64) {
	if p.n > 0 && t <= p.Last() {
		return
	}
	p.tail()
	p.t, p.v = append(p.t, t), append(p.v, v)
	p.spans[len(p.spans)-1].n++
	p.n++
}

// tail makes sure that the last span takes explicit samples.
func (p *Points) tail() {
	if k := len(p.spans); k == 0 || p.spans[k-1].run || p.spans[k-1].level {
		p.spans = append(p.spans, span{off: len(p.t)})
	}
}

// AppendRun adds n samples of value v at first, first+step, …; samples not later than the last present one are ignored.
// step must be positive where n > 1.
func (p *Points) AppendRun(first, step int64, n int, v float64) {
	if p.n > 0 {
		if last := p.Last(); first <= last {
			if step <= 0 {
				return
			}
			skip := (last-first)/step + 1
			first, n = first+skip*step, n-int(skip)
		}
	}
	if n <= 0 {
		return
	}
	p.run(first, step, n, v)
	p.n += n
}

// run adds a run. It goes on with the last one if it can: a series comes in many chunks.
func (p *Points) run(first, step int64, n int, v float64) {
	if k := len(p.spans) - 1; k >= 0 {
		s := &p.spans[k]
		if s.run && s.step == step && first-s.last(p) == step && math.Float64bits(s.value) == math.Float64bits(v) {
			s.n += n
			return
		}
	}
	p.spans = append(p.spans, span{n: n, run: true, first: first, step: step, value: v})
}

// Extend adds n samples whose times and values the caller writes into the returned slices before any other call; the
// times must ascend from beyond Last. It lets a decoder write in place.
func (p *Points) Extend(n int) (t []int64, v []float64) {
	p.tail()
	at := len(p.t)
	p.t, p.v = slices.Grow(p.t, n)[:at+n], slices.Grow(p.v, n)[:at+n]
	p.spans[len(p.spans)-1].n += n
	p.n += n
	return p.t[at:], p.v[at:]
}

// Cut takes back the last n samples, all of them from the latest Extend: a decoder found fewer than it had made room for.
func (p *Points) Cut(n int) {
	k := len(p.spans) - 1
	p.t, p.v = p.t[:len(p.t)-n], p.v[:len(p.v)-n]
	p.n -= n
	if p.spans[k].n -= n; p.spans[k].n == 0 {
		p.spans = p.spans[:k]
	}
}

// Level declares that the first k of the last m samples have the value v, whatever was written for them, and that no two
// neighbors among these k are further apart than widest. All m samples must come from the latest Extend and must not be cut
// yet.
func (p *Points) Level(m, k int, widest int64, v float64) {
	if k <= 0 {
		return
	}
	off := p.takeBack(m)
	p.level(off, k, widest, v)
	if m > k {
		p.spans = append(p.spans, span{n: m - k, off: off + k})
	}
}

// takeBack takes the last m samples, which are no run or level, from the last span and returns where they lie.
func (p *Points) takeBack(m int) (off int) {
	last := &p.spans[len(p.spans)-1]
	if last.n -= m; last.n == 0 {
		p.spans = p.spans[:len(p.spans)-1]
	}
	return len(p.t) - m
}

// LevelEnd makes the last of the last m samples a level if at least so many have one value. All m samples must come from the
// latest Extend and be no level.
func (p *Points) LevelEnd(m, least int) {
	if m < least {
		return
	}
	end := len(p.v) - 1
	v, n := p.v[end], 1
	for n < m && math.Float64bits(p.v[end-n]) == math.Float64bits(v) {
		n++
	}
	if n < least {
		return
	}
	off, widest := p.takeBack(n), int64(0)
	for k := off + 1; k < len(p.t); k++ {
		widest = max(widest, p.t[k]-p.t[k-1])
	}
	p.level(off, n, widest, v)
}

// leastRun is how many samples of a level at equal distances are worth a run.
const leastRun = 8

// level adds the k samples from off on, which have the value v and of which no two neighbors are further apart than widest: as
// runs, where scrapes are only missing now and then, or else as a level.
func (p *Points) level(off, k int, widest int64, v float64) {
	for k > 0 {
		step, n := widest, k
		if p.t[off+k-1]-p.t[off] != int64(k-1)*widest { // not all distances are the widest
			step, n = p.t[off+1]-p.t[off], 2
			for n < k && p.t[off+n]-p.t[off+n-1] == step {
				n++
			}
		}
		if n < min(k, leastRun) {
			p.spans = append(p.spans, span{n: k, off: off, level: true, step: widest, value: v})
			return
		}
		p.run(p.t[off], step, n, v)
		off, k = off+n, k-n
	}
}

// Between makes dst the samples of p from one time to another, both inclusive. It shares the memory of p, and must not be
// appended to. If p is continued, dst is too if it has the last sample of p and the next one is due by to.
func (p *Points) Between(dst *Points, from, to int64) {
	*dst = Points{t: p.t, v: p.v, spans: dst.spans[:0], sampled: p.sampled, series: p.series}
	for i := range p.spans {
		s := p.spans[i]
		lo, hi := 0, s.n
		if first, _ := s.sample(p, 0); first < from {
			lo = s.search(p, from)
		}
		if s.last(p) > to {
			hi = s.search(p, to+1)
		}
		if lo >= hi {
			continue
		}
		if s.run {
			s.first += int64(lo) * s.step
		} else {
			s.off += lo
		}
		s.n = hi - lo
		dst.spans, dst.n = append(dst.spans, s), dst.n+s.n
	}
	if p.goesOn && dst.n > 0 {
		dst.goesOn = dst.Last() == p.Last() && p.Last()+p.Interval() <= to
	}
}

// Outside makes dst the samples of p that are in none of the intervals, and returns it.
func (p *Points) Outside(dst *Points, intervals Intervals) *Points {
	dst.Reset()
	for t, v := range p.All() {
		if _, within := intervals.Find(t); !within {
			dst.Append(t, v)
		}
	}
	dst.sampled, dst.goesOn, dst.series = p.sampled, p.goesOn, p.series
	return dst
}

// Clone is a copy of p that shares no memory with it.
func (p *Points) Clone() *Points {
	var c Copies
	c.Add(p)
	return c.At(0)
}

// after is the time of the sample after a span: just after its last one if p is continued, MaxInt64 if there is none.
func (p *Points) after(i int) int64 {
	switch {
	case i+1 < len(p.spans):
		t, _ := p.spans[i+1].sample(p, 0)
		return t
	case p.goesOn:
		return p.spans[i].last(p) + 1
	}
	return math.MaxInt64
}

// search is the place of the first sample at or after t.
func (s *span) search(p *Points, t int64) int {
	return sort.Search(s.n, func(k int) bool {
		at, _ := s.sample(p, k)
		return at >= t
	})
}

// Len is the number of samples.
func (p *Points) Len() int { return p.n }

// First is the time of the first sample, 0 where there is none.
func (p *Points) First() int64 {
	if p.n == 0 {
		return 0
	}
	if s := &p.spans[0]; s.run {
		return s.first
	}
	return p.t[p.spans[0].off]
}

// Last is the time of the last sample, 0 where there is none.
func (p *Points) Last() int64 {
	if p.n == 0 {
		return 0
	}
	return p.spans[len(p.spans)-1].last(p)
}

// All yields time and value of every sample in order.
func (p *Points) All() iter.Seq2[int64, float64] {
	return func(yield func(int64, float64) bool) {
		for i := range p.spans {
			s := &p.spans[i]
			for k := range s.n {
				if !yield(s.sample(p, k)) {
					return
				}
			}
		}
	}
}

// LastUsable is the last value that can be computed with, and whether there is one.
func (p *Points) LastUsable() (v float64, ok bool) {
	for i := len(p.spans) - 1; i >= 0; i-- {
		s := &p.spans[i]
		if s.run || s.level {
			if usable(s.value) {
				return s.value, true
			}
			continue
		}
		for k := s.off + s.n - 1; k >= s.off; k-- {
			if usable(p.v[k]) {
				return p.v[k], true
			}
		}
	}
	return 0, false
}

// AnyNotFinite reports whether a value is infinite, or NaN and no staleness marker.
func (p *Points) AnyNotFinite() bool {
	bad := func(v float64) bool { return !usable(v) && !IsStale(v) }
	for i := range p.spans {
		s := &p.spans[i]
		if s.run || s.level {
			if bad(s.value) {
				return true
			}
		} else if slices.ContainsFunc(p.v[s.off:s.off+s.n], bad) {
			return true
		}
	}
	return false
}

// intervalSamples bounds how many distances Interval looks at.
const intervalSamples = 61

// shortest is the shortest distance of the first samples: no more than the scrape interval, whatever is missing between
// them. It is 0 below three samples: one distance may be a gap.
func (p *Points) shortest() int64 {
	if p.n < 3 {
		return 0
	}
	if d, ok := p.regular(); ok {
		return d
	}
	var buf [intervalSamples]int64
	return slices.Min(p.distances(buf[: 0 : intervalSamples-1]))
}

// Interval is the median distance of the first samples, the lower one of two, for a scrape may be missing: the scrape interval of the
// series. It is 0 below two samples.
func (p *Points) Interval() int64 {
	if d, ok := p.usual(); ok {
		return d
	}
	var buf [intervalSamples]int64
	d := p.distances(buf[:0])
	slices.Sort(d)
	return d[(len(d)-1)/2]
}

// IntervalWithin reports whether Interval is from least to most. It is faster than Interval where distances differ.
func (p *Points) IntervalWithin(least, most int64) bool {
	if d, ok := p.usual(); ok {
		return least <= d && d <= most
	}
	var buf [intervalSamples]int64
	d := p.distances(buf[:0])
	below, upTo := 0, 0
	for _, x := range d {
		if x < least {
			below++
		}
		if x <= most {
			upTo++
		}
	}
	median := (len(d) - 1) / 2
	return below <= median && median < upTo
}

// usual returns the distance of more than half of the first samples, which is their median, if one run or all have it; 0 below two samples.
func (p *Points) usual() (d int64, ok bool) {
	from, all := 0, min(p.n-1, intervalSamples)
	for i := range p.spans {
		s := &p.spans[i]
		if s.run && 2*(min(from+s.n-1, all)-from) > all {
			return s.step, true
		}
		from += s.n
	}
	return p.regular()
}

// regular returns the distance of the first samples if they all have the same one, 0 below two samples.
func (p *Points) regular() (d int64, ok bool) {
	prev, left := p.First(), intervalSamples // distances to compare
	for i := range p.spans {
		s := &p.spans[i]
		k := 0
		if i == 0 {
			k = 1
		}
		for ; k < s.n && left > 0; k++ {
			t, _ := s.sample(p, k)
			if left == intervalSamples {
				d = t - prev
			} else if t-prev != d {
				return 0, false
			}
			prev, left = t, left-1
			if s.run && k > 0 { // all its distances are the same
				prev, left, k = s.last(p), left-(s.n-1-k), s.n
			}
		}
	}
	return d, true
}

// distances appends the distances of the first samples to dst, as many as it has room for.
func (p *Points) distances(dst []int64) []int64 {
	prev := p.First()
	for i := range p.spans {
		s := &p.spans[i]
		first := 0
		if i == 0 {
			first = 1
		}
		for k := first; k < s.n; k++ {
			if len(dst) == cap(dst) {
				return dst
			}
			if s.run && k > 0 {
				dst = append(dst, s.step)
				continue
			}
			t, _ := s.sample(p, k)
			dst, prev = append(dst, t-prev), t
		}
		prev = s.last(p)
	}
	return dst
}
