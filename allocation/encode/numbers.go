package encode

import (
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
)

// blockRows is how many rows the numbers are had of at a time.
const blockRows = 16

// numeric is a number of allocations.
type numeric struct {
	key         string // with comma, quotes and colon
	value, more func(*allocation.Set, int) float64
	money       bool // multiplied by the rate of costs
}

// of is the number in a row; rate is what costs are multiplied by.
func (c *numeric) of(set *allocation.Set, row int, rate float64) float64 {
	v := c.value(set, row)
	if c.more != nil {
		v += c.more(set, row)
	}
	if c.money {
		v *= rate
	}
	return v
}

// block is the numbers of some rows. Most are the same in all of them, such as 0, and are written once.
type block struct {
	text   []byte // of the members, without numbers that differ
	ends   []int  // of what stands in text before each of those
	values [][blockRows]float64
	// start and end are the last ones that were written.
	start, end stamp
}

// newBlocks are blocks for goroutines to take.
func newBlocks() *sync.Pool { return &sync.Pool{New: func() any { return &block{} }} }

// load takes the numbers of at most blockRows rows.
func (k *block) load(columns []numeric, set *allocation.Set, rows []namedRow, rate float64) {
	k.text, k.ends = k.text[:0], k.ends[:0]
	for i := range columns {
		c, n := &columns[i], len(k.ends)
		k.text = append(k.text, c.key...)
		if n == len(k.values) {
			k.values = append(k.values, [blockRows]float64{})
		}
		values, same := &k.values[n], true
		for j := range rows {
			v := c.of(set, rows[j].row, rate)
			values[j] = v
			same = same && v == values[0]
		}
		if same {
			k.text = appendNumber(k.text, values[0])
		} else {
			k.ends = append(k.ends, len(k.text))
		}
	}
}

// append appends the members of the i-th row, each after a comma.
func (k *block) append(b []byte, i int) []byte {
	at := 0
	for n, end := range k.ends {
		b = appendNumber(append(b, k.text[at:end]...), k.values[n][i])
		at = end
	}
	return append(b, k.text[at:]...)
}

// stamp is a time and its text. Many rows have the same.
type stamp struct {
	time time.Time
	text []byte
}

// append appends a time as appendTime does.
func (s *stamp) append(b []byte, t time.Time) []byte {
	if len(s.text) == 0 || s.time != t {
		s.time, s.text = t, appendTime(s.text[:0], t)
	}
	return append(b, s.text...)
}
