package billing

import (
	"cmp"
	"errors"
	"fmt"
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
	keys    []int32 // number of each item's statement
	bytes   int64   // of items
	lines   []piece
	order   []uint32
	sorted  []piece
	epochs  int
	line    Line
}

// limits bound what is kept in memory before it is handed on.
type limits struct {
	lines int
	items int64 // bytes
}

// defaultLimits take about 100 MB, garbage included.
var defaultLimits = limits{lines: 1 << 18, items: 24 << 20}

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
	b.items, b.keys = append(b.items, *item), append(b.keys, statement)
	b.bytes += item.bytes() + int64(len(key)) + 64
	return n, nil
}

// maxPeriod is the longest charge period: commitments are bought for some years.
const maxPeriod = 11 * 366 * 24 * time.Hour

// errPeriod are errors of charge periods.
var (
	errBackwards = errors.New("the charge period ends before it starts")
	errTooLong   = fmt.Errorf("the charge period is longer than %d years", int(maxPeriod/(366*24*time.Hour)))
	errNoCost    = errors.New("no cost is told: give at least one of them")
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
	p := piece{start: start, end: end, numbers: *n, item: item}
	b.line.Item = &b.items[item]
	b.line.fill(&p)
	if b.line.Known == [NumCosts]bool{} {
		return &cellError{column: focusCosts[Effective], err: errNoCost}
	}
	b.tallies.list[b.keys[item]].Add(&b.line)
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

// flush hands on what was collected, by statement and day.
func (b *batch) flush() error {
	b.order = b.order[:0]
	for i := range b.lines {
		b.order = append(b.order, uint32(i))
	}
	slices.SortFunc(b.order, func(i, k uint32) int {
		x, y := &b.lines[i], &b.lines[k]
		return cmp.Or(cmp.Compare(b.keys[x.item], b.keys[y.item]), cmp.Compare(x.day, y.day), cmp.Compare(x.item, y.item), cmp.Compare(x.start, y.start), cmp.Compare(i, k))
	})
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
		if err := b.emit(&Day{Key: b.items[first.item].Key(), Start: b.calendar.start(first.day), items: b.items, lines: b.sorted}); err != nil {
			return err
		}
	}
	b.lines, b.items, b.keys, b.bytes = b.lines[:0], nil, b.keys[:0], 0
	clear(b.numbers)
	b.epochs++
	return nil
}

// tallies sum the statements of a delivery.
type tallies struct {
	numbers map[Key]int32
	keys    []Key
	ends    []time.Time
	list    []Tally
}

// maxStatements bounds the billing accounts and periods of one delivery.
const maxStatements = 10_000

// statement returns the number of the statement that an item is of.
func (t *tallies) statement(item *Item) (int32, error) {
	key := item.Key()
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
