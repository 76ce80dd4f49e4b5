package blocks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/promquery"
)

// pair is a label as the numbers of its name and its value. Labels of a series ascend, and so do their pairs.
type pair uint64

func (p pair) name() uint32  { return uint32(p >> 32) }
func (p pair) value() uint32 { return uint32(p) }

// unknown is the number of a string that no block has.
const unknown = 1<<32 - 1

// query is requests that are alike, in the numbers of symbols.
type query struct {
	*promquery.Request // from the start of the first one to the end of the last one
	requests           []promquery.Request
	symbols            *symbols
	metric             uint32 // the number of __name__
	matchers           []match
	keys               []role // the elements of keys that any series has, ascending by name
	distinct           uint32 // the name of the label that only distinguishes series of one key
}

// role is a label that is an element of keys.
type role struct {
	name uint32
	at   int  // in the key
	uid  bool // the pod's UID in a cgroup path
}

// match is a matcher. Those of a query ascend by name.
type match struct {
	promquery.Matcher
	name    uint32
	value   uint32                   // the number of Value
	listed  []string                 // the values that a regular expression matches, sorted, where they are known
	re      *labels.FastRegexMatcher // nil if listed says all
	decided map[uint32]bool          // what re, or else listed, says of values
	absent  bool                     // whether a series without the label matches
}

// newQuery translates requests that are alike. A regular expression that is none is an error.
func newQuery(rs []promquery.Request, symbols *symbols) (*query, error) {
	all := rs[0]
	for i := range rs {
		all.Start, all.End = min(all.Start, rs[i].Start), max(all.End, rs[i].End)
	}
	number := func(text string) uint32 {
		if n, ok := symbols.find(text); ok && text != "" {
			return n
		}
		return unknown
	}
	q := &query{Request: &all, requests: rs, symbols: symbols, metric: number(metric), distinct: unknown}
	for _, m := range all.Matchers {
		x := match{Matcher: m, name: number(m.Name), decided: map[uint32]bool{}}
		switch m.Type {
		case promquery.MatchEqual:
			x.absent, x.value = m.Value == "", number(m.Value)
		case promquery.MatchNotEqual:
			x.absent, x.value = m.Value != "", number(m.Value)
		case promquery.MatchRegexp, promquery.MatchNotRegexp:
			var err error
			if x.listed = listed(m.Value); x.listed == nil {
				if x.re, err = labels.NewFastRegexMatcher(m.Value); err != nil {
					return nil, fmt.Errorf("match label %s of metric %s: %w", m.Name, all.Metric, err)
				}
				x.listed = slices.Sorted(slices.Values(x.re.SetMatches()))
			}
			x.absent = x.matchesText("") == (m.Type == promquery.MatchRegexp)
		default:
			return nil, fmt.Errorf("match label %s of metric %s: unknown match type %d", m.Name, all.Metric, m.Type)
		}
		q.matchers = append(q.matchers, x)
	}
	slices.SortStableFunc(q.matchers, func(a, b match) int { return cmp.Compare(a.name, b.name) })
	for i, l := range all.Keep {
		n := number(l.Name)
		if n != unknown && (l.PodUID || !l.Series) {
			q.keys = append(q.keys, role{n, i, l.PodUID})
		}
		if l.Series {
			q.distinct = n
		}
	}
	slices.SortStableFunc(q.keys, func(a, b role) int { return cmp.Compare(a.name, b.name) })
	return q, nil
}

// hasChunk reports whether a series' entry has chunks of any of the requests' times. One that cannot be read may have some.
func (q *query) hasChunk(content []byte) bool {
	chunks, err := eachLabel(content, func(_, _ uint64) bool { return true })
	for i := range q.requests {
		if err != nil || hasChunk(chunks, q.requests[i].Start, q.requests[i].End) {
			return true
		}
	}
	return false
}

// never reports whether a matcher wants a label that no series has.
func (q *query) never() bool {
	return slices.ContainsFunc(q.matchers, func(m match) bool { return m.name == unknown && !m.absent })
}

// matches reports whether all matchers hold for a series.
func (q *query) matches(labels []pair) bool {
	for i := range q.matchers {
		m := &q.matchers[i]
		for len(labels) > 0 && labels[0].name() < m.name {
			labels = labels[1:]
		}
		if len(labels) == 0 {
			if !m.absent {
				return false
			}
		} else if !m.matches(q.symbols, labels[0]) {
			return false
		}
	}
	return true
}

// matches reports whether the matcher holds for a series whose first label that does not come before its own is l.
func (m *match) matches(symbols *symbols, l pair) bool {
	if l.name() > m.name {
		return m.absent
	}
	return m.holds(symbols, l.value())
}

// holds reports whether the matcher holds for a value.
func (m *match) holds(symbols *symbols, value uint32) bool {
	switch m.Type {
	case promquery.MatchEqual:
		return value == m.value
	case promquery.MatchNotEqual:
		return value != m.value
	case promquery.MatchRegexp, promquery.MatchNotRegexp:
	}
	ok, known := m.decided[value]
	if !known {
		ok = m.matchesText(symbols.text(value)) == (m.Type == promquery.MatchRegexp)
		m.decided[value] = ok
	}
	return ok
}

// matchesText reports whether the regular expression matches a text.
func (m *match) matchesText(text string) bool {
	if m.re != nil {
		return m.re.MatchString(text)
	}
	_, ok := slices.BinarySearch(m.listed, text)
	return ok
}

// listed are the texts that a regular expression matches, sorted, if it is a list of plain texts, such as names of pods; nil if it is anything
// else. Prometheus also takes other expressions apart, but gives up at some 255 texts.
func listed(re string) (texts []string) {
	var text []byte
	for i := 0; i < len(re); i++ {
		switch c := re[i]; {
		case c == '|':
			texts, text = append(texts, string(text)), text[:0]
		case c == '\\' && i+1 < len(re) && re[i+1] == '.':
			text = append(text, '.')
			i++
		case c == '-', c == '_', '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			text = append(text, c)
		default:
			return nil
		}
	}
	texts = append(texts, string(text))
	slices.Sort(texts)
	return texts
}

// allLabels appends to dst the key of a series that has all labels.
func (q *query) allLabels(dst []promquery.Symbol, labels []pair) []promquery.Symbol {
	for _, l := range labels {
		if l.name() != q.metric {
			dst = append(dst, q.symbols.symbol(l.name()), q.symbols.symbol(l.value()))
		}
	}
	return dst
}

// key appends to dst the numbers of the elements of a series' key.
func (q *query) key(dst []uint32, labels []pair) []uint32 {
	from := len(dst)
	dst = slices.Grow(dst, len(q.Keep))[:from+len(q.Keep)]
	clear(dst[from:])
	for _, r := range q.keys {
		for len(labels) > 0 && labels[0].name() < r.name {
			labels = labels[1:]
		}
		if len(labels) == 0 {
			break
		}
		if labels[0].name() == r.name {
			dst[from+r.at] = labels[0].value()
		}
	}
	return dst
}

// lookUp makes the keys of series from the numbers of their elements, and the ids that distinguish series of one key. It looks up the first
// element of all keys, then the second one, and so on: a look-up mostly waits for memory, and a loop of nothing else waits for many at
// once.
func (q *query) lookUp(p *page) {
	p.keys = append(p.keys, make([]promquery.Symbol, len(p.numbers))...)
	for _, r := range q.keys {
		for k := r.at; k < len(p.numbers); k += len(q.Keep) {
			if r.uid {
				p.keys[k] = q.symbols.uid(p.numbers[k])
			} else {
				p.keys[k] = q.symbols.symbol(p.numbers[k])
			}
		}
	}
	if q.distinct == unknown {
		return
	}
	for i := range p.series {
		s := &p.series[i]
		s.id = q.symbols.seriesID(uint32(s.id))
	}
}

// series is the number of the value that distinguishes the series from others of its key, that of "" if it has none.
func (q *query) series(labels []pair) uint32 {
	if q.distinct == unknown {
		return 0
	}
	for _, l := range labels {
		if l.name() == q.distinct {
			return l.value()
		}
	}
	return 0
}
