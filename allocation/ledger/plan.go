package ledger

import (
	"context"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Piece is a part of a window: a kept set, or time to be computed.
type Piece struct {
	Window allocation.Window
	Kept   *Kept // nil if it must be computed
	// Hour says that it is a closed hour of the zone's clock: once computed, it is kept.
	Hour bool
}

// plan says what the sets of windows are made of.
type plan struct {
	windows []allocation.Window
	pieces  [][]Piece // of each window, oldest first, without holes
}

// plan finds what the windows of q are made of. Hours are looked for only where there are no days.
func (l *Ledger) plan(ctx context.Context, q *allocation.Query, windows []allocation.Window) (*plan, error) {
	days, err := l.archive.usable(ctx, Days, q.Window, q)
	if err != nil {
		return nil, err
	}
	hours := &Listing{}
	if w, ok := days.missing(windows); ok {
		if hours, err = l.archive.usable(ctx, Hours, w, q); err != nil {
			return nil, err
		}
	}
	p := &plan{windows: windows, pieces: make([][]Piece, len(windows))}
	for i, w := range windows {
		p.pieces[i] = l.pieces(w, days, hours, q.Stored)
	}
	if !q.Stored && !p.pays() {
		return nil, nil
	}
	return p, nil
}

// pieces cuts a window into kept days, else kept hours, else time to be computed, with atHours at every hour of the zone's clock.
func (l *Ledger) pieces(w allocation.Window, days, hours *Listing, atHours bool) (pieces []Piece) {
	closed := l.clock.ClosedUntil()
	for from := w.Start; from.Before(w.End); {
		kept := days.Longest(from, w)
		if kept == nil {
			kept = hours.Longest(from, w)
		}
		if kept != nil {
			pieces = append(pieces, Piece{Window: kept.Window, Kept: kept})
			from = kept.Window.End
			continue
		}
		until := days.After(from, w)
		if t := hours.After(from, w); t.Before(until) {
			until = t
		}
		if next := l.clock.Floor(from).Add(time.Hour); atHours && next.Before(until) {
			until = next
		}
		hour := atHours && l.clock.Floor(from).Equal(from) && until.Sub(from) == time.Hour && !until.After(closed)
		pieces = append(pieces, Piece{Window: allocation.Window{Start: from, End: until}, Hour: hour})
		from = until
	}
	return pieces
}

// DayPieces returns the pieces of a day: stored hours and missing ones.
func (l *Ledger) DayPieces(day allocation.Window, hours *Listing) []Piece {
	return l.pieces(day, &Listing{}, hours, true)
}

// maxRuns is how many parts of a window are computed each by itself; if there are more, all of it is computed at once.
const maxRuns = 4

// pays reports whether the kept sets save half of the computing.
func (p *plan) pays() bool {
	runs, kept, all := 0, time.Duration(0), time.Duration(0)
	last := true
	for _, pieces := range p.pieces {
		for _, x := range pieces {
			all += x.Window.Duration()
			if x.Kept != nil {
				kept += x.Window.Duration()
			} else if last || len(pieces) > 1 {
				runs++
			}
			last = x.Kept != nil
		}
	}
	return runs <= maxRuns && 2*kept >= all
}
