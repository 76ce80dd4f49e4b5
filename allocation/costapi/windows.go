package costapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/windows"
)

// finishWindow resolves the window and cuts it into the windows of the sets.
func (q *request) finishWindow(given func(name string) bool) error {
	if q.route.endpoint&forecasting != 0 {
		return q.finishPeriod(given)
	}
	style := windows.Exact
	if q.route.family == openCost || q.route.endpoint&billed != 0 {
		style = windows.Rounded
	}
	w, relative, err := windows.Parse(q.timing.window, q.now, q.api.cfg.Zone, style)
	if err != nil {
		name := "window"
		if q.route.endpoint == predictions {
			name = "windowAvgUsage"
		}
		return badRequest("parameter %s: %v", name, err)
	}
	if q.route.endpoint == ackAllocations && w.Duration() < 24*time.Hour && !q.wholeDays(w) {
		return badRequest("parameter window: %s is %s long, bills are of whole days: give 24h or more", shorten(q.timing.window), w.Duration())
	}
	if err := q.chooseResolution(given, w.Duration()); err != nil {
		return err
	}
	q.timing.query.Stored = q.route.kept && q.timing.query.Resolution == allocation.AutoResolution
	if relative {
		w = windows.Align(w, q.timing.query.Resolution)
	}
	q.timing.query.Window = w
	switch {
	case q.route.endpoint&billed != 0:
		q.timing.windows, err = q.cloudWindows(w)
	case q.route.endpoint == anomalies:
		q.timing.windows = []allocation.Window{w} // finishDays finds the days of it
	case q.route.stored:
		q.timing.windows, err = q.storedWindows(w, relative)
	case q.route.endpoint&(stepped&^assetLists) == 0:
		q.timing.windows = []allocation.Window{w}
	default:
		q.timing.windows, err = q.steppedWindows()
	}
	if err != nil {
		return badRequest("parameter step: %v", err)
	}
	return nil
}

// setStep is the length of a set: a duration or a unit of the calendar.
type setStep struct {
	period allocation.Period // sets end where periods of the calendar end; NoPeriod for others
	days   int               // calendar days, 0 for others
}

// stepWords are the names of steps that follow the calendar.
var stepWords = []string{"hour", "day", "week", "month", "quarter"}

// dayStep is a step of whole days or weeks.
var dayStep = regexp.MustCompile(`^[0-9]+[dw]$`)

func parseStep(q *request, value string) error {
	if slices.Contains(stepWords, value) {
		q.timing.step.period = periods[value]
		return nil
	}
	d, err := windows.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%w; or hour, day, week, month or quarter", err)
	}
	if d < time.Second || d%time.Second != 0 {
		return errors.New("must be whole seconds, at least 1s: give one such as 1h or 1d, or none for one set")
	}
	if q.route.family == ackFamily && dayStep.MatchString(value) {
		q.timing.step.days = int(d / (24 * time.Hour)) // a bill counts calendar days
		return nil
	}
	q.timing.query.Step = d
	return nil
}

// steppedWindows are the windows of computed sets: one step each, cut where the periods of accumulate begin, so that no set
// belongs to two.
func (q *request) steppedWindows() (list []allocation.Window, err error) {
	w, zone := q.timing.query.Window, q.api.cfg.Zone
	switch {
	case q.timing.step.period != allocation.NoPeriod:
		list, err = cutWindow(w, q.timing.step.period, zone)
	case q.timing.step.days > 0:
		list, err = cutDays(w, q.timing.step.days, zone)
	default:
		list, err = q.timing.query.Windows()
	}
	if err != nil || q.options.Accumulate <= allocation.All {
		return list, err
	}
	return cutWindows(list, q.options.Accumulate, zone)
}

// cutDays cuts a window at the beginnings of days, backward from the end of its last day, into sets of so many days.
func cutDays(w allocation.Window, days int, zone *time.Location) ([]allocation.Window, error) {
	list, err := cutWindow(w, allocation.Day, zone)
	if err != nil {
		return nil, err
	}
	var out []allocation.Window
	for end := len(list); end > 0; end -= days {
		out = append(out, allocation.Window{Start: list[max(0, end-days)].Start, End: list[end-1].End})
	}
	slices.Reverse(out)
	return out, nil
}

// wholeDays reports whether a window consists of calendar days: it is named by a word, or goes from midnight to midnight. Where
// clocks change, a day has 23 or 25 hours.
func (q *request) wholeDays(w allocation.Window) bool {
	return q.timing.named() || allocation.Day.Round(w, q.api.cfg.Zone) == w
}

// moved reports whether the window is a duration with an offset.
func (t *timing) moved() bool { return strings.Contains(t.window, " offset ") }

// named reports whether the window is named by a word.
func (t *timing) named() bool { return !strings.ContainsAny(t.window, "0123456789") }

// storedWindows are the windows of stored sets in a window: days of the time zone, or hours if the window is a duration under 24h,
// is summed by hours or has a step of one hour. All of them are whole, except that the last ends with the window, and that the
// first begins with a window between two instants. Only a window between two instants has sets in the future. A duration with an
// offset counts as a window between two instants and keeps its length.
func (q *request) storedWindows(w allocation.Window, relative bool) ([]allocation.Window, error) {
	period := allocation.Day
	if relative && w.Duration() < 24*time.Hour {
		period = allocation.Hour
	}
	switch {
	case q.timing.query.Step == 0 && q.timing.step.period == allocation.NoPeriod:
	case q.timing.query.Step == time.Hour, q.timing.step.period == allocation.Hour:
		period = allocation.Hour
	case q.timing.query.Step == 24*time.Hour, q.timing.step.period == allocation.Day:
		period = allocation.Day
	case q.timing.step.period != allocation.NoPeriod:
		return nil, errors.New("stored sets are of hours or days: use hour or day, and accumulate to sum days by longer periods")
	default:
		instead := "use 1h or 1d"
		if q.route.endpoint != assetLists {
			instead += ", or ask /model/allocation/compute"
		}
		return nil, fmt.Errorf("step %s is not that of stored sets: %s", q.timing.query.Step, instead)
	}
	if q.options.Accumulate == allocation.Hour || q.route.endpoint&sizings != 0 {
		period = allocation.Hour
	}
	whole, instants := period.Round(w, q.api.cfg.Zone), !relative && !q.timing.named() || q.timing.moved()
	switch {
	case instants:
		asked := w
		if relative {
			w = windows.Align(w, time.Hour)
		}
		if whole = allocation.Hour.Round(w, q.api.cfg.Zone); whole != asked {
			q.warn("stored sets begin and end at hours of the clock: the answer is of %s to %s; /model/allocation/compute and /assets answer for any instants",
				whole.Start.Format(time.RFC3339), whole.End.Format(time.RFC3339))
		}
	default:
		whole.End = w.End
	}
	q.timing.cut = period
	list, err := cutWindow(whole, period, q.api.cfg.Zone)
	if err != nil {
		return nil, err
	}
	if instants {
		return list, nil // to their end, although it is in the future
	}
	kept := slices.IndexFunc(list, func(w allocation.Window) bool { return !w.Start.Before(q.now) })
	if kept < 0 {
		kept = len(list)
	}
	return list[:max(kept, 1)], nil // nothing in the future is stored
}

// cutWindow cuts a window where periods begin.
func cutWindow(w allocation.Window, period allocation.Period, zone *time.Location) ([]allocation.Window, error) {
	return cutWindows([]allocation.Window{w}, period, zone)
}

// cutWindows cuts windows where periods begin.
func cutWindows(windows []allocation.Window, period allocation.Period, zone *time.Location) ([]allocation.Window, error) {
	var list []allocation.Window
	for _, w := range windows {
		for from := w.Start; from.Before(w.End); {
			until := period.Round(allocation.Window{Start: from, End: from.Add(1)}, zone).End
			if until.After(w.End) {
				until = w.End
			}
			list = append(list, allocation.Window{Start: from, End: until.In(zone)})
			from = until
			if len(list) > allocation.MaxSets {
				return nil, fmt.Errorf("the window has more than %d of them, which is the most there may be: use a longer step or a shorter window", allocation.MaxSets)
			}
		}
	}
	return list, nil
}
