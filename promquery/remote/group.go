package remote

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// A request costs the server a fixed effort, and most inputs have few series or none. So the query API is asked for several
// selectors at once: for selectors of one metric that differ in the value of one label, and for several metrics whose selectors
// allow it (AtOnce), as long as the server has few samples of them. All other matchers are the same for all selectors of a group.
// So unwanted series come along only if a value is combined with a name that it was not asked for with.

// metricName is the label of a metric's name.
const metricName = "__name__"

// group is selectors of one range, grid and lookback that are asked for together.
type group struct {
	span    promquery.Request   // the range, grid and lookback
	raw     bool                // raw samples are asked for, and become points of the grid here
	atOnce  int                 // how many metrics there may be
	names   []string            // the metrics
	shared  []promquery.Matcher // that all series match
	label   string              // whose value differs between selectors, "" if none does
	values  []promquery.Matcher // of label: all series match one of them
	members []member
	rate    float64 // samples a millisecond, as estimated; 0 if unknown
	most    int64   // samples that a request should have, as far as time can be divided for that; 0 if no rate is known
}

// member is a selector of a group.
type member struct {
	i     int // its place in the caller's list
	sel   *promquery.Request
	name  string
	value promquery.Matcher // of the group's label
	match []*labels.Matcher // without the name
	at    int64             // the only time that is wanted; 0 is all
}

// newGroup is the group of one selector.
func newGroup(i int, sel promquery.Request) (*group, error) {
	match, err := chunks.Matchers(&sel)
	if err != nil {
		return nil, err
	}
	g := &group{span: sel, atOnce: max(1, sel.AtOnce), shared: slices.Clone(sel.Matchers)}
	m := member{i: i, sel: &sel, name: sel.Metric, match: match[1:]}
	if at := slices.IndexFunc(g.shared, picks); at >= 0 && !slices.ContainsFunc(g.shared[at+1:], picks) {
		m.value = g.shared[at]
		g.label, g.shared = m.value.Name, slices.Delete(g.shared, at, at+1)
	}
	g.add(m)
	return g, nil
}

// add adds a selector.
func (g *group) add(m member) {
	g.members = append(g.members, m)
	if !slices.Contains(g.names, m.name) {
		g.names = append(g.names, m.name)
	}
	if g.label != "" && !slices.Contains(g.values, m.value) {
		g.values = append(g.values, m.value)
	}
}

// kept returns the labels that the group's selectors keep, as PromQL writes them.
func (g *group) kept() []string {
	var out []string
	for _, l := range g.span.Keep {
		out = append(out, labelText(l.Name))
	}
	return out
}

// labelText writes the name of a label in PromQL.
func labelText(name string) string {
	if model.LegacyValidation.IsValidLabelName(name) {
		return name
	}
	return strconv.Quote(name)
}

// halves divides the group into two with other names, else with other values; nil if it has one of each.
func (g *group) halves() []*group {
	if len(g.names) == 1 && len(g.values) < 2 {
		return nil
	}
	var out []*group
	for _, second := range []bool{false, true} {
		half := g.part(func(m *member) bool {
			late := slices.Index(g.names, m.name) >= len(g.names)/2
			if len(g.names) == 1 {
				late = slices.Index(g.values, m.value) >= len(g.values)/2
			}
			return late == second
		})
		half.rate = g.rate / 2
		out = append(out, half)
	}
	return out
}

// part is the group with some of its members.
func (g *group) part(of func(*member) bool) *group {
	out := &group{span: g.span, raw: g.raw, atOnce: g.atOnce, shared: g.shared, label: g.label, rate: g.rate, most: g.most}
	for i := range g.members {
		if of(&g.members[i]) {
			out.add(g.members[i])
		}
	}
	return out
}

// picks reports whether a matcher selects values instead of excluding some.
func picks(m promquery.Matcher) bool {
	return m.Type == promquery.MatchEqual || m.Type == promquery.MatchRegexp
}

// alike reports whether two groups ask for the same times in the same way, and one request can ask for both.
func (g *group) alike(o *group) bool {
	return g.span.Start == o.span.Start && g.span.End == o.span.End && g.span.Grid.Step == o.span.Grid.Step && g.span.Grid.Lookback == o.span.Grid.Lookback &&
		g.span.Grid.Times == o.span.Grid.Times &&
		g.label == o.label && slices.Equal(g.shared, o.shared)
}

// byMetric divides selectors, whose indexes in the caller's list are in index, into groups of one metric each. A selector that
// wants only the last value is a group of its own.
func byMetric(index []int, requests []promquery.Request) (metrics, lasts []*group, err error) {
	for k, sel := range requests {
		g, err := newGroup(index[k], sel)
		if err != nil {
			return nil, nil, err
		}
		if sel.Grid.Last && sel.Grid.Step > 0 {
			lasts = append(lasts, g)
			continue
		}
		metrics = gather(metrics, g, func(o *group) bool { return o.names[0] == sel.Metric })
	}
	return metrics, lasts, nil
}

// together joins groups of one metric each to larger ones: up to most samples if their samples are known, otherwise up to as many
// metrics as their selectors allow.
func together(metrics []*group, most int64) []*group {
	var out []*group
	for _, g := range metrics {
		out = gather(out, g, func(o *group) bool {
			if most > 0 {
				return min(g.atOnce, o.atOnce) > 1 && o.samples()+g.samples() <= float64(most)
			}
			return g.atOnce == o.atOnce && len(o.names) < o.atOnce
		})
	}
	return out
}

// gather adds g to the first group of list that is alike and may be joined, else to the list.
func gather(list []*group, g *group, may func(*group) bool) []*group {
	for _, o := range list {
		if o.alike(g) && may(o) {
			o.atOnce = min(o.atOnce, g.atOnce)
			o.rate += g.rate
			for _, m := range g.members {
				o.add(m)
			}
			return list
		}
	}
	return append(list, g)
}

// String names the group's metrics in errors and warnings.
func (g *group) String() string {
	if len(g.names) == 1 {
		return "metric " + g.names[0]
	}
	return "metrics " + strings.Join(g.names, ", ")
}

// wants reports whether a series of the group's answer is one of the member's.
func (g *group) wants(m *member, series []label) bool {
	if len(g.members) == 1 {
		return true // the server has matched it
	}
	if len(g.names) > 1 && valueOf(series, metricName) != m.name {
		return false
	}
	for _, match := range m.match {
		if !match.Matches(valueOf(series, match.Name)) {
			return false
		}
	}
	return true
}

// valueOf is the value of a label, "" if the series lacks it.
func valueOf(series []label, name string) string {
	for _, l := range series {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// text writes the group's selector in PromQL, with further matchers. The name is a matcher like the others, so that it may hold
// any characters.
func (g *group) text(further spaces) string {
	names := make([]promquery.Matcher, len(g.names))
	for i, name := range g.names {
		names[i] = promquery.Matcher{Name: metricName, Type: promquery.MatchEqual, Value: name}
	}
	list := append([]promquery.Matcher{oneOf(names)}, g.shared...)
	if g.label != "" {
		list = append(list, oneOf(g.values))
	}
	var terms []string
	for _, m := range append(list, further.matchers()...) {
		terms = append(terms, m.String())
	}
	return "{" + strings.Join(terms, ",") + "}"
}

// oneOf is a matcher for all values that one of the list matches. All of them pick values of one label.
func oneOf(list []promquery.Matcher) promquery.Matcher {
	if len(list) == 1 {
		return list[0]
	}
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = "(?:" + m.Value + ")"
		if m.Type == promquery.MatchEqual {
			parts[i] = regexp.QuoteMeta(m.Value)
		}
	}
	return promquery.Matcher{Name: list[0].Name, Type: promquery.MatchRegexp, Value: strings.Join(parts, "|")}
}
