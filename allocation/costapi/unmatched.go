package costapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// entry is one element of a list parameter that selects rows.
type entry struct {
	parameter, text string
	filter          *filter.Filter
}

func newEntry(parameter, text string, f *filter.Filter) entry { return entry{parameter, text, f} }

// addV1Entries adds the entries of the filters of the first language. They can be parsed: the filters were parsed before.
func (q *request) addV1Entries() {
	for _, v := range q.selection.v1 {
		for text := range strings.SplitSeq(v.value, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if e, err := filter.V1(v.name, text, q.vocabulary...); err == nil {
				q.selection.entries = append(q.selection.entries, newEntry(v.name, text, filter.New(e, q.vocabulary...)))
			}
		}
	}
}

// maxEntries is how many entries are looked for one by one. More would take longer than the answer.
const maxEntries = 100

// filterMatches say which of a request's filters matched a row in the sets of its window.
type filterMatches struct {
	some    bool // there are rows
	entries missed
	selects missed
}

// missed are the filters that have matched nothing yet.
type missed struct {
	list    []entry
	matched []bool
	steps   *filter.Steps // a budget of its own: the filters' budget is for the answer
}

func (q *request) missed(list []entry) missed {
	list = slices.Clone(list)
	for i := range list {
		list[i].filter = list[i].filter.Among(q.selection.labelNames)
	}
	return missed{list, make([]bool, len(list)), filter.NewSteps(q.ctx, q.api.cfg.MaxFilterSteps)}
}

// look marks the filters that match a row of s.
func (m *missed) look(s *allocation.Set) {
	for i := range m.list {
		m.matched[i] = m.matched[i] || m.list[i].within(m.steps, s)
	}
}

// newMatches returns what the filters have matched before the first set: nothing.
func (q *request) newMatches() *filterMatches {
	s := &filterMatches{selects: q.missed(q.selection.selects)}
	if len(q.selection.entries) <= maxEntries {
		s.entries = q.missed(q.selection.entries)
	}
	return s
}

// look adds what the filters match in a set.
func (s *filterMatches) look(set *allocation.Set) {
	s.some = s.some || set.Len() > 0
	s.entries.look(set)
	s.selects.look(set)
}

// warnUnmatched warns about entries that select nothing in the window: they may be misspelled. In an empty window it warns about
// none.
func (q *request) warnUnmatched(s *filterMatches) {
	if !s.some {
		return
	}
	var parameters []string
	lost := map[string][]string{}
	for i, e := range s.entries.list {
		if s.entries.matched[i] {
			continue
		}
		if lost[e.parameter] == nil {
			parameters = append(parameters, e.parameter)
		}
		lost[e.parameter] = append(lost[e.parameter], shorten(e.text))
	}
	for _, name := range parameters {
		q.warn("parameter %s: nothing of the window matches %s", name, someOf(lost[name]))
	}
}

// warnEmpty is warnNothing for sets that are all in memory.
func (q *request) warnEmpty(sets, answer []*allocation.Set) {
	if len(q.selection.selects) == 0 || hasResults(answer) {
		return
	}
	seen := &filterMatches{selects: q.missed(q.selection.selects)}
	for _, s := range sets {
		seen.look(s)
	}
	q.warnNothing(seen, answer)
}

// hasResults reports whether an answer has rows other than idle and shared costs.
func hasResults(answer []*allocation.Set) bool {
	for _, s := range answer {
		for row := range s.Len() {
			if kind := s.Special(row); kind != allocation.Idle && kind != allocation.Shared {
				return true
			}
		}
	}
	return false
}

// warnNothing warns that filters or selectors select nothing if the answer has only leftover rows. It names the one to blame, or
// says that they do so together.
func (q *request) warnNothing(s *filterMatches, answer []*allocation.Set) {
	if len(q.selection.selects) == 0 || !s.some || hasResults(answer) {
		return
	}
	warned := false
	for i, e := range s.selects.list {
		if !s.selects.matched[i] {
			warned = true
			q.warn("parameter %s: nothing of the window matches %s: check how it is spelled; if it is right, see https://github.com/promcost/promcost/blob/main/TROUBLESHOOTING.md#pods-are-missing", e.parameter, shorten(e.text))
		}
	}
	if !warned && len(q.selection.selects) > 1 {
		q.warn("nothing of the window matches all of the filter and the selectors, each of which matches something")
	}
}

// within reports whether a row of a set matches. It also does if finding out would take too long.
func (e *entry) within(steps *filter.Steps, s *allocation.Set) bool {
	match, err := e.filter.Within(steps).Bind(s)
	if err != nil {
		return true
	}
	for row := range s.Len() {
		if match(row) {
			return true
		}
	}
	return false
}

// someOf lists the first texts of a long list.
func someOf(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// checkTypes refuses a list with an unknown type of assets. A type may end in * for all that begin so.
func checkTypes(list string) error {
	var known []string
	for t := range allocation.NumAssetTypes {
		if t.String() != "" {
			known = append(known, t.String())
		}
	}
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		prefix, open := strings.CutSuffix(text, "*")
		is := func(name string) bool {
			return strings.EqualFold(name, text) || open && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
		}
		if text != "" && !slices.ContainsFunc(known, is) {
			return unknownName("type", text, known)
		}
	}
	return nil
}
