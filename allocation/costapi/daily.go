package costapi

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/expected"
)

// daily is what each result cost on each of some days.
type daily struct {
	days    []allocation.Window // adjacent; the last one may end with the last full hour
	known   []bool              // days that have data enough
	costs   map[string][]float64
	covered []allocation.Covered
	encode.Judged
}

// total stands for all results together. No result has this name.
const total = "\xff"

// lastFullHour is when the last hour ended, on the clock of the zone.
func (q *request) lastFullHour() time.Time {
	return allocation.Hour.Round(allocation.Window{Start: q.now, End: q.now.Add(1)}, q.api.cfg.Zone).Start
}

// finishDays makes the windows of the request whole days, up to the last full hour.
func (q *request) finishDays() error {
	if q.route.endpoint != anomalies {
		return nil
	}
	q.timing.query.Stored, q.timing.query.Resolution = true, allocation.AutoResolution
	list, err := cutWindow(allocation.Day.Round(q.timing.query.Window, q.api.cfg.Zone), allocation.Day, q.api.cfg.Zone)
	if err != nil {
		return badRequest("parameter window: %v", err)
	}
	q.timing.windows = beforeHour(list, q.lastFullHour())
	if q.timing.windows[0].End.After(q.now) {
		q.timing.windows = nil
		q.warn("no hour of the window has ended yet: no day can be compared")
	}
	return nil
}

// daily asks what results cost on the days of windows, with those of the four weeks before.
func (a *api) daily(q *request, windows []allocation.Window) (*daily, error) {
	first := expected.Before(windows[0].Start.Add(1), expected.Horizon, a.cfg.Zone).Start
	before, err := cutWindow(allocation.Window{Start: first, End: windows[0].Start}, allocation.Day, a.cfg.Zone)
	if err != nil {
		return nil, badRequest("parameter window: %v", err)
	}
	return a.costsOf(q, append(before, windows...))
}

// costsOf asks what results cost in each of adjacent windows.
func (a *api) costsOf(q *request, windows []allocation.Window) (*daily, error) {
	d := &daily{days: windows, costs: map[string][]float64{}}
	other := q.forWindows(windows)
	add := func(i int, name string, cost float64) {
		if cost == 0 {
			return
		}
		if d.costs[name] == nil {
			d.costs[name] = make([]float64, len(windows))
		}
		d.costs[name][i] += cost
	}
	if q.route.endpoint&listed != 0 {
		sets, err := a.assetSets(other)
		if err != nil {
			return nil, err
		}
		for i, s := range sets {
			for k := range s.Assets {
				add(i, s.Assets[k].Name, s.Assets[k].TotalCost())
			}
			d.AddSet(s.Window, s.Covered, s.Warnings)
		}
	} else {
		sets, err := a.results(other)
		if err != nil {
			return nil, err
		}
		for i, s := range sets {
			for row := range s.Len() {
				add(i, s.Name(row), s.TotalCost(row))
			}
			d.AddSet(s.Window, s.Covered, s.Warnings)
		}
	}
	q.join(other)
	d.covered = d.Covered()
	for _, w := range windows {
		d.known = append(d.known, expected.Known(w, d.covered))
	}
	return d, q.memory.Draw(int64(len(d.costs)*len(windows)) * 8)
}

// past are the days before the i-th one, as far as they are known.
func (d *daily) past(i int, costs []float64) (p expected.Past) {
	for ago := range min(i, len(p)) {
		p[ago] = expected.Day{Cost: costs[i-1-ago], Known: d.known[i-1-ago]}
	}
	return p
}

// partly are the days before the i-th one, up to the time of the clock at which that one ends, by result. Days that are compared with nothing are
// whole.
func (a *api) partly(q *request, d *daily, i int) (map[string]*expected.Past, error) {
	pasts := map[string]*expected.Past{}
	for name, costs := range d.costs {
		p := d.past(i, costs)
		pasts[name] = &p
	}
	for ago := range expected.Horizon {
		if i-1-ago < 0 || ago >= 7 && ago%7 != 6 {
			continue
		}
		w := expected.Before(d.days[i].End, ago+1, a.cfg.Zone)
		part, err := a.costsOf(q, []allocation.Window{w})
		if err != nil {
			return nil, err
		}
		part.addTotal()
		for name, p := range pasts {
			p[ago] = expected.Day{Known: expected.Known(w, d.covered)}
			if costs := part.costs[name]; costs != nil {
				p[ago].Cost = costs[0]
			}
		}
	}
	return pasts, nil
}

// names are the results, in the order of their names.
func (d *daily) names() []string {
	names := make([]string, 0, len(d.costs))
	for name := range d.costs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// addTotal adds what all results cost together.
func (d *daily) addTotal() {
	sum := make([]float64, len(d.days))
	for _, name := range d.names() { // in one order, so that sums are the same each time
		for i, cost := range d.costs[name] {
			sum[i] += cost
		}
	}
	d.costs[total] = sum
}
