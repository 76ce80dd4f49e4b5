package costapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/passes"
)

// setsQuery is one query of the ledger, and the adjacent windows whose sets it computes.
type setsQuery struct {
	query   allocation.Query
	windows []allocation.Window // of the sets
	empty   bool                // all of it is in the future: there is nothing to ask for
}

// setsQueries divides the windows of sets at now, where data end: into what has begun and what is to come. Computed sets are one query,
// because one grid covers the whole window. Of stored sets, the running one is a query of its own, so that the query for the
// others stays the same until the running set ends.
func setsQueries(windows []allocation.Window, q allocation.Query, now time.Time) (list []setsQuery) {
	now = now.Truncate(time.Millisecond).In(windows[0].End.Location())
	begun := windowsFrom(windows, func(w allocation.Window) bool { return !w.Start.Before(now) })
	data := slices.Clone(windows[:begun])
	if begun > 0 && data[begun-1].End.After(now) {
		data[begun-1].End = now
	}
	switch ended := windowsFrom(windows, func(w allocation.Window) bool { return w.End.After(now) }); {
	case begun == 0:
	case q.Stored:
		list = evenQueries(windows[:ended], q)
		if ended < begun {
			list = append(list, setsQuery{query: q.Over(data[ended:]), windows: windows[ended:begun]})
		}
	default:
		list = []setsQuery{{query: q.Over(data), windows: windows[:begun]}}
	}
	if begun < len(windows) {
		list = append(list, setsQuery{windows: windows[begun:], empty: true})
	}
	return list
}

// windowsFrom is the index of the first window for which so holds. It holds for all windows that follow.
func windowsFrom(windows []allocation.Window, so func(w allocation.Window) bool) int {
	return sort.Search(len(windows), func(i int) bool { return so(windows[i]) })
}

// evenQueries divides adjacent windows into queries, oldest first. The sets of a query have the same length, except that the first
// may be shorter. Days have one length unless clocks change.
func evenQueries(windows []allocation.Window, q allocation.Query) []setsQuery {
	var list []setsQuery
	for end := len(windows); end > 0; {
		step := windows[end-1].Duration()
		from := end - 1
		for from > 0 && windows[from-1].Duration() == step {
			from--
		}
		if from > 0 && windows[from-1].Duration() < step {
			from--
		}
		q.Window, q.Step = allocation.Window{Start: windows[from].Start, End: windows[end-1].End}, 0
		if end-from > 1 {
			q.Step = step
		}
		list = append(list, setsQuery{query: q, windows: windows[from:end]})
		end = from
	}
	slices.Reverse(list)
	return list
}

// sets are the computed sets of a request before the passes: at least one, oldest first, with their windows as asked, over one
// dictionary.
func (a *api) sets(q *request, windows []allocation.Window) ([]*allocation.Set, error) {
	var all []*allocation.Set
	problems := a.problems(q)
	err := a.eachSet(q, windows, func(s *allocation.Set) error {
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	all = passes.Join(all)
	for _, p := range problems {
		for _, s := range all {
			p.Add(s)
		}
	}
	q.warnProblems(problems)
	return all, nil
}

// eachSet calls f with the sets of windows, oldest first, as they come. They may have several dictionaries. Windows without data
// are empty sets, with a warning. So are windows that another process has to compute, unless all are.
func (a *api) eachSet(q *request, windows []allocation.Window, f func(*allocation.Set) error) error {
	var gaps []gap
	var refused error
	var held []allocation.Window // until it is known whether there is any data
	found := false
	put := func(s *allocation.Set) error {
		if err := eachEmpty(held, f); err != nil {
			return err
		}
		held, found = nil, true
		return f(s)
	}
	for _, p := range setsQueries(windows, q.timing.query, q.now) {
		if p.empty && !found {
			held = append(held, p.windows...)
			continue
		}
		err := a.load(q, p, put)
		switch {
		case allocation.HasNothing(err):
			gaps = addGap(gaps, p.windows, err)
			err = eachEmpty(p.windows, put)
		case errors.Is(err, allocation.ErrNotComputed) && !errors.Is(err, allocation.ErrUpstream):
			gaps, refused = addGap(gaps, p.windows, err), cmp.Or(refused, err)
			held, err = append(held, p.windows...), nil
			if found {
				err = eachEmpty(held, f)
				held = nil
			}
		}
		if err != nil {
			return err
		}
	}
	if !found && refused != nil {
		return refused
	}
	for _, g := range gaps {
		q.warn("%s", g.text())
	}
	return eachEmpty(held, f)
}

// gap is a time without data, and its reason.
type gap struct {
	window  allocation.Window
	reason  string
	unknown bool // another process has to compute it
}

// text is the gap as a warning.
func (g *gap) text() string {
	if g.unknown {
		return notices.HoleWarning(g.window, g.reason)
	}
	return fmt.Sprintf("%v from %s to %s: %s", allocation.ErrNoData, g.window.Start.Format(time.RFC3339), g.window.End.Format(time.RFC3339), g.reason)
}

// addGap adds adjacent windows that have no data because of err. It extends the last gap if that is adjacent and has the same
// reason.
func addGap(gaps []gap, windows []allocation.Window, err error) []gap {
	g := gap{allocation.Window{Start: windows[0].Start, End: windows[len(windows)-1].End}, err.Error(), errors.Is(err, allocation.ErrNotComputed)}
	if _, reason, ok := strings.Cut(g.reason, allocation.ErrNoData.Error()+": "); ok {
		g.reason = reason
	}
	if last := len(gaps) - 1; last >= 0 && gaps[last].reason == g.reason && gaps[last].window.End.Equal(g.window.Start) {
		gaps[last].window.End = g.window.End
		return gaps
	}
	return append(gaps, g)
}

// eachEmpty calls f with an empty set of each window.
func eachEmpty(windows []allocation.Window, f func(*allocation.Set) error) error {
	dict := allocation.NewDict()
	for _, w := range windows {
		if err := f(allocation.NewSet(w, dict)); err != nil {
			return err
		}
	}
	return nil
}

// problem is something wrong with a derived property or a label that the answer depends on, collected over the sets of its window.
type problem interface {
	Add(s *allocation.Set)
	String() string // "" where nothing is wrong
}

// problems watch the derived properties and the labels that the answer depends on.
func (a *api) problems(q *request) (list []problem) {
	for _, d := range a.cfg.Derived {
		if q.derives(d) {
			list = append(list, d.Problems())
		}
	}
	for _, use := range q.selection.labels[:min(len(q.selection.labels), maxEntries)] {
		list = append(list, allocation.NewLabelSearch(use, q.selection.labelNames))
	}
	return list
}

// warnProblems adds the warnings of problems.
func (q *request) warnProblems(problems []problem) {
	for _, p := range problems {
		if text := p.String(); text != "" && !slices.Contains(q.warnings, text) {
			q.warnings = append(q.warnings, text)
		}
	}
}

// derives reports whether the answer depends on a derived property.
func (q *request) derives(d *allocation.Derived) bool {
	if filter.Uses(q.selection.filters, filter.Field(d.Name())) || q.search.field != nil && q.search.field.name == d.Name() {
		return true
	}
	return slices.ContainsFunc(q.options.Aggregate, func(k allocation.Key) bool { return k.String() == d.Name() })
}

// apply runs the passes. It first draws the memory for their results.
func (q *request) apply(sets []*allocation.Set, o passes.Options) ([]*allocation.Set, error) {
	if err := q.memory.Draw(allocation.SetsBytes(sets)); err != nil {
		return nil, err
	}
	out, err := passes.Apply(sets, o)
	return out, unapplied(err)
}

// unapplied wraps the error of a pass, nil if there is none. A failure there is not the client's fault.
func unapplied(err error) error {
	if err != nil {
		return fmt.Errorf("apply the parameters: %w", err)
	}
	return nil
}

// load asks the ledger for the sets of a query and calls f with them. A set that gets another window is copied, because sets are
// shared. A query without data yields no sets and no error yet.
func (a *api) load(q *request, p setsQuery, f func(*allocation.Set) error) error {
	if p.empty {
		return eachEmpty(p.windows, f)
	}
	n := 0
	for s, err := range a.ledger.Sets(q.ctx, p.query) {
		if err != nil {
			return err
		}
		q.provenance.add(s)
		if n < len(p.windows) {
			asked := *s
			asked.Window = p.windows[n]
			if err := f(&asked); err != nil {
				return err
			}
		}
		n++
	}
	if n != len(p.windows) {
		return fmt.Errorf("internal error: %d sets for %d windows: report it", n, len(p.windows))
	}
	return nil
}
