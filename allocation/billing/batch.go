package billing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// sink takes the lines of a file.
type sink interface {
	// item returns the number of the item with a key, which build makes where it is new. epoch changes when numbers do.
	item(key []byte, build func() (*Item, error)) (number uint32, err error)
	epoch() int
	add(item uint32, start, end int64, n *numbers) error
}

// batch collects the lines of a delivery, cut at days, and hands them on when there are many. Its memory is bounded, whatever
// the size of the delivery.
type batch struct {
	calendar *calendar
	limits   limits
	emit     func(*Day) error
	tallies  *tallies

	numbers map[string]uint32 // of items, by key
	items   []Item
	keys    []int32    // number of each item's statement
	totals  []*running // that the lines of each item are added to
	bytes   int64      // of items
	lines   []piece
	order   []uint32
	spare   []uint32
	sorted  []piece
	epochs  int
}

// limits bound what is kept in memory before it is handed on.
type limits struct {
	lines int
	items int64 // bytes
}

// defaultLimits take about 100 MB, garbage included.
var defaultLimits = limits{lines: 3 << 16, items: 24 << 20}

func newBatch(zone *time.Location, l limits, t *tallies, emit func(*Day) error) *batch {
	return &batch{calendar: newCalendar(zone), limits: l, tallies: t, emit: emit, numbers: map[string]uint32{}, lines: make([]piece, 0, 1024)}
}

func (b *batch) epoch() int { return b.epochs }

// item implements sink.
func (b *batch) item(key []byte, build func() (*Item, error)) (uint32, error) {
	if n, ok := b.numbers[string(key)]; ok {
		return n, nil
	}
	item, err := build()
	if err != nil {
		return 0, err
	}
	statement, err := b.tallies.statement(item)
	if err != nil {
		return 0, err
	}
	n := uint32(len(b.items))
	b.numbers[string(key)] = n
	b.items, b.keys, b.totals = append(b.items, *item), append(b.keys, statement), append(b.totals, b.tallies.list[statement].total(item))
	b.bytes += item.bytes() + int64(len(key)) + 64
	return n, nil
}

// maxPeriod is the longest charge period: commitments are bought for some years.
const maxPeriod = 11 * 366 * 24 * time.Hour

// mostAmount is the largest cost or quantity of a line. Sums of larger ones could be infinite.
const mostAmount = 1e30

// The errors of charges.
var (
	errBackwards = errors.New("the charge period ends before it starts")
	errTooLong   = fmt.Errorf("the charge period is longer than %d years", int(maxPeriod/(366*24*time.Hour)))
	errTooMuch   = fmt.Errorf("the amount is beyond %g, which no bill comes to: sums of such amounts mean nothing", float64(mostAmount))
	errNoCost    = errors.New("the charge has no cost: give at least one of them")
)

// add implements sink. A charge at an instant takes a second.
func (b *batch) add(item uint32, start, end int64, n *numbers) error {
	if end == start {
		end += 1000
	}
	switch {
	case end < start:
		return &cellError{column: endColumn, err: errBackwards}
	case end-start > maxPeriod.Milliseconds():
		return &cellError{column: endColumn, err: errTooLong}
	}
	for i, v := range n {
		if math.Abs(v) > mostAmount {
			return &cellError{column: amounts()[i], err: errTooMuch}
		}
	}
	p := piece{start: start, end: end, numbers: *n, item: item}
	if !n.costKnown() {
		return &cellError{column: focusCosts[Effective], err: errNoCost}
	}
	b.totals[item].add(&p)
	for from := start; from < end; {
		day, until := b.calendar.day(from)
		to := min(until, end)
		p.start, p.end, p.day = from, to, day
		if share := float64(to-from) / float64(end-start); share != 1 {
			for i, v := range n {
				p.numbers[i] = v * share
			}
		}
		b.lines = append(b.lines, p)
		from = to
	}
	if len(b.lines) >= b.limits.lines || b.bytes >= b.limits.items {
		return b.flush()
	}
	return nil
}

// costKnown reports whether at least one of the costs is known.
func (n *numbers) costKnown() bool {
	return slices.ContainsFunc(n[:NumCosts], func(v float64) bool { return !math.IsNaN(v) })
}

// flush hands on what was collected, by statement and day.
func (b *batch) flush() error {
	b.sort()
	texts := &itemTexts{}
	for at := 0; at < len(b.order); {
		first := &b.lines[b.order[at]]
		b.sorted = b.sorted[:0]
		for ; at < len(b.order); at++ {
			p := &b.lines[b.order[at]]
			if p.day != first.day || b.keys[p.item] != b.keys[first.item] {
				break
			}
			b.sorted = append(b.sorted, *p)
		}
		if err := b.emit(&Day{Key: b.tallies.key(&b.items[first.item]), Start: b.calendar.start(first.day), items: b.items, texts: texts, lines: b.sorted}); err != nil {
			return err
		}
	}
	b.lines, b.items, b.keys, b.bytes = b.lines[:0], nil, b.keys[:0], 0
	b.totals = b.totals[:0]
	clear(b.numbers)
	b.epochs++
	return nil
}

// sort orders the lines by statement, day, item and start. They come nearly in that order, so the small numbers are sorted by counting,
// the least important first, and starts only where they are out of order.
func (b *batch) sort() {
	b.order = b.order[:0]
	for i := range b.lines {
		b.order = append(b.order, uint32(i))
	}
	b.order, b.spare = sortBy(b.order, b.spare, func(i uint32) uint32 { return b.lines[i].item })
	firstDay := int32(math.MaxInt32)
	for i := range b.lines {
		firstDay = min(firstDay, b.lines[i].day)
	}
	b.order, b.spare = sortBy(b.order, b.spare, func(i uint32) uint32 { return uint32(b.lines[i].day - firstDay) })
	b.order, b.spare = sortBy(b.order, b.spare, func(i uint32) uint32 { return uint32(b.keys[b.lines[i].item]) })
	byStart := func(i, k uint32) int { return cmp.Compare(b.lines[i].start, b.lines[k].start) }
	for at := 0; at < len(b.order); {
		first, from := &b.lines[b.order[at]], at
		for at < len(b.order) && b.lines[b.order[at]].item == first.item && b.lines[b.order[at]].day == first.day {
			at++
		}
		if run := b.order[from:at]; !slices.IsSortedFunc(run, byStart) {
			slices.SortStableFunc(run, byStart)
		}
	}
}

// sortBy orders numbers by a small key and returns them, and the other slice. Those with one key stay in their order.
func sortBy(order, spare []uint32, key func(uint32) uint32) (sorted, other []uint32) {
	var counts []uint32 // of the keys, moved by one
	for _, i := range order {
		k := int(key(i)) + 1
		if k >= len(counts) {
			counts = append(counts, make([]uint32, k+1-len(counts))...)
		}
		counts[k]++
	}
	if len(counts) == 2 { // all have the key 0
		return order, spare
	}
	for k := 1; k < len(counts); k++ {
		counts[k] += counts[k-1]
	}
	spare = append(spare[:0], order...)
	for _, i := range order {
		k := key(i)
		spare[counts[k]] = i
		counts[k]++
	}
	return spare, order
}

// tallies sum the statements of a delivery.
type tallies struct {
	folder  string // of the delivery
	numbers map[Key]int32
	keys    []Key
	ends    []time.Time
	list    []Tally
}

// key is the key of the statement that an item is of.
func (t *tallies) key(item *Item) Key {
	key := item.Key()
	key.Folder = t.folder
	return key
}

// costs returns what was added, by currency.
func (t *tallies) costs() map[string]float64 {
	out := map[string]float64{}
	for i := range t.list {
		for _, total := range t.list[i].totals {
			for currency, v := range costsOf([]Total{total.Total}) {
				out[currency] += v
			}
		}
	}
	return out
}

// maxStatements bounds the billing accounts and periods of one delivery.
const maxStatements = 10_000

// statement returns the number of the statement that an item is of.
func (t *tallies) statement(item *Item) (int32, error) {
	key := t.key(item)
	n, ok := t.numbers[key]
	if !ok {
		if len(t.list) == maxStatements {
			return 0, fmt.Errorf("the delivery has more than %d billing accounts and periods", maxStatements)
		}
		n = int32(len(t.list))
		t.numbers[key] = n
		t.keys, t.ends, t.list = append(t.keys, key), append(t.ends, item.Account.PeriodEnd), append(t.list, Tally{})
	}
	t.ends[n] = later(t.ends[n], item.Account.PeriodEnd)
	return n, nil
}
