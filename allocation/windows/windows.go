package windows

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Style is how a window that is a plain duration, such as 7d, is placed.
type Style uint8

const (
	// Exact end a duration at now, as Kubecost's compute API: 1d is the last 24 hours.
	Exact Style = iota
	// Rounded end a duration at the end of the running minute, hour or UTC day, as OpenCost: 1d is today.
	Rounded
)

const (
	day  = 24 * time.Hour
	week = 7 * day

	// maxWindow bounds durations, so that no arithmetic on them overflows.
	maxWindow = 100 * 365 * day
)

// windowForms is the remedy in the errors of Parse.
const windowForms = "give today, yesterday, week, month, lastweek, lastmonth, a duration such as 30m, 12h, 7d or 2w, a pair such as 2026-01-01T00:00:00Z,2026-01-02T00:00:00Z or one of Unix seconds such as 1767225600,1767312000"

var (
	durationWindow = regexp.MustCompile(`^([0-9]+)([mhdw])(?: offset ([0-9]+)([mhdw]))?$`)
	secondsWindow  = regexp.MustCompile(`^([0-9]+) *[,|-] *([0-9]+)$`)
)

// windowUnits are the lengths of the units of windows. A day is 24 hours.
var windowUnits = map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": day, "w": week}

// Parse reads a window in any of its forms: calendar words and dates in zone, durations that end as style says,
// "7d offset 1d", pairs of RFC 3339 times or dates, pairs of Unix seconds. relative reports that the window is a
// duration whose ends move with at: such windows are to be moved by Align. A window that is malformed,
// has no length, ends before it starts or begins after at is an error.
func Parse(text string, at time.Time, zone *time.Location, style Style) (w allocation.Window, relative bool, err error) {
	w, relative, err = readWindow(strings.TrimSpace(text), at.In(zone), style)
	if err == nil {
		err = checkWindow(w, at)
	}
	if err != nil {
		return allocation.Window{}, false, fmt.Errorf("parse window %q: %w", text, err)
	}
	w.Start, w.End = w.Start.In(zone), w.End.In(zone)
	return w, relative, nil
}

// checkWindow checks the rules for windows of every form.
func checkWindow(w allocation.Window, at time.Time) error {
	start, end := w.Start.Format(time.RFC3339), w.End.Format(time.RFC3339)
	switch {
	case w.End.Before(w.Start):
		return fmt.Errorf("end %s is before start %s: swap them", end, start)
	case w.End.Equal(w.Start):
		return fmt.Errorf("start and end are both %s, the window has no length: give an end after the start, such as %s,%s", start, start, w.Start.Add(day).Format(time.RFC3339))
	case w.Start.Before(time.Unix(0, 0)):
		return fmt.Errorf("start %s is before 1970: give a later start", start)
	case w.Start.After(at):
		return fmt.Errorf("start %s is in the future, now is %s: give a start before now, such as 1d for the last day", start, at.In(w.Start.Location()).Format(time.RFC3339))
	}
	return nil
}

// readWindow tries the forms one after another.
func readWindow(text string, now time.Time, style Style) (allocation.Window, bool, error) {
	if text == "" {
		return allocation.Window{}, false, errors.New("it is empty: " + windowForms)
	}
	if w, ok := calendarWindow(text, now); ok {
		return w, false, nil
	}
	if m := durationWindow.FindStringSubmatch(text); m != nil {
		return readDurationWindow(m, now, style)
	}
	if m := secondsWindow.FindStringSubmatch(text); m != nil {
		start, err := readSeconds(m[1])
		if err != nil {
			return allocation.Window{}, false, err
		}
		end, err := readSeconds(m[2])
		return allocation.Window{Start: start, End: end}, false, err
	}
	if from, to, ok := strings.Cut(text, ","); ok {
		start, err := readInstant(strings.TrimSpace(from), now.Location())
		if err != nil {
			return allocation.Window{}, false, fmt.Errorf("start: %w", err)
		}
		end, err := readInstant(strings.TrimSpace(to), now.Location())
		if err != nil {
			return allocation.Window{}, false, fmt.Errorf("end: %w", err)
		}
		return allocation.Window{Start: start, End: end}, false, nil
	}
	return allocation.Window{}, false, errors.New("it has none of the known forms: " + windowForms)
}

// calendarWindow is the window that a word names. What ends at now ends with the running second, so that the first
// instants of a week or month have a window, too.
func calendarWindow(word string, now time.Time) (w allocation.Window, ok bool) {
	midnight := func(year int, month time.Month, day int) time.Time {
		return allocation.StartOfDay(year, month, day, now.Location())
	}
	y, m, d := now.Date()
	until := now.Add(time.Second - 1).Truncate(time.Second)
	sunday := d - int(now.Weekday())
	switch word {
	case "today":
		return allocation.Window{Start: midnight(y, m, d), End: midnight(y, m, d+1)}, true
	case "yesterday":
		return allocation.Window{Start: midnight(y, m, d-1), End: midnight(y, m, d)}, true
	case "week":
		return allocation.Window{Start: midnight(y, m, sunday), End: until}, true
	case "lastweek":
		return allocation.Window{Start: midnight(y, m, sunday-7), End: midnight(y, m, sunday)}, true
	case "month":
		return allocation.Window{Start: midnight(y, m, 1), End: until}, true
	case "lastmonth":
		return allocation.Window{Start: midnight(y, m-1, 1), End: midnight(y, m, 1)}, true
	}
	return allocation.Window{}, false
}

// readDurationWindow places a duration: m is its number and unit, and those of its offset or "".
func readDurationWindow(m []string, now time.Time, style Style) (allocation.Window, bool, error) {
	length, err := wholeDuration(m[1], m[2])
	if err != nil {
		return allocation.Window{}, false, err
	}
	if length == 0 {
		return allocation.Window{}, false, errors.New("it has no length: give a duration above 0, such as 1d")
	}
	if m[3] != "" {
		offset, err := wholeDuration(m[3], m[4])
		end := now.Truncate(time.Second).Add(-offset)
		return allocation.Window{Start: end.Add(-length), End: end}, style == Exact, err
	}
	end := now.Truncate(time.Second)
	if style == Rounded {
		unit := min(windowUnits[m[2]], day) // weeks end with the day, too
		end = now.Truncate(unit).Add(unit)
	}
	return allocation.Window{Start: end.Add(-length), End: end}, style == Exact, nil
}

// wholeDuration is number units, at most maxWindow.
func wholeDuration(number, unit string) (time.Duration, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > int64(maxWindow/windowUnits[unit]) {
		return 0, fmt.Errorf("%s%s is longer than 100 years: give a shorter duration, such as 30d", number, unit)
	}
	return time.Duration(n) * windowUnits[unit], nil
}

// readSeconds reads Unix seconds up to the year 9999.
func readSeconds(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 253402300799 {
		return time.Time{}, fmt.Errorf("%s is no time before the year 10000: give Unix seconds such as 1767225600, not milliseconds", text)
	}
	return time.Unix(n, 0), nil
}

// readInstant reads an RFC 3339 time, or a date, which is its midnight in zone. A space stands for the + of an offset,
// which decoding a URL makes of it.
func readInstant(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, strings.Replace(text, " ", "+", 1))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no RFC 3339 time: give one such as 2026-01-02T15:04:05Z, 2026-01-02T15:04:05+02:00 or a date such as 2026-01-02", text)
	}
	return t, nil
}

// Align moves a window back until it ends at a multiple of the resolution r, or of an hour where r is longer, since midnight of
// the day on which it ends, so that requests soon after one another have equal windows. It keeps its length. Exact mode and
// AutoResolution count as a minute. The time zone is that of the window's end.
func Align(w allocation.Window, r time.Duration) allocation.Window {
	step := min(r, time.Hour)
	if r <= 0 {
		step = time.Minute
	}
	year, month, day := w.End.Date()
	back := w.End.Sub(allocation.StartOfDay(year, month, day, w.End.Location())) % step
	return allocation.Window{Start: w.Start.Add(-back), End: w.End.Add(-back)}
}

// durationUnits are the units of ParseDuration.
var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": week,
}

var durationPart = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|[smhdw])`)

// ParseDuration reads a duration as Go writes it, with d for 24 hours and w for 7 days as further units: 90s, 1h30m,
// 1d12h, -5m, 0. Those that overflow are errors.
func ParseDuration(text string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(text, "-")
	if rest == "0" {
		return 0, nil
	}
	sum := 0.0
	var exact time.Duration
	for first := true; first || rest != ""; first = false {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("parse duration %q: %q is not a number with a unit: give one such as 30s, 5m, 1h30m, 1d or 2w", text, rest)
		}
		rest = rest[len(m[0]):]
		value, err := strconv.ParseFloat(m[1], 64)
		sum += value * float64(durationUnits[m[2]])
		if err != nil || sum >= math.MaxInt64/2 {
			return 0, fmt.Errorf("parse duration %q: it is longer than 146 years: give a shorter one, such as 30d", text)
		}
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			exact += time.Duration(n) * durationUnits[m[2]]
		} else {
			exact += time.Duration(math.Round(value * float64(durationUnits[m[2]])))
		}
	}
	if negative {
		exact = -exact
	}
	return exact, nil
}
