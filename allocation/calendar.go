package allocation

import "time"

// Period is the length of time that sets are summed over.
type Period uint8

// The periods. A week starts on Sunday.
const (
	NoPeriod Period = iota // sets are not summed
	All                    // all sets become one
	Hour
	Day
	Week
	Month
	Quarter
)

// Round returns the shortest run of whole periods that contains w, or w itself for NoPeriod and All. zone is where days
// begin; nil is UTC.
func (p Period) Round(w Window, zone *time.Location) Window {
	start := p.Floor(w.Start, zone)
	end := p.Floor(w.End, zone)
	if end.Before(w.End) {
		end = p.next(end)
	}
	return Window{Start: start, End: end}
}

// Floor returns the last start of a period at or before t.
func (p Period) Floor(t time.Time, zone *time.Location) time.Time {
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
		// time.Date cannot be used: where clocks are set back, an hour occurs twice.
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Week:
		date -= int(t.Weekday())
	case Month:
		date = 1
	case Quarter:
		month, date = (month-1)/3*3+1, 1
	case Day, NoPeriod, All:
	}
	return StartOfDay(year, month, date, zone)
}

// next returns the start of the period after the one that starts at t, in t's zone.
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
	return StartOfDay(year, month, date, t.Location())
}

// StartOfDay returns the first instant of a day. Where clocks are set forward at midnight, the day begins at one o'clock;
// where they are set back over midnight, there are two midnights and the day begins at the first.
func StartOfDay(year int, month time.Month, date int, zone *time.Location) time.Time {
	t := time.Date(year, month, date, 0, 0, 0, 0, zone)
	from, to := t.ZoneBounds()
	if t.Day() != time.Date(year, month, date, 12, 0, 0, 0, zone).Day() {
		return to // t is still in the day before
	}
	if from.IsZero() {
		return t
	}
	_, is := t.Zone()
	_, was := from.Add(-1).Zone()
	if first := t.Add(time.Duration(is-was) * time.Second); first.Before(from) {
		return first
	}
	return t
}
