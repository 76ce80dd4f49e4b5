package savings

import (
	"fmt"
	"iter"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// Question says which sets are looked at, and what counts as unused.
type Question struct {
	Window allocation.Window // of all sets
	Now    time.Time         // cuts the window
	Days   float64           // for how long something has to be unused, up to the end of the data
	// Threshold is the traffic below which a pod has none worth a word, in bytes a second.
	Threshold float64
	// Filter selects rows; nil selects all.
	Filter allocation.Filter
}

// Monthly is money of a month of 730 hours, at the rate of the hours that have data (SEMANTICS §1).
type Monthly struct {
	List   float64 // at list prices
	Billed float64 // with what bills add
}

// slack is how much of the time may be missing at either end: runs are known to the hour where sets are stored.
const slack = time.Hour

// verdict says how something was used in a set.
type verdict uint8

// The verdicts, what is proven least last.
const (
	unused verdict = iota
	unknown
	used
)

// stretch is since when something has been unused.
type stretch struct {
	unused, perhaps time.Time // proven, and as far as is known; zero while it is used
	seen            time.Time // its end in the newest set
}

// add adds what was seen of it between two instants.
func (s *stretch) add(v verdict, from, to time.Time) {
	s.seen = to
	for at, so := range map[*time.Time]bool{&s.unused: v == unused, &s.perhaps: v != used} {
		switch {
		case !so:
			*at = time.Time{}
		case at.IsZero():
			*at = from
		}
	}
}

// verdict says whether it has been unused for all of the time that ends at until, and is still there.
func (s *stretch) verdict(until time.Time, days float64) verdict {
	asked := until.Add(slack - time.Duration(days*24*float64(time.Hour)))
	long := func(since time.Time) bool { return !since.IsZero() && !since.After(asked) }
	switch {
	case !s.alive(until) || !long(s.perhaps):
		return used
	case long(s.unused):
		return unused
	}
	return unknown
}

// alive reports whether it was seen up to the end of the data.
func (s *stretch) alive(until time.Time) bool { return !s.seen.Before(until.Add(-slack)) }

// walk reads sets, oldest first, and knows until when each cluster has data.
type walk struct {
	question Question
	covered  []allocation.Covered
	until    map[string]time.Time
}

// newWalk begins a walk.
func newWalk(q Question) *walk { return &walk{question: q, until: map[string]time.Time{}} }

// each calls look with each set and what selects its rows. It ends with the first error.
func (w *walk) each(sets iter.Seq2[*allocation.Set, error], needs *allocation.Projection, look func(s *allocation.Set, selects func(row int) bool)) error {
	for s, err := range sets {
		if err != nil {
			return err
		}
		if err := s.Require(needs); err != nil {
			return fmt.Errorf("look for savings: %w", err)
		}
		selects := func(int) bool { return true }
		if w.question.Filter != nil {
			if selects, err = w.question.Filter.Bind(s); err != nil {
				return fmt.Errorf("look for savings: %w", err)
			}
		}
		for _, c := range s.Covered {
			end := earlier(c.End, w.end(s.Window.End))
			if end.After(w.until[c.Cluster]) && c.Start.Before(end) {
				w.until[c.Cluster] = end
			}
		}
		w.covered = coverage.Join(w.covered, s.Covered)
		look(s, selects)
	}
	return nil
}

// end is an instant, or now if that is earlier.
func (w *walk) end(at time.Time) time.Time {
	if w.question.Now.IsZero() {
		return at
	}
	return earlier(at, w.question.Now)
}

// month is a month's part of a cost of the window.
func (w *walk) month(list, adjustment float64) Monthly {
	c := coverage.Measure(w.question.Window, w.covered, w.question.Now)
	factor := c.Factor(coverage.MonthHours)
	return Monthly{List: list * factor, Billed: (list + adjustment) * factor}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
