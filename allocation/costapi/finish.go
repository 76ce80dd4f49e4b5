package costapi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// finish checks and places what depends on several parameters. given says which of them the request has.
func (q *request) finish(given func(name string) bool) error {
	if q.window == "" {
		return badRequest("parameter window is missing: give one such as window=1d, window=today or window=2026-01-01T00:00:00Z,2026-01-02T00:00:00Z")
	}
	for _, check := range [...]func() error{q.finishFormat, q.finishIdle, q.finishFilters, q.finishSearch} {
		if err := check(); err != nil {
			return err
		}
	}
	return q.finishWindow(given)
}

// finishFormat checks what goes with a format.
func (q *request) finishFormat() error {
	q.options.Check = q.api.cfg.Check
	q.options.Zone = q.api.cfg.Zone
	if q.format != "csv" {
		return nil
	}
	switch {
	case q.explain:
		return badRequest("parameter explain: CSV has no place for it: use format=json")
	case len(q.fields) > 0:
		return badRequest("parameter fields: CSV has columns of its own: use format=json, or csvColumns=full")
	case q.options.Accumulate > allocation.All:
		q.warn("CSV is of one set: accumulate is all")
	}
	if q.route.endpoint != ackAllocations {
		q.options.Accumulate = allocation.All
	}
	return nil
}

// warn adds a warning to the answer.
func (q *request) warn(format string, args ...any) {
	q.warnings = append(q.warnings, fmt.Sprintf(format, args...))
}

// finishIdle checks what goes with idle. OpenCost's paths share it only where it is included.
func (q *request) finishIdle() error {
	if q.options.Proportions && !q.options.Idle {
		return badRequest("parameter includeProportionalAssetResourceCosts: it needs idle, for assets cost that, too: give includeIdle=true")
	}
	if q.family == openCost && !q.options.Idle {
		q.options.ShareIdle = allocation.NoSplit
	}
	return nil
}

// finishFilters makes one filter of those of the first language, which have no effect beside one of the second.
func (q *request) finishFilters() error {
	if len(q.v1) == 0 {
		return nil
	}
	if q.options.Filter != nil || q.assets.Filter != nil {
		for _, v := range q.v1 {
			q.warn("parameter %s has no effect beside filter", v.name)
		}
		return nil
	}
	if q.route.endpoint&listed != 0 {
		return q.finishAssetFilters()
	}
	var all filter.And
	for _, v := range q.v1 {
		e, err := filter.V1(v.name, v.value, q.api.cfg.Labels)
		if err != nil {
			return badRequest("parameter %s=%s: %v", v.name, shorten(v.value), err)
		}
		all = append(all, e)
	}
	q.options.Filter = filter.New(all)
	return nil
}

func (q *request) finishAssetFilters() error {
	var all []filter.AssetFilter
	for _, v := range q.v1 {
		f, err := filter.V1Assets(v.name, v.value)
		if err != nil {
			return badRequest("parameter %s=%s: %v", v.name, shorten(v.value), err)
		}
		all = append(all, f)
	}
	q.assets.Filter = func(a *allocation.Asset) bool {
		for _, f := range all {
			if !f(a) {
				return false
			}
		}
		return true
	}
	return nil
}

// finishSearch checks what single endpoints require.
func (q *request) finishSearch() error {
	switch {
	case q.route.endpoint == trends && len(q.names) == 0:
		return badRequest("parameter names is missing: name the results whose trends are asked for, such as names=web,batch with aggregate=namespace")
	case q.route.endpoint&(completions|assetCompletions) != 0 && q.complete == nil:
		return badRequest("parameter field is missing: give one such as field=namespace")
	}
	return nil
}

// finishWindow places the window and cuts it into those of the sets.
func (q *request) finishWindow(given func(name string) bool) error {
	style := allocation.ExactWindows
	if q.family == openCost {
		style = allocation.RoundedWindows
	}
	w, relative, err := allocation.ParseWindow(q.window, q.now, q.api.cfg.Zone, style)
	if err != nil {
		return badRequest("parameter window: %v", err)
	}
	if q.route.endpoint == ackAllocations && w.Duration() < 24*time.Hour && !q.wholeDays(w) {
		return badRequest("parameter window: %s is %s long, bills are of whole days: give 24h or more", shorten(q.window), w.Duration())
	}
	if err := q.chooseResolution(given, w.Duration()); err != nil {
		return err
	}
	if relative {
		w = w.Align(q.query.Resolution)
	}
	q.query.Window = w
	switch {
	case q.route.stored:
		q.windows, err = q.storedWindows(w, relative)
	case q.route.endpoint&stepped == 0 || q.route.endpoint == assets:
		q.windows = []allocation.Window{w}
	case q.query.Step == 0 && q.options.Accumulate > allocation.All:
		q.windows, err = cutWindow(w, q.options.Accumulate, q.api.cfg.Zone)
	default:
		q.windows, err = q.query.Windows()
	}
	if err != nil {
		return badRequest("parameter step: %v", err)
	}
	return nil
}

// wholeDays reports whether a window is of calendar days: named by a word, or from midnight to midnight. Where clocks
// change, one of them has 23 hours.
func (q *request) wholeDays(w allocation.Window) bool {
	if !strings.ContainsAny(q.window, "0123456789") {
		return true
	}
	return allocation.Day.Round(w, q.api.cfg.Zone) == w
}

// storedWindows are the windows of the sets that are kept of a window: days of the time zone, or hours where it is a
// duration under 24h. All are whole but the last, which ends now if the window does.
func (q *request) storedWindows(w allocation.Window, relative bool) ([]allocation.Window, error) {
	period := allocation.Day
	if w.Duration() < 24*time.Hour && (relative || !q.wholeDays(w)) {
		period = allocation.Hour
	}
	switch q.query.Step {
	case 0:
	case time.Hour:
		period = allocation.Hour
	case 24 * time.Hour:
		period = allocation.Day
	default:
		return nil, fmt.Errorf("step %s is not that of stored sets: use 1h or 1d, or ask %s/compute", q.query.Step, strings.TrimSuffix(q.route.path, "/summary"))
	}
	whole := period.Round(w, q.api.cfg.Zone)
	// What has no second half, as the words week and month, ends with the running second.
	if whole.End.After(q.now) && !w.End.After(q.now.Add(time.Second)) {
		whole.End = q.now.Truncate(max(q.query.Resolution, time.Second))
		if w.End.After(whole.End) {
			whole.End = w.End
		}
	}
	list, err := cutWindow(whole, period, q.api.cfg.Zone)
	if err != nil {
		return nil, err
	}
	kept := slices.IndexFunc(list, func(w allocation.Window) bool { return !w.Start.Before(q.now) })
	if kept < 0 {
		kept = len(list)
	}
	return list[:max(kept, 1)], nil // nothing is kept of times to come
}

// cutWindow cuts a window where periods begin.
func cutWindow(w allocation.Window, period allocation.Period, zone *time.Location) ([]allocation.Window, error) {
	var list []allocation.Window
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
	return list, nil
}
