package billing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Brought is what one delivery of a bill brought, and what counts of it.
type Brought struct {
	Bill    string            `json:"bill"`
	Name    string            `json:"name"` // of the manifest or folder
	Time    time.Time         `json:"time"`
	Files   int               `json:"files,omitempty"` // 0 where it was taken in by a version that did not count them
	Charged allocation.Window `json:"charged"`
	// Lines and Costs, by currency, are of what counts.
	Lines int64              `json:"lines"`
	Costs map[string]float64 `json:"costs"`
	// Replaced are the lines of other deliveries that it took the place of.
	Replaced []Replaced `json:"replaced,omitempty"`
}

// Brought returns what the deliveries brought that are kept, in the order of bills in the config file and of time.
func (b *Book) Brought() []Brought {
	all := map[DeliveryName]*Brought{}
	of := func(s *Statement) *Brought {
		name := DeliveryName{s.Bill, s.Delivery}
		if all[name] == nil {
			all[name] = &Brought{Bill: s.Bill, Name: s.Delivery, Time: s.Delivered, Files: s.Files, Costs: map[string]float64{}}
		}
		return all[name]
	}
	for i := range b.statements {
		parts := b.statements[i].parts
		if parts == nil {
			parts = []part{{Statement: b.statements[i]}}
		}
		for k := range parts {
			of(&parts[k].Statement).add(&parts[k])
		}
		for k := range parts {
			for by, r := range parts[k].replaced {
				if to := all[DeliveryName{parts[k].Bill, by}]; to != nil {
					to.replace(*r, parts[k].Delivery)
				}
			}
		}
	}
	order := map[string]int{}
	for i := range b.options.Bills {
		order[b.options.Bills[i].Name] = i
	}
	list := make([]Brought, 0, len(all))
	for x := range maps.Values(all) {
		slices.SortFunc(x.Replaced, func(a, b Replaced) int { return strings.Compare(a.Delivery, b.Delivery) })
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Brought) int {
		return cmp.Or(cmp.Compare(order[a.Bill], order[b.Bill]), a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name))
	})
	return list
}

// add adds what counts of one of the delivery's statements.
func (x *Brought) add(p *part) {
	if p.Replaced != nil {
		x.replace(*p.Replaced, p.Replaced.Delivery)
	}
	if p.Lines == 0 {
		return
	}
	if x.Lines == 0 || p.Charged.Start.Before(x.Charged.Start) {
		x.Charged.Start = p.Charged.Start
	}
	x.Charged.End = later(x.Charged.End, p.Charged.End)
	x.Lines += p.Lines
	for currency, cost := range costsOf(p.Totals) {
		x.Costs[currency] += cost
	}
}

// replace adds lines of a delivery that this one took the place of.
func (x *Brought) replace(r Replaced, of string) {
	i := slices.IndexFunc(x.Replaced, func(o Replaced) bool { return o.Delivery == of })
	if i < 0 {
		i = len(x.Replaced)
		x.Replaced = append(x.Replaced, Replaced{Delivery: of, Costs: map[string]float64{}})
	}
	x.Replaced[i].Lines += r.Lines
	for currency, cost := range r.Costs {
		x.Replaced[i].Costs[currency] += cost
	}
}
