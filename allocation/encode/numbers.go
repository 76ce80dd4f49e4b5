package encode

import (
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// blockRows is how many rows of numbers are read from a set at a time.
const blockRows = 40

// numeric is a number of an allocation in JSON: the sum of one or more fields.
type numeric struct {
	key      string // with comma, quotes and colon
	summands []fields.Field
	money    bool // multiplied by the rate of costs
	// written is the number to write where the field may be unknown; nil for fields that are always known.
	written func(float64) float64
}

// newNumeric is the sum of fields under the name of the first one.
func newNumeric(o *Options, summands ...fields.Field) numeric {
	n := numeric{key: `,"` + summands[0].Name + `":`, summands: summands, money: summands[0].Unit == "currency"}
	if summands[0].Nullable {
		n.written = o.written
	}
	return n
}

// fill fills dst with the numbers of rows, at most blockRows of them. Costs are multiplied by rate.
func (c *numeric) fill(dst []float64, set *allocation.Set, rows []int, rate float64) {
	c.summands[0].Values(set, rows, dst)
	for i := range c.summands[1:] {
		var more [blockRows]float64
		c.summands[1+i].Values(set, rows, more[:len(rows)])
		for j := range dst {
			dst[j] += more[j]
		}
	}
	if c.money && rate != 1 {
		for j := range dst {
			dst[j] *= rate
		}
	}
	if c.written != nil {
		for j := range dst {
			dst[j] = c.written(dst[j])
		}
	}
}

// zero reports whether the number is known to be 0 in all rows of a set.
func (c *numeric) zero(set *allocation.Set) bool {
	for i := range c.summands {
		if !c.summands[i].Zero(set) {
			return false
		}
	}
	return true
}

// nonZero are the numbers that are not 0 in all rows of a set. The key of each begins with the text of the zeros before it, and rest
// is the text of the zeros after the last one.
func nonZero(numbers []numeric, set *allocation.Set) (shown []numeric, rest string) {
	var text []byte
	for i := range numbers {
		c := numbers[i]
		if text = append(text, c.key...); c.zero(set) {
			text = append(text, '0')
			continue
		}
		c.key, text = string(text), text[:0]
		shown = append(shown, c)
	}
	return shown, string(text)
}

// block is the numbers of some rows. A number that is the same in all of them is written once.
type block struct {
	text   []byte // of the members, without numbers that differ
	ends   []int  // of what stands in text before each of those
	values [][blockRows]float64
	rows   []int
	// These are the texts that were written last. They are often written again.
	start, end   stamp
	lower, upper figure
	phrases      []phrase // by property
}

// newBlocks is a pool of blocks for goroutines.
func newBlocks() *sync.Pool { return &sync.Pool{New: func() any { return &block{} }} }

// load reads the numbers of at most blockRows rows; rest is the text that follows the numbers.
func (k *block) load(numbers []numeric, rest string, set *allocation.Set, rows []namedRow, rate float64) {
	k.text, k.ends, k.rows = k.text[:0], k.ends[:0], k.rows[:0]
	for _, r := range rows {
		k.rows = append(k.rows, r.row)
	}
	for i := range numbers {
		c, n := &numbers[i], len(k.ends)
		k.text = append(k.text, c.key...)
		if n == len(k.values) {
			k.values = append(k.values, [blockRows]float64{})
		}
		values := k.values[n][:len(rows)]
		c.fill(values, set, k.rows, rate)
		if !slices.ContainsFunc(values[1:], func(v float64) bool { return v != values[0] }) {
			k.text = appendNumber(k.text, values[0])
		} else {
			k.ends = append(k.ends, len(k.text))
		}
	}
	k.text = append(k.text, rest...)
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

// figure is a number and its text.
type figure struct {
	number float64
	text   []byte
}

// append appends a number as appendNumber does.
func (f *figure) append(b []byte, v float64) []byte {
	if len(f.text) == 0 || f.number != v {
		f.number, f.text = v, appendNumber(f.text[:0], v)
	}
	return append(b, f.text...)
}

// phrase is a property of rows and its text.
type phrase struct {
	dict *allocation.Dict
	id   allocation.ID
	text []byte
}
