package blocks

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/promcost/promcost/promquery"
)

// cursor walks the series of selectors that are alike in one block, in the order of their labels.
type cursor struct {
	*view
	at      int32   // the block's place among those of the read
	refs    []byte  // of the series that follow, as in the file, but for those that were read ahead
	some    []byte  // memory for refs
	ahead   []entry // that were read ahead, and how many of them were passed
	passed  int
	pairs   []pair // the labels of these
	labels  []pair // of the series at hand
	seen    []seen // the label that was read last at each place
	chunks  uint64 // where the list of its chunks begins in the index file
	clipped bool   // the block may have series without samples at the times of the selectors
	failed  error  // why what follows those that were read ahead cannot be read
	err     error  // why the series that follow cannot be read
}

// entry is a series in a block.
type entry struct {
	chunks   uint64 // where the list of its chunks begins in the index file
	labels   int    // where its labels end in the pairs of the cursor
	unwanted bool
}

// Series are read some ahead, and about as many labels at most.
const (
	entriesAhead = 32
	pairsAhead   = 1 << 10
)

// begin begins selectors that are alike.
func (c *cursor) begin(q *query) {
	c.refs, c.ahead, c.pairs, c.passed, c.failed, c.err = nil, c.ahead[:0], c.pairs[:0], 0, nil, nil
	defer recovered(&c.err)
	c.clipped = len(q.sels) > 1 || c.block.meta.MinTime < q.Start || c.block.meta.MaxTime > q.End
	overlaps := slices.ContainsFunc(q.sels, func(s promquery.Selector) bool { return c.block.overlaps(s.Start, s.End) })
	if !q.never() && overlaps {
		if c.refs, c.err = c.index.postings(q.Metric); c.err == nil {
			c.narrow(q)
		}
	}
}

// next goes on to the next series that matches. It is false if there is none, or if it cannot be read.
func (c *cursor) next(q *query) (ok bool) {
	defer recovered(&c.err)
	for c.err == nil {
		if c.passed == len(c.ahead) {
			if c.err = c.failed; c.err != nil || !c.readAhead(q) {
				return false
			}
			continue
		}
		from := 0
		if c.passed > 0 {
			from = c.ahead[c.passed-1].labels
		}
		e := &c.ahead[c.passed]
		c.passed++
		c.labels, c.chunks = c.pairs[from:e.labels], e.chunks
		if q.matches(c.labels) {
			if !e.unwanted {
				return true
			}
			q.left = true
		}
	}
	return false
}

// readAhead reads the entries of some series that follow. It is false if there are none. The numbers of all their labels are looked up at the
// end: most of this time is spent waiting for memory, and so a processor waits for many of them at once.
func (c *cursor) readAhead(q *query) bool {
	if len(c.refs) < 4 {
		return false
	}
	c.ahead, c.pairs, c.passed = c.ahead[:0], c.pairs[:0], 0
	if c.failed = c.readEntries(q); c.failed != nil {
		c.refs = nil
	}
	for i, l := range c.pairs {
		c.pairs[i] = pair(c.numbers[l.name()])<<32 | pair(c.numbers[l.value()])
	}
	return true
}

// readEntries reads entries. The pairs of their labels are of symbols of the block.
func (c *cursor) readEntries(q *query) (err error) {
	defer recovered(&err)
	for len(c.refs) >= 4 && len(c.ahead) < entriesAhead && len(c.pairs) < pairsAhead {
		ref := binary.BigEndian.Uint32(c.refs)
		c.refs = c.refs[4:]
		unwanted := q.unwanted != nil && q.unwanted[c.at].has(ref) != q.inverted
		if unwanted && q.left {
			continue
		}
		content, at, err := c.index.entry(ref)
		if err != nil {
			return err
		}
		if c.clipped && !q.hasChunk(content) {
			continue
		}
		n := len(c.pairs)
		next, err := c.readLabels(content)
		if err != nil {
			c.pairs = c.pairs[:n]
			return err
		}
		c.ahead = append(c.ahead, entry{at + uint64(next), len(c.pairs), unwanted})
	}
	return nil
}

// seen is a label as it stands in entries. The zero value is none.
type seen struct {
	bytes, mask uint64 // what it begins with, and which bits of that are the label's; 0 where it takes more
	label       pair
	size        int
}

// readLabels appends the labels of a series' entry to pairs, as symbols of the block, and returns where they end. Most are the same as those of
// the series before.
func (c *cursor) readLabels(content []byte) (next int, err error) {
	count, next, err := labelCount(content)
	if err != nil {
		return 0, err
	}
	if more := int(count) - len(c.seen); more > 0 {
		c.seen = append(c.seen, make([]seen, more)...)
	}
	for i := range c.seen[:count] {
		s, rest := &c.seen[i], content[next:]
		if len(rest) < 8 || s.bytes == 0 || binary.LittleEndian.Uint64(rest)&s.mask != s.bytes {
			name, value, size := labelAt(rest)
			if size == 0 || uint(max(name, value)) >= uint(len(c.numbers)) {
				return 0, fmt.Errorf("%w: label %d of a series", errMalformed, i+1)
			}
			*s = seen{label: pair(name)<<32 | pair(value), size: size}
			if size <= 8 && len(rest) >= 8 {
				s.mask = 1<<(8*size) - 1
				s.bytes = binary.LittleEndian.Uint64(rest) & s.mask
			}
		}
		c.pairs, next = append(c.pairs, s.label), next+s.size
	}
	return next, nil
}
