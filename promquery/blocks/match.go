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

// query is selectors that are alike, in the numbers of symbols.
type query struct {
	*promquery.Selector // from the start of the first one to the end of the last one
	sels                []promquery.Selector
	symbols             *symbols
	metric              uint32 // the number of __name__
	matchers            []match
	keys                []role                                       // the elements of keys that any series has, ascending by name
	told                uint32                                       // the name of the label that tells series apart
	unwanted            []refSet                                     // by block, the series of unwanted pods; nil for none
	inverted            bool                                         // only these are wanted
	left                bool                                         // matching series of unwanted pods were left out
	grade               func(key []string) (id uint64, nothing bool) // nil wants all of every series
	texts               []string                                     // scratch
	wanted              func(of *found, s *series) bool              // nil wants all samples
	uid                 [36]byte                                     // scratch
}

// role is a label that is an element of keys.
type role struct {
	name   uint32
	at     int // in the key
	cgroup bool
	common bool // of Selector.Common, which graded series keep
}

// match is a matcher. Those of a query ascend by name.
type match struct {
	promquery.Matcher
	name   uint32
	value  uint32                   // the number of Value
	listed []string                 // the values that a regular expression matches, sorted, where they are known
	re     *labels.FastRegexMatcher // nil if listed says all
	seen   map[uint32]bool          // what re, or else listed, says of values
	absent bool                     // whether a series without the label matches
}

// newQuery translates selectors that are alike. A regular expression that is none is an error.
func newQuery(sels []promquery.Selector, symbols *symbols) (*query, error) {
	all := sels[0]
	for i := range sels {
		all.Start, all.End = min(all.Start, sels[i].Start), max(all.End, sels[i].End)
	}
	sel := &all
	number := func(text string) uint32 {
		if n, ok := symbols.find(text); ok && text != "" {
			return n
		}
		return unknown
	}
	q := &query{Selector: sel, sels: sels, symbols: symbols, metric: number(metric), told: unknown}
	for _, m := range sel.Matchers {
		x := match{Matcher: m, name: number(m.Name), seen: map[uint32]bool{}}
		switch m.Type {
		case promquery.MatchEqual:
			x.absent, x.value = m.Value == "", number(m.Value)
		case promquery.MatchNotEqual:
			x.absent, x.value = m.Value != "", number(m.Value)
		case promquery.MatchRegexp, promquery.MatchNotRegexp:
			var err error
			if x.listed = listed(m.Value); x.listed == nil {
				if x.re, err = labels.NewFastRegexMatcher(m.Value); err != nil {
					return nil, fmt.Errorf("match label %s of metric %s: %w", m.Name, sel.Metric, err)
				}
				x.listed = slices.Sorted(slices.Values(x.re.SetMatches()))
			}
			x.absent = x.matchesText("") == (m.Type == promquery.MatchRegexp)
		default:
			return nil, fmt.Errorf("match label %s of metric %s: unknown match type %d", m.Name, sel.Metric, m.Type)
		}
		q.matchers = append(q.matchers, x)
	}
	slices.SortStableFunc(q.matchers, func(a, b match) int { return cmp.Compare(a.name, b.name) })
	for i, name := range sel.Keep {
		if n := number(name); n != unknown && (name != sel.Series || name == sel.Cgroup) {
			q.keys = append(q.keys, role{n, i, sel.Cgroup != "" && slices.Index(sel.Keep, sel.Cgroup) == i, slices.Contains(sel.Common, name)})
		}
	}
	slices.SortStableFunc(q.keys, func(a, b role) int { return cmp.Compare(a.name, b.name) })
	if sel.Keep != nil && sel.Series != "" {
		q.told = number(sel.Series)
	}
	return q, nil
}

// hasChunk reports whether a series' entry has chunks of any of the selectors' times. One that cannot be read may have some.
func (q *query) hasChunk(content []byte) bool {
	chunks, err := eachLabel(content, func(_, _ uint64) bool { return true })
	for i := range q.sels {
		if err != nil || hasChunk(chunks, q.sels[i].Start, q.sels[i].End) {
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
	ok, known := m.seen[value]
	if !known {
		ok = m.matchesText(symbols.text(value)) == (m.Type == promquery.MatchRegexp)
		m.seen[value] = ok
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

// gradeAll grades found series by the texts of their keys, and drops those of which nothing is wanted. It looks up texts as lookUp looks up
// symbols.
func (q *query) gradeAll(f *found) {
	q.texts = append(q.texts[:0], make([]string, len(f.numbers))...)
	for _, r := range q.keys {
		for k := r.at; k < len(f.numbers); k += len(q.Keep) {
			q.texts[k] = q.symbols.text(f.numbers[k])
		}
	}
	kept := f.heads[:0]
	for _, s := range f.heads {
		key := q.texts[s.keyAt:][:s.keys]
		for _, r := range q.keys {
			if r.cgroup {
				key[r.at] = q.uidIn(key[r.at])
			}
		}
		id, nothing := q.grade(key)
		if nothing {
			clear(f.numbers[s.keyAt:][:s.keys]) // they need no symbols
			q.left = true
			continue
		}
		if id != 0 {
			s.told = id
			for _, r := range q.keys {
				if !r.common {
					f.numbers[int(s.keyAt)+r.at] = 0
				}
			}
		} else {
			s.told = q.symbols.seriesID(uint32(s.told))
		}
		kept = append(kept, s)
	}
	f.heads = kept
}

// uidIn is the pod's UID in a cgroup path, "" where there is none, until the next call.
func (q *query) uidIn(path string) string {
	uid, ok := promquery.PodUID(path)
	if !ok {
		return ""
	}
	q.uid = uid
	return viewOf(q.uid[:])
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

// lookUp makes the keys of found series from the numbers of their elements, and what tells the series of one key apart. It looks up the first
// element of all keys, then the second one, and so on, for the reason that readSome has.
func (q *query) lookUp(f *found) {
	f.keys = append(f.keys, make([]promquery.Symbol, len(f.numbers))...)
	for _, r := range q.keys {
		for k := r.at; k < len(f.numbers); k += len(q.Keep) {
			if r.cgroup {
				f.keys[k] = q.symbols.uid(f.numbers[k])
			} else {
				f.keys[k] = q.symbols.symbol(f.numbers[k])
			}
		}
	}
	if q.told == unknown || q.grade != nil {
		return
	}
	for i := range f.heads {
		s := &f.heads[i]
		s.told = q.symbols.seriesID(uint32(s.told))
	}
}

// series is the number of the value that tells the series apart from others of its key, that of "" if it has none.
func (q *query) series(labels []pair) uint32 {
	if q.told == unknown {
		return 0
	}
	for _, l := range labels {
		if l.name() == q.told {
			return l.value()
		}
	}
	return 0
}
