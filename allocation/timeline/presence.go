package timeline

// Presence is what is known of when one object ran: a container, a node, a volume, a load balancer.
//
// Runs turns it into runs. Each edge of a run is a Edge: the instant that is charged from or to, and the earliest and the
// latest instant at which the object can have started or ended. How an edge is known decides all three:
//
//	reported    Kubernetes says when, in whole seconds: [t, t+1s], charged at t
//	halfway     in exact mode, between the last scrape that shows the object and the next one: charged half a scrape
//	            interval before the first sight, and halfway between the last sight and the scrape that no longer shows it
//	outage      as halfway, but nothing of its kind was seen for a while: the whole outage
//	open        the newest scrape shows it: charged to the end of the window, at most a lookback after that scrape
//	grid        between two points of the grid, and each point sees a sample that may be a scrape old: charged by cells
//
// The shortest true running time lies between the latest start and the earliest end, the longest one between the earliest
// start and the latest end. Both modes share this. "Scrape interval" is that of the series that shows the edge.
type Presence struct {
	// Seen is the running signal, of Sights: where it ran, how long a sample of it lasts in milliseconds; 0 where it is known
	// that it did not run; absent where nothing is known.
	Seen Steps
	// Started are the start times that were reported, in Unix seconds, as Reports gives them. Values of 0 and below are unknown.
	Started Steps
	// Born are the start times of what the object is a part of, such as a pod: it cannot have started before, and a new one is
	// another object of the same name.
	Born Steps
	// Ended are the reported ends of the object itself before it was started again, the latest one at each time.
	Ended Steps
	// Completed are the reported ends of everything that the object is a part of. The value at a time is the last end of the
	// parts that do not run then.
	Completed Steps
	// Together means that several parts ended between the same two scrapes, and Completed is the last of their ends.
	Together bool
	// Restarts are how often it had been restarted, as was reported at each time.
	Restarts Steps
	// Supposed is when nothing shows that it runs but that it is there: it may have stopped and waited.
	Supposed Intervals
	// OneSeries says that all of Seen is one series that a restart would have ended.
	OneSeries bool
	// Deleted are the reported times at which the object was to be deleted.
	Deleted Steps
	// After is when what had the object's name before had ended, 0 where unknown: no run starts before that. Next is when what has
	// its name next started, 0 where unknown: no run whose end is not reported ends after that.
	After, Next int64
	// Until is when the object had ended at the latest, 0 where unknown.
	Until int64
	// Unseen says that a start and an end that are reported make a run, though no sample shows it (exact mode only).
	Unseen bool
	// Followers are when what comes after the object began, and when what the object is a part of was gone: ascending, in Unix milliseconds. A
	// reported start that no sample follows makes a run up to the first of them after it, of which nothing is certain (exact mode only).
	Followers []int64
	// Once says that the object ran once, from some time after Born to its end, if no sample shows it (exact mode only).
	Once bool
}

// Watch describes when the objects of one kind in a cluster were watched.
type Watch struct {
	Absent Intervals // when none of them was seen
	Down   Intervals // when nothing at all was seen that the same target shows
	Newest int64     // when any of that was seen last
}

// Edge is the start or the end of a run.
type Edge struct {
	At               int64 // where it counts
	Earliest, Latest int64 // what At really is lies between, both included
}

// second is how exact reported times are.
const second int64 = 1000

// Reported is the edge that Kubernetes reports.
func Reported(at int64) Edge { return Edge{at, at, at + second} }

// notBefore returns the edge, moved to t if it is before t.
func (e Edge) notBefore(t int64) Edge {
	return Edge{max(e.At, t), max(e.Earliest, t), max(e.Latest, t)}
}

// notAfter returns the edge, moved to t if it is after t.
func (e Edge) notAfter(t int64) Edge { return Edge{min(e.At, t), min(e.Earliest, t), min(e.Latest, t)} }

// Run is one run of an object.
type Run struct{ Start, End Edge }

// Runs are sorted by their start, and their charged times do not overlap. bridged and doubtful lie within them.
type Runs struct {
	All []Run
	// Bridged are the gaps of more than 5 minutes without a sight that count as running.
	Bridged Intervals
	// Doubtful are the gaps that count as running, though it may have ended and started again in them.
	Doubtful Intervals
}

// Intervals are the stretches of time that are charged.
func (r *Runs) Intervals() Intervals {
	var out Intervals
	for i := range r.All {
		if x := &r.All[i]; x.Start.At < x.End.At {
			out = append(out, Interval{x.Start.At, x.End.At})
		}
	}
	return out
}

// Least returns the certain part of the k-th run.
func (r *Runs) Least(k int) Intervals {
	x := &r.All[k]
	if x.Start.Latest >= x.End.Earliest {
		return nil
	}
	return Complement(r.Doubtful, x.Start.Latest, x.End.Earliest)
}

// Most returns when the k-th run is possible. It does not overlap with that of the run before.
func (r *Runs) Most(k int) Interval {
	x := &r.All[k]
	out := Interval{x.Start.Earliest, x.End.Latest}
	if k > 0 {
		out.From = max(out.From, r.All[k-1].End.Latest)
	}
	out.To = max(out.To, out.From)
	return out
}

// millis is a reported time in milliseconds, and whether there is one.
func (x *Step) millis() (int64, bool) { return int64(x.V * 1000), x.V > 0 }

// startBetween is the first start reported from one time on and before another that lies in [least, most], and from when on it was reported.
func (p *Presence) startBetween(from, until, least, most int64) (at, reported int64, ok bool) {
	for i := p.Started.index(from); i < len(p.Started) && p.Started[i].From < until; i++ {
		if at, ok := p.Started[i].millis(); ok && at >= least && at <= most {
			return at, p.Started[i].From, true
		}
	}
	return 0, 0, false
}

// startBefore is the start from least on that was reported last before one time and after another, and from when on it was reported: 0
// where there is none. Another target may report the start of what it never shows again.
func (p *Presence) startBefore(until, after, least int64) (at, reported int64) {
	for i := p.Started.index(until+1) - 1; i >= 0 && p.Started[i].To > after; i-- {
		if at, ok := p.Started[i].millis(); ok && at >= least {
			return at, p.Started[i].From
		}
	}
	return 0, 0
}

// endBetween returns the first reported end in [least, most] of a run that was last seen at last, or Unborn if no sample
// shows one. Of the ends of what the object is a part of, only those reported since then count. Ends that were reported more
// than an outage after the last sight or after the end do not count, because a window around them could not know. shared
// means that it may be the end of another run or part.
func (p *Presence) endBetween(last, least, most int64) (at int64, shared, ok bool) {
	try := func(steps Steps, since int64, of bool) {
		for i := range steps {
			x := &steps[i]
			v, known := x.millis()
			reported := v
			if last != Unborn {
				reported = min(v, last)
			}
			if known && x.From >= since && x.From-reported <= maxLead && v >= least && v <= most && (!ok || v < at) {
				at, shared, ok = v, of, true
			}
		}
	}
	try(p.Ended, Unborn, true) // it may have been started and have ended once more since it was seen
	try(p.Completed, last, p.Together)
	return at, shared, ok
}

// around are the values that are reported last before a gap and first after it, and from when on that is, no further from the gap's other
// end than an outage lasts: a window around that could not tell.
func (s Steps) around(gap Interval) (before, after float64, reported int64, ok bool) {
	i := s.index(gap.From + 1) // the first that ends after the gap begins
	if i < len(s) && s[i].From < gap.From {
		before = s[i].V
	} else if i > 0 && gap.To-s[i-1].To <= maxLead {
		before = s[i-1].V
	}
	if j := s.index(gap.To + 1); j < len(s) && s[j].From-gap.From <= maxLead {
		after, reported = s[j].V, s[j].From
	}
	return before, after, reported, before > 0 && after > 0
}
