package billing

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// group are the lines of a statement that share what is spread: those of one sub-account and currency.
type group struct{ subAccount, currency string }

// charging turns the costs of a statement's lines, as the bill writes them, into those of the answers.
type charging struct {
	cost    Cost
	rates   map[string]float64 // by currency
	include [NumCategories]bool
	// carried are what one unit of positive cost carries of the included categories, by group.
	carried map[group]Costs
	// stays marks included categories of groups whose lines have nothing to be spread over.
	stays map[group]bool
}

// newCharging prepares the settings of a bill for the lines of a statement. It fails if the statement cannot count with them.
func newCharging(bill *Bill, s *Statement) (*charging, error) {
	c := &charging{cost: bill.Cost, rates: map[string]float64{}, carried: map[group]Costs{}, stays: map[group]bool{}}
	for _, category := range bill.Include {
		c.include[category] = true
	}
	for i := range s.Totals {
		t := &s.Totals[i]
		rate, ok := bill.Rates.Rate(t.Currency, s.Start)
		if !ok {
			return nil, fmt.Errorf("currency %s of account %s has no rate for %s: add exchangeRates: {%s: RATE}, units of %s for 1 %s",
				t.Currency, s.Account, s.Start.UTC().Format("2006-01"), t.Currency, bill.Rates.Currency, t.Currency)
		}
		if t.Unknown[bill.Cost] > 0 {
			return nil, fmt.Errorf("%d lines of account %s have no %s: set cost to one that the bill has", t.Unknown[bill.Cost], s.Account, focusCosts[bill.Cost])
		}
		c.rates[t.Currency] = rate
	}
	c.spread(s.Totals)
	return c, nil
}

// spread works out what each unit of positive cost carries. What has no sub-account is spread over all of the billing account.
func (c *charging) spread(totals []Total) {
	positive, included := map[group]float64{}, map[group]Costs{}
	for i := range totals {
		t := &totals[i]
		own, all := group{t.SubAccount, t.Currency}, group{"", t.Currency}
		if c.include[t.Category] {
			sum := included[own]
			for k := range sum {
				sum[k] += t.Costs[k]
			}
			included[own] = sum
			continue
		}
		positive[own] += t.Positive[c.cost]
		if own != all {
			positive[all] += t.Positive[c.cost]
		}
	}
	for g, costs := range included {
		if positive[g] == 0 {
			c.stays[g] = true
			continue
		}
		for k := range costs {
			costs[k] /= positive[g]
		}
		c.carried[g] = costs
	}
}

// apply converts the costs of a line and adds its part of the included categories. It reports whether the line is itself
// spread over others.
func (c *charging) apply(l *Line) (spread bool) {
	own := group{l.Account.SubID, l.Account.Currency}
	if c.include[l.Charge.Category] && !c.stays[own] {
		return true
	}
	cost, rate := l.Costs[c.cost], c.rates[l.Account.Currency]
	if cost > 0 && !c.include[l.Charge.Category] {
		c.carry(l, cost, own)
		if own.subAccount != "" {
			c.carry(l, cost, group{"", own.currency})
		}
	}
	for k := range l.Costs {
		l.Costs[k] *= rate
	}
	l.Cost = l.Costs[c.cost]
	return false
}

// carry adds what a line of that cost carries of a group.
func (c *charging) carry(l *Line, cost float64, of group) {
	for k, part := range c.carried[of] {
		l.Costs[k] += cost * part
	}
}

// cut calls f for the parts of a line within w, divided at the days of the zone.
func cut(l Line, w allocation.Window, zone *time.Location, f func(*Line) error) error {
	start, end := l.Start, l.End
	for from := later(start, w.Start); from.Before(end) && from.Before(w.End); {
		to := nextDay(from, zone)
		for _, t := range [...]time.Time{end, w.End} {
			if t.Before(to) {
				to = t
			}
		}
		piece := l.within(from, to)
		if err := f(&piece); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// within returns the line for a part of its charge period: costs and quantities are divided evenly over the period.
func (l *Line) within(from, to time.Time) Line {
	out := *l
	if from.Equal(l.Start) && to.Equal(l.End) {
		return out
	}
	out.Start, out.End = from, to
	share := float64(to.Sub(from)) / float64(l.End.Sub(l.Start))
	out.Cost *= share
	out.Quantity *= share
	out.PricingQuantity *= share
	for k := range out.Costs {
		out.Costs[k] *= share
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// nextDay is the end of the day of t in the zone.
func nextDay(t time.Time, zone *time.Location) time.Time {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, zone).End
}

// Tally sums the lines of a statement. The zero value is ready.
type Tally struct {
	totals map[tallied]*running
}

type tallied struct {
	sub, currency string
	category      Category
}

// running is a total to which lines are added. Times are Unix milliseconds.
type running struct {
	Total
	start, end int64
}

// Add adds a line whose costs are as the bill writes them.
func (t *Tally) Add(l *Line) {
	p := piece{start: l.Start.UnixMilli(), end: l.End.UnixMilli()}
	for k, v := range l.Costs {
		if p.numbers[k] = v; !l.Known[k] {
			p.numbers[k] = math.NaN()
		}
	}
	t.total(l.Item).add(&p)
}

// total returns the total that the lines of an item are added to.
func (t *Tally) total(item *Item) *running {
	key := tallied{item.Account.SubID, item.Account.Currency, item.Charge.Category}
	total := t.totals[key]
	if total == nil {
		total = &running{Total: Total{SubAccount: key.sub, Provider: item.Account.Provider, Currency: key.currency, Category: key.category}, start: math.MaxInt64, end: math.MinInt64}
		if t.totals == nil {
			t.totals = map[tallied]*running{}
		}
		t.totals[key] = total
	}
	return total
}

func (r *running) add(p *piece) {
	r.Lines++
	r.start, r.end = min(r.start, p.start), max(r.end, p.end)
	for k := range r.Costs {
		v := p.numbers[k]
		if math.IsNaN(v) {
			r.Unknown[k]++
			continue
		}
		r.Costs[k] += v
		r.Positive[k] += max(v, 0)
	}
}

// Put writes what was summed into a statement.
func (t *Tally) Put(s *Statement) {
	start, end := int64(math.MaxInt64), int64(math.MinInt64)
	s.Lines, s.Totals = 0, make([]Total, 0, len(t.totals))
	for _, r := range t.totals {
		if r.Lines == 0 {
			continue
		}
		r.End = time.UnixMilli(r.end).UTC()
		s.Totals = append(s.Totals, r.Total)
		s.Lines += r.Lines
		start, end = min(start, r.start), max(end, r.end)
	}
	s.Charged = allocation.Window{}
	if s.Lines > 0 {
		s.Charged = allocation.Window{Start: time.UnixMilli(start).UTC(), End: time.UnixMilli(end).UTC()}
	}
	slices.SortFunc(s.Totals, compareTotals)
}

// Agree compares the sums of a statement's pieces with those of its lines.
func (t *Tally) Agree(s *Statement) error {
	var sums Statement
	t.Put(&sums)
	if len(sums.Totals) != len(s.Totals) {
		return fmt.Errorf("it has %d totals, its manifest says %d", len(sums.Totals), len(s.Totals))
	}
	const tolerance = 1e-9
	for i := range s.Totals {
		got, want := &sums.Totals[i], &s.Totals[i]
		for k, v := range want.Costs {
			if compareTotals(*got, *want) != 0 || math.Abs(got.Costs[k]-v) > tolerance*max(1, math.Abs(v), want.Positive[k]) {
				return fmt.Errorf("the %s of sub-account %q is %v, its manifest says %v", focusCosts[k], want.SubAccount, got.Costs[k], v)
			}
		}
	}
	return nil
}

// dayStart is the beginning of the day of t in the zone.
func dayStart(t time.Time, zone *time.Location) time.Time {
	return allocation.Day.Round(allocation.Window{Start: t, End: t.Add(1)}, zone).Start
}
