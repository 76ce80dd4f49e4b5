package billing

import (
	"math"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Day are lines of one statement that lie in one day: all of them, or some where there are many.
type Day struct {
	Key
	Start time.Time // of the day
	items []Item
	texts *itemTexts
	lines []piece // sorted by item and start
}

// piece is a line without its description. Times are Unix milliseconds.
type piece struct {
	start, end int64
	numbers    numbers
	item       uint32
	day        int32 // number in the calendar
}

// overlaps reports whether lines of the day may lie in w. A day has at most 26 hours.
func (d *Day) overlaps(w allocation.Window) bool {
	return d.Start.Before(w.End) && d.Start.Add(26*time.Hour).After(w.Start)
}

// Len is how many lines the day has.
func (d *Day) Len() int { return len(d.lines) }

// Bytes is about how much memory the day takes, items not counted.
func (d *Day) Bytes() int64 { return int64(len(d.lines)) * pieceBytes }

// pieceBytes is what a piece takes.
const pieceBytes = 72

// Each calls f for each line. The line is valid during the call.
func (d *Day) Each(f func(*Line) error) error {
	var l Line
	for i := range d.lines {
		p := &d.lines[i]
		l.Item = &d.items[p.item]
		l.fill(p)
		if err := f(&l); err != nil {
			return err
		}
	}
	return nil
}

// fill sets all of the line but its item.
func (l *Line) fill(p *piece) {
	l.Start, l.End = time.UnixMilli(p.start).UTC(), time.UnixMilli(p.end).UTC()
	for k := range l.Costs {
		v := p.numbers[k]
		l.Costs[k], l.Known[k] = v, !math.IsNaN(v)
		if !l.Known[k] {
			l.Costs[k] = 0
		}
	}
	l.Quantity, l.PricingQuantity = p.numbers[NumCosts], p.numbers[NumCosts+1]
}

// clone returns a copy that shares no memory, and about how many bytes it takes.
func (d *Day) clone() (out *Day, bytes int64) {
	out = &Day{Key: d.Key, Start: d.Start, texts: &itemTexts{}, lines: make([]piece, len(d.lines))}
	at := map[uint32]uint32{}
	for i, p := range d.lines {
		n, ok := at[p.item]
		if !ok {
			n = uint32(len(out.items))
			at[p.item] = n
			out.items = append(out.items, d.items[p.item])
			bytes += d.items[p.item].bytes()
		}
		p.item = n
		out.lines[i] = p
	}
	return out, bytes + out.Bytes()
}

// bytes is about how much memory the item takes.
func (i *Item) bytes() int64 {
	const fixed = 900 // the struct, and what the allocator adds
	n := int64(fixed)
	for _, text := range [...]string{i.Charge.Description, i.Resource.ID, i.Resource.Name, i.Charge.SkuPrice} {
		n += int64(len(text))
	}
	for _, tag := range i.Tags {
		n += int64(len(tag.Name)+len(tag.Value)) + 64
	}
	return n
}

// calendar numbers the days of a time zone. It is not safe for concurrent use.
type calendar struct {
	zone   *time.Location
	starts map[int32]int64 // of days, by number
	last   int32           // the day that was looked up last
	from   int64           // its bounds
	to     int64
}

func newCalendar(zone *time.Location) *calendar {
	return &calendar{zone: zone, starts: map[int32]int64{}}
}

// day returns the number of the day of an instant, and when the day ends.
func (c *calendar) day(millis int64) (number int32, end int64) {
	if millis < c.from || millis >= c.to {
		t := time.UnixMilli(millis).In(c.zone)
		year, month, day := t.Date()
		c.last = int32(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
		end := nextDay(t, c.zone)
		c.from, c.to = dayStart(t, c.zone).UnixMilli(), end.UnixMilli()
		c.starts[c.last] = c.from
	}
	return c.last, c.to
}

// start is when a day begins that was looked up.
func (c *calendar) start(number int32) time.Time { return time.UnixMilli(c.starts[number]).In(c.zone) }
