package metering

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/expected"
)

// Past has what the items of a subject cost in each hour of the last four weeks, and so says what they should cost (SEMANTICS §11).
type Past struct {
	subject *Subject
	zone    *time.Location
	end     time.Time // of the last hour
	covered []allocation.Covered
	items   map[string]*pastItem
	days    int     // of all items
	totals  *Totals // nil while it is not known
}

// pastDays are the days that are kept: the running one and those that it is compared with.
const pastDays = expected.Horizon + 1

// pastItem has what one item cost, by day and by hour of the clock. A day stands at its number modulo pastDays, and is nil where the item cost
// nothing: many items, such as jobs, have few days.
type pastItem struct {
	labels []string
	costs  [pastDays]*[24]float64
}

// NewPast returns an empty Past of a subject that Expects. Days begin on the clock of the zone.
func NewPast(s *Subject, zone *time.Location) *Past {
	return &Past{subject: s, zone: zone, items: map[string]*pastItem{}}
}

// Expects reports whether the families of the subject say what its items should cost, which takes more than one set.
func (s *Subject) Expects() bool { return s.expects }

// Bytes is about the memory that the Past takes.
func (p *Past) Bytes() int64 { return int64(len(p.items))*pastItemBytes + int64(p.days)*pastDayBytes }

// What an item and a day of one take.
const (
	pastItemBytes = pastDays*8 + 200
	pastDayBytes  = 24 * 8
)

// PastStart is the beginning of the first day that an hour which ends at an instant is compared with.
func PastStart(end time.Time, zone *time.Location) time.Time {
	return expected.Before(end, expected.Horizon, zone).Start
}

// dayNumber counts the days of the calendar.
func dayNumber(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// Add adds an hour, which must not begin before the last one ended. Hours may be missing: then the days that lack them are not compared
// with. It needs the subject's Projection.
func (p *Past) Add(hour *allocation.Set) {
	start := hour.Window.Start.In(p.zone)
	p.forget(start)
	p.end, p.totals = hour.Window.End, nil
	p.covered = coverage.Join(p.covered, hour.Covered)
	rows := p.subject.Totals(hour).rows
	for i := range rows {
		key := strings.Join(rows[i].labels, "\xff")
		item := p.items[key]
		if item == nil {
			item = &pastItem{labels: rows[i].labels}
			p.items[key] = item
		}
		day := &item.costs[dayNumber(start)%pastDays]
		if *day == nil {
			*day = &[24]float64{}
			p.days++
		}
		(*day)[start.Hour()] += rows[i].total()
	}
}

// forget makes room for the day of an hour that is about to be added.
func (p *Past) forget(start time.Time) {
	today, last := dayNumber(start), dayNumber(p.end.Add(-1).In(p.zone))
	if today == last {
		return
	}
	for key, item := range p.items {
		for day := max(last+1, today-expected.Horizon); day <= today; day++ {
			if old := &item.costs[day%pastDays]; *old != nil {
				*old = nil
				p.days--
			}
		}
		if item.costs == [pastDays]*[24]float64{} {
			delete(p.items, key)
		}
	}
	since := PastStart(start.Add(1), p.zone)
	p.covered = slices.DeleteFunc(p.covered, func(c allocation.Covered) bool { return !c.End.After(since) })
}

// Expected returns what the items should have cost on the day of the last hour up to its end, and how unusual it is what they did. Items of which
// that is not known are not in it, nor those that cost nothing and should not.
func (p *Past) Expected() *Totals {
	if p.totals != nil {
		return p.totals
	}
	p.totals = &Totals{hours: 1, noResource: true}
	known := map[string][pastDays]bool{}
	for _, key := range slices.Sorted(maps.Keys(p.items)) {
		item := p.items[key]
		cluster := item.labels[0]
		if _, ok := known[cluster]; !ok {
			known[cluster] = p.knownDays(cluster)
		}
		if row := item.total(p.end.In(p.zone), known[cluster]); row != nil {
			p.totals.rows = append(p.totals.rows, *row)
		}
	}
	slices.SortFunc(p.totals.rows, compareTotals)
	return p.totals
}

// knownDays says which of the days have data of a cluster.
func (p *Past) knownDays(cluster string) (known [pastDays]bool) {
	own := slices.DeleteFunc(slices.Clone(p.covered), func(c allocation.Covered) bool { return assetLabels(c.Cluster)[0] != cluster })
	for ago := range known {
		known[ago] = expected.Known(expected.Before(p.end, ago, p.zone), own)
	}
	return known
}

// total is what the item should have cost by an instant of the day, nil if that is not known.
func (x *pastItem) total(end time.Time, known [pastDays]bool) *subjectTotal {
	last := end.Add(-1)
	costOf := func(ago int) (sum float64) {
		if day := x.costs[(dayNumber(last)-ago)%pastDays]; day != nil {
			for _, cost := range day[:last.Hour()+1] {
				sum += cost
			}
		}
		return sum
	}
	var past expected.Past
	for i := range past {
		past[i] = expected.Day{Cost: costOf(i + 1), Known: known[i+1]}
	}
	should, ok := expected.Of(past.Like(0))
	cost := costOf(0)
	if !ok || !known[0] || should.Expected == 0 && cost == 0 {
		return nil
	}
	row := &subjectTotal{labels: x.labels, judged: true}
	row.figures[expectedCost], row.figures[unusualScore] = should.Expected, should.Score(cost)
	return row
}

// The figures of an item of a Past in a subjectTotal.
const (
	expectedCost familyResource = iota
	unusualScore
)

// judgement returns the i-th figure of an item of a Past. Items of sets have none.
func judgement(i familyResource) familyValue {
	return func(t *subjectTotal, _ familyResource, _ float64) (float64, bool) { return t.figures[i], t.judged }
}

// Outlook is what subjects should have cost by the end of a closed hour. It does not change once it is made.
type Outlook struct {
	End    time.Time
	totals map[string]*Totals // by name of the subject
}

// NewOutlook returns what subjects should have cost by their pasts. It knows nothing of those to which the hour that ends then was not added.
func NewOutlook(end time.Time, pasts []*Past) *Outlook {
	o := &Outlook{End: end, totals: map[string]*Totals{}}
	for _, p := range pasts {
		if p.end.Equal(end) {
			o.totals[p.subject.Name] = p.Expected()
		}
	}
	return o
}

// Totals returns the totals for the families of a subject that Expects. They are empty where nothing is known.
func (o *Outlook) Totals(s *Subject) *Totals {
	if o == nil || o.totals[s.Name] == nil {
		return &Totals{hours: 1, noResource: true}
	}
	return o.totals[s.Name]
}
