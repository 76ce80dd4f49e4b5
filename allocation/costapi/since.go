package costapi

import (
	"math"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
)

// When costs changed is looked for hour by hour in up to the time hourly, and day by day in more; no further back from the window than lookBack.
const (
	hourly   = 72 * time.Hour
	lookBack = 92 * 24 * time.Hour
)

// addSince says since when rows, their parts and the sum of all cost what they do (SEMANTICS §9). For computed sets that stays unknown, for both windows would
// have to be read a second time.
func (a *api) addSince(q *request, rows []change.Row, sum *change.Row) error {
	if !q.timing.query.Stored || len(q.timing.windows) == 0 {
		return nil
	}
	steps, from, err := q.sinceSteps()
	if err != nil {
		return err
	}
	other := *q // whose warnings and provenance are left out: those of the two windows say the same
	other.options = q.levels.StepOptions(q.options)
	d, err := a.costsOf(&other, steps)
	if err != nil {
		return err
	}
	d.addTotal()
	since := func(costs []float64) time.Time {
		rates := make([]float64, len(steps))
		for i, w := range steps {
			switch {
			case !d.known[i]:
				rates[i] = math.NaN()
			case i < len(costs): // a row without costs has none
				rates[i] = costs[i] / w.Duration().Hours()
			}
		}
		if first, ok := change.Since(rates, from); ok {
			return steps[first].Start.In(q.api.cfg.Zone)
		}
		return time.Time{}
	}
	byName := q.byLevel(d)
	sum.Since = since(d.costs[total])
	for i := range rows {
		r := &rows[i]
		r.Since = since(byName[[2]string{r.Name}])
		for k := range r.Parts {
			r.Parts[k].Since = since(byName[[2]string{r.Name, r.Parts[k].Name}])
		}
	}
	return nil
}

// sinceSteps are the hours or days from the baseline to the end of the window, oldest first, and the index of the first that is of the window.
func (q *request) sinceSteps() (steps []allocation.Window, from int, err error) {
	window := whole(q.timing.windows)
	all := window
	if start := whole(q.timing.before).Start; start.Before(all.Start) {
		all.Start = later(start, allocation.Day.Round(allocation.Window{Start: all.Start.Add(-lookBack), End: all.Start}, q.api.cfg.Zone).Start)
	}
	period := allocation.Day
	if all.Duration() <= hourly {
		period = allocation.Hour
	}
	if steps, err = cutWindow(all, period, q.api.cfg.Zone); err != nil {
		return nil, 0, badRequest("parameter window: %v", err)
	}
	return steps, windowsFrom(steps, func(w allocation.Window) bool { return w.End.After(window.Start) }), nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// byLevel are the costs of steps by the names of rows, with an empty name beside them, and of parts.
func (q *request) byLevel(d *daily) map[[2]string][]float64 {
	out := map[[2]string][]float64{}
	for _, name := range d.names() {
		row, part := q.levels.Named(name)
		keys := [][2]string{{row}}
		if part != "" {
			keys = append(keys, [2]string{row, part})
		}
		for _, key := range keys {
			if out[key] == nil {
				out[key] = make([]float64, len(d.days))
			}
			for i, cost := range d.costs[name] {
				out[key][i] += cost
			}
		}
	}
	return out
}
