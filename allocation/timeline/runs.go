package timeline

import (
	"math"
	"sort"
)

// maxGap is the longest gap that never ends an interval: 5 minutes, in milliseconds.
const maxGap int64 = 5 * 60 * 1000

// maxLead is the longest absence of all signals before the first sight of an object that counts as an outage. Beyond it,
// what came before is time that there is no data for.
const maxLead int64 = 60 * 60 * 1000

// Presence is what is known of when one object ran.
type Presence struct {
	// Seen is the running signal: not 0 where it ran, 0 where it is known that it did not, absent where nothing is known.
	Seen Steps
	// Started is the start time, in Unix seconds, that was reported at each time; nil where it is not known.
	Started Steps
	// Ends are reported ends, ascending, Unix milliseconds.
	Ends []int64
	// Cap is when the object is gone at the latest, Unix milliseconds; 0 where it is not known.
	Cap int64
}

// startedAt is the start time reported at t in milliseconds.
func (p *Presence) startedAt(t int64) (int64, bool) {
	v, ok := p.Started.At(t)
	return int64(v * 1000), ok && v > 0
}

// startOf is the start time reported when the k-th run begins, else the first one reported from then on before the next run,
// if it lies before: what says when an object started may have been down then, even until the object had ended.
func (p *Presence) startOf(runs Intervals, k int) (int64, bool) {
	x, until := runs[k], int64(Forever)
	if at, ok := p.startedAt(x.From + 1); ok {
		return at, true
	}
	if k+1 < len(runs) {
		until = runs[k+1].From
	}
	i := sort.Search(len(p.Started), func(i int) bool { return p.Started[i].From >= x.From })
	if i == len(p.Started) || p.Started[i].From >= until || p.Started[i].V <= 0 {
		return 0, false
	}
	at := int64(p.Started[i].V * 1000)
	if k > 0 && p.Started[i].From >= x.To && at < runs[k-1].To {
		return 0, false // of the run before
	}
	return at, at <= x.From
}

// Runs are the intervals in which an object ran (SEMANTICS §2). absent are the times at which nothing at all is known
// of the whole input (the target was down): a gap inside them is bridged, as is one with the same start time on both
// sides and one of up to 5 minutes. bridged are the gaps longer than that which were.
func (s Sampling) Runs(p *Presence, absent Intervals) (runs, bridged Intervals) {
	for i, x := range p.Seen {
		if x.V == 0 {
			continue
		}
		cur := Interval{x.From, x.To}
		n := len(runs)
		if n == 0 {
			if from, ok := s.lead(p, cur, absent); ok {
				bridged = append(bridged, Interval{from, cur.From})
				cur.From = from
			}
			runs = append(runs, cur)
			continue
		}
		prev := &runs[n-1]
		known := i > 0 && p.Seen[i-1].V == 0 // an explicit 0 stands between
		if !known && s.bridges(p, Interval{prev.To, cur.From}, absent) {
			if cur.From-prev.To > maxGap {
				bridged = append(bridged, Interval{prev.To, cur.From})
			}
			prev.To = cur.To
			continue
		}
		runs = append(runs, cur)
	}
	if s.Exact() {
		runs = s.sharpen(p, runs, absent)
	}
	return runs, bridged
}

// lead is from when an object first seen at the beginning of first ran, where all signals were absent just before.
func (s Sampling) lead(p *Presence, first Interval, absent Intervals) (int64, bool) {
	started, ok := p.startedAt(first.From + 1)
	gap, down := before(absent, first.From)
	if !ok || !down || started >= min(first.From, gap.To) || s.dataless(gap) {
		return 0, false
	}
	return max(started, gap.From), true
}

// dataless reports whether what is absent before the first sight is time without data: more than an outage, of which what is
// looked for before the window is a part, so that it does not depend on where the window begins. A window that begins with
// the data has all of its first cell.
func (s Sampling) dataless(gap Interval) bool {
	return gap.To-gap.From > maxLead && gap.To-max(gap.From, s.Start) > 2*s.Cell()
}

// before is the absence that ended just before t: objects of one kind are first seen within a lookback of each other.
func before(absent Intervals, t int64) (Interval, bool) {
	for _, gap := range absent {
		if gap.From < t && t <= gap.To+maxGap {
			return gap, true
		}
	}
	return Interval{}, false
}

// bridges reports whether an object ran through a gap. A gap longer than an outage ends a run in any case: a window within it
// could not tell.
func (s Sampling) bridges(p *Presence, gap Interval, absent Intervals) bool {
	if gap.To-gap.From <= maxGap {
		return true
	}
	if gap.To-gap.From > max(maxLead, s.Step) {
		return false
	}
	before, okB := p.startedAt(gap.From)
	after, okA := p.startedAt(gap.To + 1)
	if okB && okA && before == after {
		return true
	}
	// Half a cell of slack: objects of one target are scraped together, targets of one kind nearly so.
	down, ok := absent.Find((gap.From + gap.To) / 2)
	return ok && gap.From >= down.From-s.Cell() && gap.To <= down.To+s.Cell()
}

// sharpen moves the edges of runs to the reported start and end times.
func (s Sampling) sharpen(p *Presence, runs, absent Intervals) Intervals {
	var out Intervals
	for i, x := range runs {
		floor := int64(math.MinInt64)
		at, started := p.startOf(runs, i)
		if gap, ok := before(absent, x.From); ok && s.dataless(gap) && at < min(gap.To, x.From)-2*s.Cell() {
			floor = min(gap.To, x.From) // there is no data before, and it did not start just then
		}
		if i > 0 {
			floor = max(floor, runs[i-1].To)
		}
		if started && at < x.To {
			x.From = max(min(at, x.From), floor)
		}
		ceiling, open := s.End, true
		if i+1 < len(runs) {
			ceiling = runs[i+1].From
		}
		if v, ok := p.Seen.At(x.To + 1); ok && v == 0 {
			open = false
		}
		x.To = p.sharpEnd(x, ceiling, open, 2*s.Interval+1000)
		if p.Cap > x.From {
			x.To = min(x.To, p.Cap)
		}
		out = p.split(out, x)
	}
	return out
}

// sharpEnd is the reported end of x: within slack before its last sight, or after it where nothing is known of the time
// until ceiling.
func (p *Presence) sharpEnd(x Interval, ceiling int64, open bool, slack int64) int64 {
	i := sort.Search(len(p.Ends), func(i int) bool { return p.Ends[i] > max(x.From, x.To-slack) })
	if i < len(p.Ends) && (p.Ends[i] <= x.To || open && p.Ends[i] <= ceiling) {
		return p.Ends[i]
	}
	return x.To
}

// split appends x to out, without the pauses in which the object had ended and not yet started again.
func (p *Presence) split(out Intervals, x Interval) Intervals {
	for _, step := range p.Started {
		at := int64(step.V * 1000)
		if at <= x.From || at >= x.To {
			continue
		}
		i := sort.Search(len(p.Ends), func(i int) bool { return p.Ends[i] > at })
		if i > 0 && p.Ends[i-1] > x.From {
			out = append(out, Interval{x.From, p.Ends[i-1]})
			x.From = at
		}
	}
	return append(out, x)
}

// TrueDuration is how long an object ran between Start and end, the window's, by its reported start and end times, and
// whether they are known of every run. runs are as Runs returns them.
func (s Sampling) TrueDuration(p *Presence, runs Intervals, end int64) (int64, bool) {
	sum := int64(0)
	for i, x := range runs {
		if x.To <= s.Start || x.From >= end {
			continue
		}
		from, ok := p.startOf(runs, i)
		if !ok {
			return 0, false
		}
		switch {
		case i > 0 && s.Exact(): // the start of the run before may still be reported when x begins
			from = max(from, x.From)
		case i > 0:
			from = max(from, runs[i-1].To)
		}
		to := end
		if x.To < end {
			if to, ok = p.endOf(x, 2*s.Cell()); !ok {
				return 0, false
			}
		}
		sum += min(to, end) - max(from, s.Start)
	}
	return sum, sum > 0
}

// endOf is the reported end of x: the first within slack of its last sight.
func (p *Presence) endOf(x Interval, slack int64) (int64, bool) {
	i := sort.Search(len(p.Ends), func(i int) bool { return p.Ends[i] > max(x.From, x.To-slack) })
	if i == len(p.Ends) || p.Ends[i] > x.To+slack {
		return 0, false
	}
	return p.Ends[i], true
}
