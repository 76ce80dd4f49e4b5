package allocation

import "time"

// Period is what sets are summed by.
type Period uint8

// The periods. Weeks are from Sunday to Saturday.
const (
	NoPeriod Period = iota // sets stay apart
	All                    // everything is one set
	Hour
	Day
	Week
	Month
	Quarter
)

// Round is the shortest run of whole periods that holds w; w itself for NoPeriod and All. zone is where days begin; nil
// is UTC.
func (p Period) Round(w Window, zone *time.Location) Window {
	start := p.floor(w.Start, zone)
	end := p.floor(w.End, zone)
	if end.Before(w.End) {
		end = p.next(end)
	}
	return Window{Start: start, End: end}
}

// floor is the last start of a period at or before t.
func (p Period) floor(t time.Time, zone *time.Location) time.Time {
	if p == NoPeriod || p == All {
		return t
	}
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	year, month, date := t.Date()
	switch p {
	case Hour:
		// Not by time.Date: where clocks are set back, an hour comes twice.
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Week:
		date -= int(t.Weekday())
	case Month:
		date = 1
	case Quarter:
		month, date = (month-1)/3*3+1, 1
	case Day, NoPeriod, All:
	}
	return time.Date(year, month, date, 0, 0, 0, 0, zone)
}

// next is the start of the period after the one that starts at t, in t's zone.
func (p Period) next(t time.Time) time.Time {
	year, month, date := t.Date()
	switch p {
	case Hour:
		return t.Add(time.Hour)
	case Day:
		date++
	case Week:
		date += 7
	case Month:
		month++
	case Quarter:
		month += 3
	case NoPeriod, All:
		return t
	}
	return time.Date(year, month, date, 0, 0, 0, 0, t.Location())
}
