package blocks

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/promcost/promcost/promquery"
)

// blockWalker walks the series of requests that are alike in one block, in the order of their labels.
type blockWalker struct {
	*view
	library         // in place of what follows labels, unless our own reader has the block's files
	refs    []byte  // of the series that follow those of entries, as in the file
	some    []byte  // memory for refs
	entries []entry // the series that were read at once
	passed  int     // how many of them come before what follows
	pairs   []pair  // their labels
	labels  []pair  // of the series at hand, a part of pairs
	chunks  uint64  // where the list of its chunks begins in the index file
	clipped bool    // the block may have series without samples at the times of the requests
	failed  error   // why what follows entries cannot be read
	err     error   // why the series that follow cannot be read
}

// entry is a series in a block.
type entry struct {
	chunks uint64 // where the list of its chunks begins in the index file
	labels int    // where its labels end in the pairs of the walker
}

// Some entries are read at once, until they are many or their labels are.
const (
	entriesAtOnce = 32
	pairsAtOnce   = 1 << 10
)

// begin begins requests that are alike.
func (c *blockWalker) begin(ctx context.Context, q *query) {
	c.refs, c.entries, c.pairs, c.passed, c.failed, c.lost, c.err = nil, c.entries[:0], c.pairs[:0], 0, nil, damage{}, nil
	defer recovered(&c.err)
	c.clipped = len(q.requests) > 1 || c.block.meta.MinTime < q.Start || c.block.meta.MaxTime > q.End
	overlaps := slices.ContainsFunc(q.requests, func(r promquery.Request) bool { return c.block.overlaps(r.Start, r.End) })
	switch {
	case q.never() || !overlaps:
	case c.files == nil:
		c.err = c.beginLibrary(ctx, q)
	default:
		if c.refs, c.err = c.index.postings(q.Metric); c.err == nil {
			c.narrow(q)
		}
	}
}

// next goes on to the next series that matches. It is false if there is none, or if it cannot be read.
func (c *blockWalker) next(q *query) (ok bool) {
	defer recovered(&c.err)
	if c.files == nil {
		return c.nextOfLibrary()
	}
	for c.err == nil {
		if c.passed == len(c.entries) {
			if c.err = c.failed; c.err != nil || !c.readSome(q) {
				return false
			}
			continue
		}
		from := 0
		if c.passed > 0 {
			from = c.entries[c.passed-1].labels
		}
		e := &c.entries[c.passed]
		c.passed++
		c.labels, c.chunks = c.pairs[from:e.labels], e.chunks
		if q.matches(c.labels) {
			return true
		}
	}
	return false
}

// readSome reads the entries of some series that follow. It is false if there are none. It looks up the numbers of all their labels at the
// end, in one loop.
func (c *blockWalker) readSome(q *query) bool {
	if len(c.refs) < 4 {
		return false
	}
	c.entries, c.pairs, c.passed = c.entries[:0], c.pairs[:0], 0
	c.failed = c.readEntries(q)
	for i, l := range c.pairs {
		c.pairs[i] = pair(c.numbers[l.name()])<<32 | pair(c.numbers[l.value()])
	}
	return true
}

// readEntries reads entries. The pairs of their labels are of symbols of the block. An entry that cannot be read ends the reading.
func (c *blockWalker) readEntries(q *query) (err error) {
	defer recovered(&err)
	for len(c.refs) >= 4 && len(c.entries) < entriesAtOnce && len(c.pairs) < pairsAtOnce {
		ref := binary.BigEndian.Uint32(c.refs)
		c.refs = c.refs[4:]
		if err := c.readEntry(q, ref); err != nil {
			return err
		}
	}
	return nil
}

// readEntry reads the entry of a series, unless the series has no samples at the times of the requests.
func (c *blockWalker) readEntry(q *query, ref uint32) error {
	content, at, err := c.index.entry(ref)
	if err != nil || c.clipped && !q.hasChunk(content) {
		return err
	}
	n := len(c.pairs)
	next, err := c.readLabels(content)
	if err != nil {
		c.pairs = c.pairs[:n]
		return err
	}
	c.entries = append(c.entries, entry{at + uint64(next), len(c.pairs)})
	return nil
}

// readLabels appends the labels of a series' entry to pairs, as symbols of the block, and returns where they end.
func (c *blockWalker) readLabels(content []byte) (next int, err error) {
	rest, err := eachLabel(content, func(name, value uint64) bool {
		c.pairs = append(c.pairs, pair(name)<<32|pair(value))
		return max(name, value) < uint64(len(c.numbers))
	})
	return len(content) - len(rest), err
}
