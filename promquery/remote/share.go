package remote

import (
	"time"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// share is some selectors that one remote-read request asks for, and how far its answer was read.
type share struct {
	index    []int // the selectors' places in the caller's list
	requests []promquery.Request
	at       position
	series   int  // of the first selector that is not complete: how many were seen when the share was last divided
	later    bool // it begins where another share ends
}

// leastGain is how much shorter the parts of a share of one selector have to be at least, in milliseconds.
const leastGain = int64(30 * time.Minute / time.Millisecond)

// again is how far the later part of a share reaches back into the earlier one: so far that it sees the last point of the
// grid at which that saw a series which goes on. What both give counts once.
func again(sel *promquery.Request) int64 { return 2*timeline.Lookback + sel.Grid.Step }

// divide returns smaller shares to ask for after the answer to s was too much, or took too long; none if it cannot be smaller.
// They leave out what was read completely, and continue what was begun.
func (s *share) divide() []*share {
	if s.at.mixed {
		return nil
	}
	if k := int(s.at.last); k > 0 {
		rest := &share{index: s.index[k:], requests: s.requests[k:], at: s.at, later: s.later}
		rest.at.last = 0
		return []*share{rest}
	}
	begun := len(s.at.done) > 0 || s.at.started
	switch {
	case begun && len(s.at.done) > s.series:
		s.series = len(s.at.done)
		return []*share{s}
	case len(s.requests) > 1:
		k := len(s.requests) / 2
		if begun {
			k = 1 // which goes on by itself
		}
		first := &share{index: s.index[:k], requests: s.requests[:k], at: s.at, series: s.series, later: s.later}
		return []*share{first, {index: s.index[k:], requests: s.requests[k:], at: newPosition(), later: s.later}}
	case begun || s.requests[0].End-s.requests[0].Start < 2*(again(&s.requests[0])+leastGain):
		return nil
	}
	before, after := s.requests[0], s.requests[0]
	before.End = before.Start + (before.End-before.Start)/2
	after.Start = before.End + 1 - again(&after)
	return []*share{
		{index: s.index, requests: []promquery.Request{before}, at: newPosition(), later: s.later},
		{index: s.index, requests: []promquery.Request{after}, at: newPosition(), later: true},
	}
}
