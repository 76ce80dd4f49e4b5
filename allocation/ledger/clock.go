package ledger

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// maxRun is how many hours are computed at once: those of a day of the zone, so that each sample of the day is read once, and
// the warnings of a computation are about that day.
const maxRun = 25

// Clock knows the hours and days of a time zone, and which of them are closed: those that ended at least Grace ago.
type Clock struct {
	Zone  *time.Location
	Grace time.Duration
	Now   func() time.Time
}

// Floor is the last full hour of the zone's clock that is not after t.
func (c Clock) Floor(t time.Time) time.Time {
	t = t.In(c.Zone)
	_, offset := t.Zone()
	local := t.Unix() + int64(offset)
	return time.Unix(local-local%3600-int64(offset), 0).In(c.Zone)
}

// HourFrom returns the hour of the zone's clock that begins at t, or the next one after t. Where clocks are set by half an
// hour, it is the rest of an hour.
func (c Clock) HourFrom(t time.Time) allocation.Window {
	from := c.Floor(t)
	if from.Before(t) && !c.Floor(t.Add(-time.Second)).Equal(from) {
		from = t // clocks were set at t
	}
	if from.Before(t) {
		from = from.Add(time.Hour)
	}
	return allocation.Window{Start: from, End: c.Floor(from).Add(time.Hour)}
}

// Day is the day of the zone that t is in.
func (c Clock) Day(t time.Time) allocation.Window {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, c.Zone)
}

// ClosedUntil is the time before which everything that has ended is closed.
func (c Clock) ClosedUntil() time.Time { return c.Now().Add(-c.Grace) }

// ClosedAt is the end of the last hour that was closed at t.
func (c Clock) ClosedAt(t time.Time) time.Time { return c.Floor(t.Add(-c.Grace)) }

// LastHour is the last closed hour.
func (c Clock) LastHour() allocation.Window {
	end := c.ClosedAt(c.Now())
	return allocation.Window{Start: c.Floor(end.Add(-time.Second)), End: end}
}

// NextClosed is when the next hour will be closed.
func (c Clock) NextClosed() time.Time { return c.HourFrom(c.LastHour().End).End.Add(c.Grace) }

// ClosedHours returns the closed hours within w, oldest first. Where clocks are set by half an hour, the rest of an hour is
// not one of them.
func (c Clock) ClosedHours(w allocation.Window) (hours []allocation.Window) {
	if closed := c.ClosedAt(c.Now()); w.End.After(closed) {
		w.End = closed
	}
	for h := c.HourFrom(w.Start); !h.End.After(w.End); h = c.HourFrom(h.End) {
		if h.Duration() == time.Hour && !h.Start.Before(w.Start) {
			hours = append(hours, h)
		}
	}
	return hours
}

// Closed is the part of w that closed hours fill. Where there are none, it is empty and begins at w's start.
func (c Clock) Closed(w allocation.Window) allocation.Window {
	hours := c.ClosedHours(w)
	if len(hours) == 0 {
		return allocation.Window{Start: w.Start, End: w.Start}
	}
	return allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}
}

// Runs divides hours into runs that are computed at once: adjacent hours of a day.
func (c Clock) Runs(hours []allocation.Window) (runs [][]allocation.Window) {
	for _, h := range hours {
		last := len(runs) - 1
		if last < 0 || !c.joins(runs[last], h) {
			runs = append(runs, nil)
			last++
		}
		runs[last] = append(runs[last], h)
	}
	return runs
}

// joins reports whether an hour is computed at once with those before it.
func (c Clock) joins(before []allocation.Window, h allocation.Window) bool {
	n := len(before)
	return n > 0 && n < maxRun && before[n-1].End.Equal(h.Start) && !c.Day(h.Start).Start.Equal(h.Start)
}
