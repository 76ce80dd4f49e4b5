package costapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// part is a stretch of the windows that are asked for: sets that one query of the ledger gives.
type part struct {
	query   allocation.Query
	windows []allocation.Window // of the sets, as asked
	empty   bool                // all in the future: nothing to ask for
}

// parts divides a query at now, for data end there: sets that have ended, the one that is running, and those to come. What
// the running set is asked for ends at the last point before now of the grid, which is anchored at the query's end.
func parts(query allocation.Query, now time.Time) ([]part, error) {
	windows, err := query.Windows()
	if err != nil || !query.Window.End.After(now) {
		return []part{{query: query, windows: windows}}, err
	}
	ended := 0
	for !windows[ended].End.After(now) {
		ended++
	}
	var list []part
	if ended > 0 {
		past := query
		past.Window.End = windows[ended-1].End
		list = append(list, part{query: past, windows: windows[:ended]})
	}
	last := now.Truncate(time.Millisecond)
	if r := query.Resolution; r > 0 {
		cells := (query.Window.End.Sub(now) + r - 1) / r
		last = query.Window.End.Add(-cells * r)
	}
	if start := windows[ended].Start; last.After(start) {
		running := allocation.Query{Window: allocation.Window{Start: start, End: last}, Resolution: query.Resolution, ExactBelow: query.ExactBelow}
		list = append(list, part{query: running, windows: windows[ended : ended+1]})
		ended++
	}
	if ended < len(windows) {
		list = append(list, part{windows: windows[ended:], empty: true})
	}
	return list, nil
}

// sets are the sets of a request after the passes, oldest first, at least one, with their windows as asked. The passes run
// on each part by itself: sets of two computations have no dictionary in common. A part without data is a warning as long
// as another one has some.
func (a *api) sets(q *request, passes func([]*allocation.Set) ([]*allocation.Set, error)) ([]*allocation.Set, error) {
	list, err := parts(q.query, q.now)
	if err != nil {
		return nil, err
	}
	var all []*allocation.Set
	var noData error
	loaded := false
	for _, p := range list {
		sets, err := a.load(q, p)
		switch {
		case errors.Is(err, allocation.ErrNoData):
			noData = cmp.Or(noData, err)
			q.warnings = append(q.warnings, err.Error())
			sets = emptySets(p.windows)
		case err != nil:
			return nil, err
		default:
			loaded = loaded || !p.empty
		}
		if sets, err = passes(sets); err != nil {
			return nil, fmt.Errorf("apply the parameters: %w", err)
		}
		all = append(all, sets...)
	}
	if noData != nil && !loaded {
		return nil, noData
	}
	return all, nil
}

// emptySets are sets without allocations.
func emptySets(windows []allocation.Window) []*allocation.Set {
	dict := allocation.NewDict()
	sets := make([]*allocation.Set, len(windows))
	for i, w := range windows {
		sets[i] = allocation.NewSet(w, dict)
	}
	return sets
}

// load asks the ledger for the sets of a part. They are copied where they get another window, for they are shared.
func (a *api) load(q *request, p part) ([]*allocation.Set, error) {
	if p.empty {
		return emptySets(p.windows), nil
	}
	sets := make([]*allocation.Set, 0, len(p.windows))
	for s, err := range a.ledger.Sets(q.ctx, p.query) {
		if err != nil {
			return nil, err
		}
		if s.Reading != nil && !slices.Contains(q.readings, s.Reading) {
			q.readings = append(q.readings, s.Reading)
		}
		if len(sets) < len(p.windows) {
			asked := *s
			asked.Window = p.windows[len(sets)]
			s = &asked
		}
		sets = append(sets, s)
	}
	if len(sets) != len(p.windows) {
		return nil, fmt.Errorf("internal error: %d sets for %d windows: report it", len(sets), len(p.windows))
	}
	return sets, nil
}
