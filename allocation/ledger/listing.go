package ledger

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Listing is kept sets of one kind that can be used, by start.
type Listing struct{ Sets []Kept }

// search is the index of the first set that starts at t or later, and whether it starts at t.
func (l *Listing) search(t time.Time) (i int, found bool) {
	return slices.BinarySearchFunc(l.Sets, t, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
}

// Longest returns the longest set that starts at t and ends within w, or nil if there is none.
func (l *Listing) Longest(t time.Time, w allocation.Window) *Kept {
	var best *Kept
	i, _ := l.search(t)
	for ; i < len(l.Sets) && l.Sets[i].Window.Start.Equal(t); i++ {
		if k := &l.Sets[i]; !k.Window.End.After(w.End) && (best == nil || k.Window.End.After(best.Window.End)) {
			best = k
		}
	}
	return best
}

// Exact returns the set of exactly w, or nil if there is none.
func (l *Listing) Exact(w allocation.Window) *Kept {
	if k := l.Longest(w.Start, w); k != nil && k.Window.End.Equal(w.End) {
		return k
	}
	return nil
}

// Has reports whether there is a set of exactly w.
func (l *Listing) Has(w allocation.Window) bool { return l.Exact(w) != nil }

// After is when the first set within w starts after t, the end of w if there is none.
func (l *Listing) After(t time.Time, w allocation.Window) time.Time {
	i, _ := l.search(t)
	for ; i < len(l.Sets) && l.Sets[i].Window.Start.Before(w.End); i++ {
		if k := &l.Sets[i]; k.Window.Start.After(t) && !k.Window.End.After(w.End) {
			return k.Window.Start
		}
	}
	return w.End
}

// Last is the last set that starts before t and ends by then, nil if there is none that starts at since or later.
func (l *Listing) Last(since, t time.Time) *Kept {
	for i, _ := l.search(t); i > 0 && !l.Sets[i-1].Window.Start.Before(since); i-- {
		if k := &l.Sets[i-1]; !k.Window.End.After(t) {
			return k
		}
	}
	return nil
}

// Covers reports whether an hour lies in a longer set.
func (l *Listing) Covers(h allocation.Window) bool {
	i, found := l.search(h.Start)
	if !found {
		i--
	}
	for ; i >= 0 && i < len(l.Sets) && !l.Sets[i].Window.Start.After(h.Start); i++ {
		if k := &l.Sets[i]; !k.Window.End.Before(h.End) && k.Window.Duration() > time.Hour {
			return true
		}
	}
	return false
}

// Differs reports whether a set overlaps w but has another window, for example because of another time zone.
func (l *Listing) Differs(w allocation.Window) bool {
	return slices.ContainsFunc(l.Sets, func(k Kept) bool {
		return k.Window.Start.Before(w.End) && k.Window.End.After(w.Start) && (!k.Window.Start.Equal(w.Start) || !k.Window.End.Equal(w.End))
	})
}

// missing is the time from the first of windows without a set to the last, and whether there is such a window.
func (l *Listing) missing(windows []allocation.Window) (w allocation.Window, ok bool) {
	for _, x := range windows {
		if l.Has(x) {
			continue
		}
		if !ok {
			w.Start, ok = x.Start, true
		}
		w.End = x.End
	}
	return w, ok
}
