package costapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/windows"
)

// finishChange gives the passes the keys that a change is explained by.
func (q *request) finishChange() {
	if q.route.endpoint != changes {
		return
	}
	if len(q.options.Aggregate) == 0 {
		q.options.Aggregate = allocation.InstanceKeys()
	}
	q.levels = change.Levels{Keys: q.options.Aggregate, Parts: q.drill}
	q.options = q.levels.Options(q.options)
}

// finishOwners adds the keys that say whose the rows of a change are.
func (q *request) finishOwners() {
	if q.route.endpoint != changes {
		return
	}
	q.levels.Owners = q.aliasKeys("owner,team")
	q.options.Aggregate = slices.Concat(q.options.Aggregate, q.levels.Owners)
}

// finishBaseline finds the window to compare with and the windows of its sets. Stored windows that reach the present end with the
// last full hour, so that both windows have the same length.
func (q *request) finishBaseline() error {
	if q.route.endpoint&compared == 0 {
		return nil
	}
	if !q.timing.query.Stored {
		q.timing.windows = []allocation.Window{q.timing.query.Window}
	} else {
		q.timing.windows = beforeHour(q.timing.windows, allocation.Hour.Round(allocation.Window{Start: q.now, End: q.now.Add(1)}, q.api.cfg.Zone).Start)
	}
	whole := whole(q.timing.windows)
	before, given := q.baselineOf(whole), q.timing.baseline != ""
	if given {
		var err error
		if before, _, err = windows.Parse(q.timing.baseline, q.now, q.api.cfg.Zone, windows.Exact); err != nil {
			name := "baseline"
			if q.route.endpoint == assetDiffs {
				name = "before"
			}
			return badRequest("parameter %s: %v", name, err)
		}
	}
	if !q.timing.query.Stored {
		q.timing.before = []allocation.Window{before}
		return nil
	}
	if hours := allocation.Hour.Round(before, q.api.cfg.Zone); given && hours != before {
		q.warn("stored sets begin and end at hours of the clock: the baseline is %s to %s; name a resolution for windows between any instants",
			hours.Start.Format(time.RFC3339), hours.End.Format(time.RFC3339))
		before = hours
	}
	list, err := cutWindow(before, q.timing.cut, q.api.cfg.Zone)
	if err != nil {
		return badRequest("parameter window: %v", err)
	}
	if list = beforeHour(list, q.now); given && !list[0].Start.Before(q.now) {
		return badRequest("parameter baseline: %v", errors.New("it lies in the future: give a window in the past"))
	}
	q.timing.before = list
	return nil
}

// beforeHour cuts off what lies after an instant, unless nothing would be left.
func beforeHour(list []allocation.Window, until time.Time) []allocation.Window {
	list = slices.Clone(list)
	n := windowsFrom(list, func(w allocation.Window) bool { return !w.Start.Before(until) })
	if n == 0 {
		return list
	}
	if list = list[:n]; list[n-1].End.After(until) {
		list[n-1].End = until
	}
	return list
}

// whole is the window of adjacent windows.
func whole(list []allocation.Window) allocation.Window {
	return allocation.Window{Start: list[0].Start, End: list[len(list)-1].End}
}

// calendarUnits are the periods that windows may be, the shortest first, and words the periods of words.
var calendarUnits = []allocation.Period{allocation.Day, allocation.Week, allocation.Month, allocation.Quarter}

var calendarWords = map[string]allocation.Period{
	"today": allocation.Day, "yesterday": allocation.Day, "week": allocation.Week, "lastweek": allocation.Week, "month": allocation.Month, "lastmonth": allocation.Month,
}

// baselineOf is the default of the window to compare with (SEMANTICS §9): of a calendar unit the one before, as much of it as has
// passed of a running one; else as much time before the window.
func (q *request) baselineOf(w allocation.Window) allocation.Window {
	zone := q.api.cfg.Zone
	asked := calendarUnits
	if period, ok := calendarWords[strings.TrimSpace(q.timing.window)]; ok {
		asked = []allocation.Period{period}
	}
	if now := q.now.Truncate(time.Millisecond); w.End.After(now) && w.Start.Before(now) {
		w.End = now
	}
	for _, period := range asked {
		unit := period.Round(allocation.Window{Start: w.Start, End: w.Start.Add(1)}, zone)
		if !unit.Start.Equal(w.Start) || len(asked) > 1 && !unit.End.Equal(w.End) {
			continue
		}
		before := period.Round(allocation.Window{Start: unit.Start.Add(-1), End: unit.Start}, zone)
		if end := before.Start.Add(w.Duration()); w.End.Before(unit.End) && end.Before(before.End) {
			before.End = end
		}
		return before
	}
	return allocation.Window{Start: w.Start.Add(-w.Duration()), End: w.Start}
}

// forWindows is the same request for other windows. Its warnings and its provenance are its own.
func (q *request) forWindows(list []allocation.Window) *request {
	other := *q
	other.timing.windows, other.timing.query.Window = list, whole(list)
	other.timing.query.Only = other.needs()
	other.warnings, other.provenance = nil, provenance{}
	return &other
}

// join adds the warnings and the provenance of the request for the baseline.
func (q *request) join(before *request) {
	for _, text := range before.warnings {
		if !slices.Contains(q.warnings, text) {
			q.warnings = append(q.warnings, text)
		}
	}
	q.provenance.readings = append(slices.Clone(before.provenance.readings), q.provenance.readings...)
	q.provenance.known = q.provenance.known || before.provenance.known
	q.provenance.priced.AddPricedBy(&q.provenance.priced, &before.provenance.priced)
	q.provenance.estimated.Add(before.provenance.estimated)
	q.provenance.resolution = max(q.provenance.resolution, before.provenance.resolution)
}

// explainingBytes is about the memory that explaining takes for a row of either set.
const explainingBytes = 512

// serveChange answers with why costs changed.
func (a *api) serveChange(w http.ResponseWriter, q *request) error {
	before := q.forWindows(q.timing.before)
	var sets []*allocation.Set
	var sides [2]change.Side
	for i, of := range [...]*request{before, q} {
		got, err := a.results(of)
		if err != nil {
			return err
		}
		sets = append(sets, got...)
		sides[i] = change.Side{Set: got[0], Covered: coverage.Measure(whole(of.timing.windows), got[0].Covered, q.now)}
	}
	missing := slices.Concat(before.missing("baseline", sides[0]), q.missing("window", sides[1]))
	q.join(before)
	if err := q.memory.Draw(int64(sets[0].Len()+sets[1].Len()) * explainingBytes); err != nil {
		return err
	}
	rows, total, err := change.Explain(sides[0], sides[1], q.levels)
	if err != nil {
		return err
	}
	page := q.output.page
	rows = rows[min(page.Offset, len(rows)):]
	if page.Limit > 0 {
		rows = rows[:min(page.Limit, len(rows))]
	}
	if err := a.addSince(q, rows, &total); err != nil {
		return err
	}
	if err := q.memory.Draw(min(int64(len(rows))*encodingBytes, mostEncoding)); err != nil {
		return err
	}
	c := &encode.Changed{Baseline: whole(q.timing.before), Window: whole(q.timing.windows), Missing: missing, Sides: sides, Total: total, Rows: rows, Drilled: len(q.drill) > 0}
	o := a.encoding(q)
	if q.output.format == "csv" {
		q.startFile(w, o.AllWarnings(sets))
		return encode.ChangeCSV(w, c)
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Change(w, c, sets, o)
}

// missing are the parts of the request's window that lack costs, with a warning if some of them has costs.
func (q *request) missing(name string, side change.Side) []allocation.Window {
	if c := &side.Covered; c.Hours > 0 && !c.Whole() {
		q.warn("the %s: %s: what is missing is the effect window, and relative changes compare the costs of an hour that has data", name, c.Text())
	}
	return notices.Holes(slices.Concat(q.warnings, side.Set.Warnings), whole(q.timing.windows))
}
