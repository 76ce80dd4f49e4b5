package timeline

import (
	"cmp"
	"slices"
)

// maxGap is the longest gap that ends no run by itself: 5 minutes, in milliseconds.
const maxGap int64 = 5 * 60 * 1000

// maxLead is the longest absence of all signals that counts as an outage. A longer one is time without data.
const maxLead int64 = 60 * 60 * 1000

// sighting is a stretch of sights between which nothing says that the object stopped.
type sighting struct {
	Interval           // from just before the first sight to the last
	first, last  int64 // how long the first and the last sight last
	since, until int64 // the latest time it was known not to run before, and the first after; Unborn and Forever where unknown
	started      int64 // when it was reported to have started, 0 where it was not
	reported     int64 // from when on that was reported
	born         bool  // begins with another object of its name
}

// Runs are the intervals in which an object ran (SEMANTICS §2), as Presence describes.
func (s Sampling) Runs(p *Presence, w *Watch) Runs {
	var out Runs
	var few [2]sighting
	spans := s.spans(few[:0], p, w, &out)
	if s.Exact() {
		spans = s.restarts(p, spans)
	}
	for k := range spans {
		s.findStart(p, spans, k, w)
	}
	for k := range spans {
		start := s.startOf(p, spans, k, w)
		if k > 0 {
			start.At = max(start.At, out.All[k-1].End.At)
		} else if s.Exact() {
			start = start.notBefore(min(p.After, s.firstOf(spans[k].From)))
		}
		end := s.endOf(p, spans, k, start.Earliest, w)
		end.At = max(end.At, start.At)
		out.All = append(out.All, Run{start, end})
	}
	if s.Exact() && (p.Unseen || p.Once || len(p.Followers) > 0) {
		out.All = s.unseen(p, out.All, w)
	}
	s.hidden(p, &out, w)
	out.Doubtful = s.doubts(p, &out)
	return out
}

// spans appends to spans, which is empty, the stretches of sights, gaps bridged. A gap is bridged if the same start is reported on both sides, if nothing of
// the kind was seen in it, or if it is not longer than 5 minutes.
func (s Sampling) spans(spans []sighting, p *Presence, w *Watch, out *Runs) []sighting {
	since := int64(Unborn)
	for _, x := range p.Seen {
		n := len(spans)
		if x.V == 0 {
			if n > 0 && spans[n-1].until == Forever {
				spans[n-1].until = s.firstOf(x.From)
			}
			since = x.To
			continue
		}
		cur := sighting{Interval: Interval{x.From, x.To}, first: int64(x.V), last: int64(x.V), since: since, until: Forever}
		if n == 0 {
			if from, ok := s.lead(p, cur.Interval, w.Absent); ok {
				out.Bridged = append(out.Bridged, Interval{from, cur.From})
				if !s.Exact() {
					cur.From = from
				}
			}
			spans = append(spans, cur)
			continue
		}
		prev := &spans[n-1]
		gap := Interval{prev.To, cur.From}
		bridged, sure := s.bridges(p, gap, cur.To+cur.last, w.Absent)
		if prev.until != Forever || !bridged {
			spans = append(spans, cur)
			continue
		}
		if gap.To-gap.From > maxGap {
			out.Bridged = append(out.Bridged, gap)
		}
		least := 2 * cur.first
		if !s.Exact() {
			least = maxGap + 1 // servers that sample show what was seen so long ago
		}
		if !sure && gap.To-gap.From >= least {
			out.Doubtful = append(out.Doubtful, gap)
		}
		prev.To, prev.last = cur.To, cur.last
	}
	return spans
}

// firstOf is the first sight of a step that begins at from.
func (s Sampling) firstOf(from int64) int64 {
	if s.Exact() {
		return from + 1
	}
	return from + s.Step
}

// lead is from when an object first seen at the beginning of first ran, where all signals were absent just before.
func (s Sampling) lead(p *Presence, first Interval, absent Intervals) (int64, bool) {
	started, _, ok := p.startBetween(first.From+1, first.To, 1, first.From)
	gap, down := before(absent, first.From)
	if !ok || !down || started >= min(first.From, gap.To) || s.dataless(gap) {
		return 0, false
	}
	return max(started, gap.From), true
}

// dataless reports whether an absence before the first sight is time without data: it is longer than an outage, including
// what is read before the window, so that it does not depend on where the window begins. A window that begins with the data
// has all of its first cell.
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

// bridges reports whether an object ran through a gap without a sight, and whether that is certain. A gap longer than an
// outage always ends a run, because a window inside of it could not know. Another start that is first reported after until
// belongs to later sights.
func (s Sampling) bridges(p *Presence, gap Interval, until int64, absent Intervals) (bridged, sure bool) {
	if gap.To-gap.From > max(maxLead, s.Step) {
		return false, false
	}
	if before, after, reported, ok := p.Started.around(gap); ok {
		if same := before == after; same || s.Exact() && reported <= until {
			return same, true
		}
	}
	if before, after, reported, ok := p.Born.around(gap); ok && before != after && reported <= until {
		return false, true
	}
	if gap.To-gap.From <= maxGap {
		return true, false
	}
	// Allow a cell of slack: the objects of one target are scraped together, targets of one kind almost so. An absence begins
	// a scrape after the last sight.
	down, ok := absent.Find((gap.From + gap.To) / 2)
	return ok && gap.From >= down.From-2*s.Cell() && gap.To <= down.To+s.Cell(), false
}

// findStart finds the start that is reported of the k-th span: when it begins, else later, before the next one: what says when
// an object started may have been down then, even until the object had ended. It is not before the last sight of the span
// before, unless there are no data between them: a window that begins there does not know of that one.
func (s Sampling) findStart(p *Presence, spans []sighting, k int, w *Watch) {
	x, least := &spans[k], int64(1)
	until := s.firstOf(x.From) + maxLead // later reports do not count: a window around x.From could not know them
	if x.started > 0 {
		return
	}
	if k > 0 {
		least = spans[k-1].To
		if gap, ok := before(w.Absent, s.firstOf(x.From)); ok && s.dataless(gap) {
			least = 1
		}
	}
	if k+1 < len(spans) {
		until = min(until, spans[k+1].From)
	}
	var ok bool
	sight := s.firstOf(x.From)
	if x.started, x.reported, ok = p.startBetween(x.From+1, until, least, sight+second); !ok {
		x.started, x.reported = p.startBefore(x.From, sight-x.first, least)
	}
}

// startOf is where the k-th span starts.
func (s Sampling) startOf(p *Presence, spans []sighting, k int, w *Watch) Edge {
	x := &spans[k]
	sight := s.firstOf(x.From)
	scrape := sight - x.first // the one before that
	if !s.Exact() {
		scrape -= s.Step
	}
	born := int64(0)
	if v, ok := p.Born.At(sight); x.born {
		born = x.From
	} else if ok && v > 0 && int64(v*1000) <= sight {
		born = int64(v * 1000)
	}
	if x.started > 0 {
		out := Reported(max(x.started, born))
		if gap, ok := before(w.Absent, x.From+1); ok && s.dataless(gap) && (k > 0 || s.Exact()) && x.started < min(gap.To, sight)-2*s.Cell() {
			// There is no data before, and it did not start just then: it ran when the scrape before would have been.
			at := max(x.started, min(gap.To, sight)-x.first)
			out = Edge{at, at, at}
		}
		if !s.Exact() {
			out.At = x.From
			return out
		}
		return out.notBefore(sight - s.evidence(sight, w))
	}
	// On a grid, the point before the first sight is the end of the outage, and its last sample is up to two scrapes old.
	late, old := x.first, x.first
	if !s.Exact() {
		late, old = late+2*s.Step, 3*old
	}
	switch gap, down := before(w.Down, x.From+1); {
	case down && sight-gap.To < late && !s.dataless(gap):
		scrape = min(scrape, gap.From-old)
	case x.since != Unborn && sight-x.since <= s.Lookback:
		scrape = min(sight, x.since)
		if !s.Exact() {
			scrape -= x.first
		}
	}
	out := Edge{At: sight - x.first/2, Earliest: scrape, Latest: sight}
	if !s.Exact() {
		out.At = x.From
	}
	if x.born {
		out.Latest = sight + x.first // the first sight of the new object is not known
	}
	out.Earliest = max(out.Earliest, born)
	if s.Exact() {
		out.At = max(out.At, born)
	}
	return out
}

// endOf is where the k-th span ends.
func (s Sampling) endOf(p *Presence, spans []sighting, k int, start int64, w *Watch) Edge {
	x, limit := &spans[k], spans[k].until
	if k+1 < len(spans) {
		next := &spans[k+1]
		limit = min(limit, s.firstOf(next.From))
		if next.started > x.To && next.started < limit && next.reported-x.To <= maxLead { // a window around x.To could not tell of a later report
			limit = next.started
		}
	}
	if p.Until > x.To {
		limit = min(limit, p.Until)
	}
	until := limit
	if limit < s.End {
		until += second
	}
	// A sight just after the end may show the status that the kubelet sent last.
	shown := s.lastShown(p, x.To)
	out := Edge{At: x.To, Earliest: shown}
	if at, shared, ok := p.endBetween(shown, max(start, shown-x.last-second), until); ok {
		out = Reported(at)
		if shared {
			out.Earliest = min(at, shown-s.age())
		}
		if !s.Exact() {
			out.At = x.To
			return out
		}
	} else if !s.Exact() {
		out.Earliest -= 2 * x.last // a sample that no marker follows is seen for two scrapes
		out.Latest = max(s.unseenFrom(x, limit, s.Step, w), s.hiddenUntil(x, limit, w))
		return out
	} else {
		s.halfway(x, limit, w, &out)
		if p.Next > x.To {
			out = out.notAfter(p.Next)
		}
	}
	if gone, ok := p.deleted(start, limit); ok && gone > start {
		out.At, out.Earliest = min(out.At, gone), min(out.Earliest, gone)
	}
	return out
}

// evidence is how far back from a first sight other samples say whether the object ran: what is longer ago is not known to a window that ends
// then.
func (s Sampling) evidence(sight int64, w *Watch) int64 {
	if gap, down := before(w.Absent, sight); down && !s.dataless(gap) {
		return maxLead
	}
	return max(maxGap, 2*s.Interval)
}

// unseenFrom returns the next time after the last sight that could have shown the object: that is apart later, or after an
// outage, and not later than limit.
func (s Sampling) unseenFrom(x *sighting, limit, apart int64, w *Watch) int64 {
	for _, gap := range w.Down {
		if s.firstOf(gap.To) > x.To+apart && gap.From <= x.To+2*max(apart, x.last) && gap.From > x.To-x.last {
			return min(limit, s.firstOf(gap.To))
		}
	}
	if limit-x.To <= s.Lookback {
		return limit
	}
	return x.To + apart
}

// halfway makes the end of a span of which none is reported: between the last sight and the next scrape. One that the newest
// scrape shows is open, unless that is longer ago than an outage lasts: a window that knows of a later scrape decides the same.
func (s Sampling) halfway(x *sighting, limit int64, w *Watch, end *Edge) {
	if limit == Forever && w.Newest-x.To < x.last-x.last/20 && s.End-x.To <= maxLead {
		end.At, end.Latest = max(x.To, min(s.End, x.To+s.Lookback)), max(x.To, s.End)
		return
	}
	end.Latest = s.unseenFrom(x, limit, x.last, w)
	end.At = x.To + (end.Latest-x.To)/2
	if end.Latest-x.To > maxLead {
		end.At = x.To + x.last/2 // that is more than an outage: time without data
	}
	end.Latest = max(end.Latest, s.hiddenUntil(x, limit, w))
}

// hiddenUntil returns until when an outage may have hidden an object that another signal showed last during the outage: that
// signal may have failed later.
func (s Sampling) hiddenUntil(x *sighting, limit int64, w *Watch) int64 {
	if gap, ok := w.Down.Find(x.To); ok && gap.To-gap.From <= maxLead {
		return min(limit, s.firstOf(gap.To))
	}
	return x.To
}

// deleted returns the earliest time at which an object that started at start was to be deleted, as reported while it existed.
func (p *Presence) deleted(start, limit int64) (gone int64, ok bool) {
	for i := range p.Deleted {
		x := &p.Deleted[i]
		if at, known := x.millis(); known && x.To >= start && x.From < limit && (!ok || at < gone) {
			gone, ok = at, true
		}
	}
	return gone, ok
}

// endUnseen returns when a run ended that started at a time and that no sample shows: as endBetween does, or by what came after it.
func (p *Presence) endUnseen(at, until int64) (end int64, shared, ok bool) {
	if p.Unseen {
		return p.endBetween(Unborn, at, until)
	}
	i, _ := slices.BinarySearch(p.Followers, at+1)
	if i == len(p.Followers) {
		return 0, false, false
	}
	return min(until, p.Followers[i]), false, true
}

// unseen adds the runs that no sample shows, but of which start and end are reported, unless there are no data of that time nor shortly after.
func (s Sampling) unseen(p *Presence, runs []Run, w *Watch) []Run {
	starts := p.Started
	if p.Once && len(runs) == 0 {
		starts = p.Born
	}
	for i := range starts {
		at, ok := starts[i].millis()
		if !ok {
			continue
		}
		k, _ := slices.BinarySearchFunc(runs, at, func(r Run, at int64) int { return cmp.Compare(r.Start.At, at) })
		until := int64(Forever)
		if k < len(runs) {
			until = runs[k].Start.Earliest
		}
		if k > 0 && at <= runs[k-1].End.Latest || until <= at {
			continue
		}
		end, shared, ok := p.endUnseen(at, until)
		if gap, down := w.Absent.Find(end); !ok || down && s.dataless(gap) && at < gap.To-max(maxGap, 2*s.Interval) {
			continue
		}
		run := Run{Reported(at), Reported(end)}
		if p.Once || !p.Unseen {
			run.Start.Latest, shared = end, true
		}
		if shared {
			run.End.Earliest = at
		}
		runs = slices.Insert(runs, k, run)
	}
	return runs
}
