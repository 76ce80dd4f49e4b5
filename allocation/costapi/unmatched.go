package costapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// entry is one of a list that is given for a parameter, and selects rows.
type entry struct {
	parameter, text string
	filter          *filter.Filter
}

func newEntry(parameter, text string, f *filter.Filter) entry { return entry{parameter, text, f} }

// noteV1 notes the entries of the filters of the first language, each by itself. They were parsed before.
func (q *request) noteV1() {
	for _, v := range q.v1 {
		for text := range strings.SplitSeq(v.value, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if e, err := filter.V1(v.name, text, q.api.vocabulary...); err == nil {
				q.entries = append(q.entries, newEntry(v.name, text, filter.New(e, q.api.vocabulary...)))
			}
		}
	}
}

// maxEntries is how many entries are looked for by themselves: more would take longer than the answer.
const maxEntries = 100

// warnUnmatched says which entries select nothing of the window: they may well be misspelled. A window in which there is
// nothing says nothing of them.
func (q *request) warnUnmatched(sets []*allocation.Set) {
	if len(q.entries) > maxEntries || !slices.ContainsFunc(sets, func(s *allocation.Set) bool { return s.Len() > 0 }) {
		return
	}
	var parameters []string
	lost := map[string][]string{}
	steps := filter.NewSteps(q.ctx) // the filters' own are for the answer
	for _, e := range q.entries {
		if slices.ContainsFunc(sets, e.within(steps)) {
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

// warnEmpty says which filter or selector leaves nothing of the window's sets for an answer that has nothing but what was
// left over, or that they do so together.
func (q *request) warnEmpty(sets, answer []*allocation.Set) {
	some := func(sets []*allocation.Set, is func(allocation.Special) bool) bool {
		return slices.ContainsFunc(sets, func(s *allocation.Set) bool {
			for row := range s.Len() {
				if is(s.Special(row)) {
					return true
				}
			}
			return false
		})
	}
	if len(q.selects) == 0 || some(answer, func(kind allocation.Special) bool { return kind != allocation.Idle && kind != allocation.Shared }) ||
		!some(sets, func(allocation.Special) bool { return true }) {
		return
	}
	steps, told := filter.NewSteps(q.ctx), false
	for _, e := range q.selects {
		if !slices.ContainsFunc(sets, e.within(steps)) {
			told = true
			q.warn("parameter %s: nothing of the window matches %s", e.parameter, shorten(e.text))
		}
	}
	if !told && len(q.selects) > 1 {
		q.warn("nothing of the window matches all of the filter and the selectors, each of which matches something")
	}
}

// within tells whether a row of a set matches, or it would take too long to tell.
func (e *entry) within(steps *filter.Steps) func(*allocation.Set) bool {
	bounded := e.filter.Within(steps)
	return func(s *allocation.Set) bool {
		match, err := bounded.Bind(s)
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
}

// someOf lists the first texts of a long list.
func someOf(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// checkTypes refuses a list of types of assets that has one which there is not. One that ends in a * may be any that begins so.
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
