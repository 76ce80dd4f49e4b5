package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// piece is a part of a window: a set that is kept, or time to be computed.
type piece struct {
	window allocation.Window
	kept   *Kept // nil where it is to be computed
	// hour says that it is a closed hour of the zone's clock: once computed, it is kept.
	hour bool
}

// plan is of what the sets of windows are made.
type plan struct {
	windows []allocation.Window
	pieces  [][]piece // of each window, oldest first, without holes
}

// shelf is the kept sets that may be used, of one kind, by start.
type shelf struct{ sets []Kept }

// at is the longest set that starts at t and ends within w.
func (s *shelf) at(t time.Time, w allocation.Window) *Kept {
	var best *Kept
	i, _ := slices.BinarySearchFunc(s.sets, t, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
	for ; i < len(s.sets) && s.sets[i].Window.Start.Equal(t); i++ {
		if k := &s.sets[i]; !k.Window.End.After(w.End) && (best == nil || k.Window.End.After(best.Window.End)) {
			best = k
		}
	}
	return best
}

// has reports whether there is a set of exactly w.
func (s *shelf) has(w allocation.Window) bool {
	k := s.at(w.Start, w)
	return k != nil && k.Window.End.Equal(w.End)
}

// after is when the first set within w starts after t, else the end of w.
func (s *shelf) after(t time.Time, w allocation.Window) time.Time {
	i, _ := slices.BinarySearchFunc(s.sets, t, func(k Kept, t time.Time) int { return k.Window.Start.Compare(t) })
	for ; i < len(s.sets) && s.sets[i].Window.Start.Before(w.End); i++ {
		if k := &s.sets[i]; k.Window.Start.After(t) && !k.Window.End.After(w.End) {
			return k.Window.Start
		}
	}
	return w.End
}

// usable are the kept sets of a kind that answer q, those known to be damaged left out.
func (l *Ledger) usable(ctx context.Context, k Kind, w allocation.Window, q *allocation.Query) (*shelf, error) {
	list, err := l.history.List(ctx, k, w)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return &shelf{slices.DeleteFunc(list, func(kept Kept) bool {
		asked := kept.Complete && kept.Resolution == max(q.Resolution, 0) // hours stand for AutoResolution where they are exact
		return !q.Stored && !asked || l.damaged[setKey{k, kept.Window.Start.Unix(), kept.Window.End.Unix()}]
	})}, nil
}

// plan finds what the windows of q are made of. Hours are looked for only where there are no days.
func (l *Ledger) plan(ctx context.Context, q *allocation.Query, windows []allocation.Window) (*plan, error) {
	days, err := l.usable(ctx, Days, q.Window, q)
	if err != nil {
		return nil, err
	}
	hours := &shelf{}
	if w, ok := days.without(windows); ok {
		if hours, err = l.usable(ctx, Hours, w, q); err != nil {
			return nil, err
		}
	}
	p := &plan{windows: windows, pieces: make([][]piece, len(windows))}
	for i, w := range windows {
		p.pieces[i] = l.cut(w, days, hours, q.Stored)
	}
	if !q.Stored && !p.pays() {
		return nil, nil
	}
	return p, nil
}

// without is the time from the first window that has no day to the last, and whether there is one.
func (s *shelf) without(windows []allocation.Window) (w allocation.Window, ok bool) {
	for _, x := range windows {
		if k := s.at(x.Start, x); k != nil && k.Window.End.Equal(x.End) {
			continue
		}
		if !ok {
			w.Start, ok = x.Start, true
		}
		w.End = x.End
	}
	return w, ok
}

// cut cuts a window into kept days, else kept hours, else what is to be computed; in stored sets at every hour of the
// zone's clock.
func (l *Ledger) cut(w allocation.Window, days, hours *shelf, atHours bool) (pieces []piece) {
	closed := l.opts.Now().Add(-l.opts.Grace)
	for from := w.Start; from.Before(w.End); {
		kept := days.at(from, w)
		if kept == nil {
			kept = hours.at(from, w)
		}
		if kept != nil {
			pieces = append(pieces, piece{window: kept.Window, kept: kept})
			from = kept.Window.End
			continue
		}
		until := days.after(from, w)
		if t := hours.after(from, w); t.Before(until) {
			until = t
		}
		if next := l.floor(from).Add(time.Hour); atHours && next.Before(until) {
			until = next
		}
		hour := atHours && l.floor(from).Equal(from) && until.Sub(from) == time.Hour && !until.After(closed)
		pieces = append(pieces, piece{window: allocation.Window{Start: from, End: until}, hour: hour})
		from = until
	}
	return pieces
}

// maxRuns is how many stretches of a window are computed each by itself; if there are more, all of it is computed at once.
const maxRuns = 4

// pays reports whether what is kept saves half of the computing.
func (p *plan) pays() bool {
	runs, kept, all := 0, time.Duration(0), time.Duration(0)
	last := true
	for _, pieces := range p.pieces {
		for _, x := range pieces {
			all += x.window.Duration()
			if x.kept != nil {
				kept += x.window.Duration()
			} else if last || len(pieces) > 1 {
				runs++
			}
			last = x.kept != nil
		}
	}
	return runs <= maxRuns && 2*kept >= all
}

// setKey is a set of a history.
type setKey struct {
	kind       Kind
	start, end int64
}

func (k setKey) window() allocation.Window {
	return allocation.Window{Start: time.Unix(k.start, 0), End: time.Unix(k.end, 0)}
}
