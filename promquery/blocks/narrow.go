package blocks

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/promcost/promcost/promquery"
)

// narrow leaves out series that a matcher rules out by postings. That is cheaper than to look at the labels of the series: of most
// metrics of resources and phases, few series have the value that is asked for.
func (c *blockWalker) narrow(q *query) {
	for i := range q.matchers {
		if some, ok := c.withLabel(q, &q.matchers[i]); ok {
			c.some = some
			c.refs = c.some
		} else if some, ok := c.withListed(&q.matchers[i]); ok {
			c.some = some
			c.refs = c.some
		} else if lists, ok := c.index.matching(&q.matchers[i]); ok {
			c.some = among(c.some[:0], c.refs, lists)
			c.refs = c.some
		} else if list := c.index.ruledOut(&q.matchers[i]); len(list) > 0 && len(list) <= mostRuledOut*len(c.refs) {
			c.some = without(c.some[:0], c.refs, list)
			c.refs = c.some
		}
	}
}

// leastOfValue is how many series a metric has at least for each value of a label whose postings are all walked.
const leastOfValue = 4

// withLabel are the references of series that have a label, whichever its value, if a matcher wants those. ok is false if no matcher does,
// if postings cannot be read, and if it is not worth while to walk the postings of all values. It is worth while if there are few values,
// or if series must lack another label, as only old series do.
func (c *blockWalker) withLabel(q *query, m *match) (some []byte, ok bool) {
	lacks := func(m match) bool { return m.Type == promquery.MatchEqual && m.Value == "" }
	values := c.index.labels[m.Name]
	if m.Type != promquery.MatchNotEqual || m.Value != "" || len(c.refs) < 4 {
		return nil, false
	}
	if leastOfValue*int(values.count) > len(c.refs)/4 && !slices.ContainsFunc(q.matchers, lacks) {
		return nil, false
	}
	return c.withValues(values, math.MaxInt, func([]byte) bool { return true })
}

// mostValues is how many values of a label there may be for each series of the metric: to look for some among more takes longer than to
// look at the series.
const mostValues = 4

// leastOfListed is how many series a metric has at least for each value that is looked for: to read the postings of more values takes longer
// than to look at the series.
const leastOfListed = 3

// withListed are the references of series that have one of the values that a regular expression lists. ok is false if
// the matcher lists no values, if the label has many of them or many others, and if postings cannot be read.
func (c *blockWalker) withListed(m *match) (some []byte, ok bool) {
	values, texts := c.index.labels[m.Name], m.listed
	series := len(c.refs) / 4
	if m.Type != promquery.MatchRegexp || m.absent || len(texts) == 0 || series == 0 || int(values.count) > series*mostValues {
		return nil, false
	}
	return c.withValues(values, max(1, series/leastOfListed), func(value []byte) bool {
		for len(texts) > 0 && texts[0] < viewOf(value) { // both ascend
			texts = texts[1:]
		}
		return len(texts) > 0 && texts[0] == viewOf(value)
	})
}

// withValues are the references of series that have a value of a label that is wanted. ok is false if more than most
// values are wanted, or if postings cannot be read.
func (c *blockWalker) withValues(values valueTable, most int, wants func(value []byte) bool) (some []byte, ok bool) {
	first, last := binary.BigEndian.Uint32(c.refs), binary.BigEndian.Uint32(c.refs[len(c.refs)-4:])
	set := newRefSet(int(last - first))
	ok = true
	values.each(func(value []byte, offset uint64) bool {
		if !wants(value) {
			return true
		}
		list, err := c.index.postingsAt(offset)
		most--
		ok = err == nil && most >= 0
		at := sort.Search(len(list)/4, func(i int) bool { return binary.BigEndian.Uint32(list[4*i:]) >= first })
		for list = list[4*at:]; len(list) >= 4 && binary.BigEndian.Uint32(list) <= last; list = list[4:] {
			set.add(binary.BigEndian.Uint32(list) - first)
		}
		return ok
	})
	some = c.some[:0]
	for refs := c.refs; ok && len(refs) >= 4; refs = refs[4:] {
		if set.has(binary.BigEndian.Uint32(refs) - first) {
			some = append(some, refs[:4]...)
		}
	}
	return some, ok
}

// refSet is a set of series of a block, a bit for each.
type refSet []uint64

// newRefSet returns an empty set of the series below n.
func newRefSet(n int) refSet { return make(refSet, n/64+1) }

// add adds a series. It does not add one beyond the set.
func (s refSet) add(ref uint32) {
	if i := int(ref / 64); i < len(s) {
		s[i] |= 1 << (ref % 64)
	}
}

func (s refSet) has(ref uint32) bool {
	i := int(ref / 64)
	return i < len(s) && s[i]&(1<<(ref%64)) != 0
}

// fewValues is how many values of a label a regular expression is compared with.
const fewValues = 64

// matching returns the postings of the values that match, a list for each. ok is false if reading them is not worth while, or fails.
func (x *index) matching(m *match) (lists [][]byte, ok bool) {
	values := x.labels[m.Name]
	switch {
	case m.absent:
		return nil, false
	case values.count == 0 || m.Type == promquery.MatchEqual:
	case m.Type != promquery.MatchRegexp || values.count > fewValues:
		return nil, false
	}
	ok = true
	values.each(func(value []byte, offset uint64) bool {
		if m.Type == promquery.MatchEqual && string(value) == m.Value || m.Type == promquery.MatchRegexp && m.matchesText(viewOf(value)) {
			list, err := x.postingsAt(offset)
			lists, ok = append(lists, list), ok && err == nil
		}
		return ok && (m.Type != promquery.MatchEqual || string(value) < m.Value)
	})
	return lists, ok
}

// mostRuledOut is how many times longer than the metric's list of series a list of series that are ruled out may be: to walk a longer
// one takes more time than it saves.
const mostRuledOut = 4

// ruledOut are the postings of the one value that does not match; nil if there is not one such value, or they cannot be read.
func (x *index) ruledOut(m *match) (list []byte) {
	if m.Type != promquery.MatchNotEqual || m.Value == "" {
		return nil
	}
	x.labels[m.Name].each(func(value []byte, offset uint64) bool {
		if string(value) == m.Value {
			list, _ = x.postingsAt(offset) // series that stay are looked at
		}
		return string(value) < m.Value
	})
	return list
}

// without appends to dst those references of a list that another does not have. Both ascend; dst may be the memory of refs.
func without(dst, refs, other []byte) []byte {
	for ; len(refs) >= 4; refs = refs[4:] {
		ref := binary.BigEndian.Uint32(refs)
		for len(other) >= 4 && binary.BigEndian.Uint32(other) < ref {
			other = other[4:]
		}
		if len(other) < 4 || binary.BigEndian.Uint32(other) != ref {
			dst = append(dst, refs[:4]...)
		}
	}
	return dst
}

// among appends to dst those references of a list that one of the other lists has, too. All ascend; dst may be the memory of refs.
func among(dst, refs []byte, lists [][]byte) []byte {
	for ; len(refs) >= 4; refs = refs[4:] {
		ref := binary.BigEndian.Uint32(refs)
		for k, list := range lists {
			for len(list) >= 4 && binary.BigEndian.Uint32(list) < ref {
				list = list[4:]
			}
			lists[k] = list
			if len(list) >= 4 && binary.BigEndian.Uint32(list) == ref {
				dst = append(dst, refs[:4]...)
				break
			}
		}
	}
	return dst
}
