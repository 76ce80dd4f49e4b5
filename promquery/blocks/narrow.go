package blocks

import (
	"encoding/binary"
	"slices"

	"github.com/promcost/promcost/promquery"
)

// narrow leaves out series that a matcher rules out by postings, which is cheaper than to look at their labels: of most metrics of
// resources and phases, few series have the value that is asked for.
func (c *cursor) narrow(q *query) {
	for i := range q.matchers {
		if set := c.mustHave(q, &q.matchers[i]); set != nil {
			c.some = set.among(c.some[:0], c.refs)
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

// mustHave are the series that have a label, whichever its value, if a matcher wants those; nil where it does not, or where it is not worth
// it to walk the postings of all values. It is if there are few values, or if series must lack another label, as only old ones do.
func (c *cursor) mustHave(q *query, m *match) refSet {
	lacks := func(m match) bool { return m.Type == promquery.MatchEqual && m.Value == "" }
	switch {
	case m.Type != promquery.MatchNotEqual || m.Value != "":
		return nil
	case leastOfValue*int(c.index.labels[m.Name].count) > len(c.refs)/4 && !slices.ContainsFunc(q.matchers, lacks):
		return nil
	}
	set, known := c.having[m.Name]
	if !known {
		set = c.index.having(m.Name)
		c.having[m.Name] = set
	}
	return set
}

// having are the series that have a label; nil if some postings of it cannot be read.
func (x *index) having(name string) refSet {
	set := newRefSet(len(x.data) / entrySize)
	x.labels[name].each(func(_ []byte, offset uint64) bool {
		refs, err := x.postingsAt(offset)
		if err != nil {
			set = nil
		}
		for ; len(refs) >= 4; refs = refs[4:] {
			set.add(binary.BigEndian.Uint32(refs))
		}
		return err == nil
	})
	return set
}

// fewValues is how many values of a label a regular expression is compared with.
const fewValues = 64

// matching are the postings of the values that match, a list for each. It is false where that is not worth it or they cannot be read.
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
		if m.Type == promquery.MatchEqual && string(value) == m.Value || m.Type == promquery.MatchRegexp && m.re.MatchString(viewOf(value)) {
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
