package promquery

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// exposedPrice is a value that promcost exposed between two times. From next on, the value of the next hour may have taken its
// place. repeats says that promcost had the price from a metric, so that the series repeats another one.
type exposedPrice struct {
	from, next, to int64
	value          float64
	repeats        bool
}

// exposedPrices are the prices that promcost exposed, by metric and key.
type exposedPrices map[string][]exposedPrice

// exposedKey is the key that a price is found by.
func exposedKey(metric string, key []Symbol) string {
	texts := make([]string, len(key))
	for i, s := range key {
		texts[i] = s.Value()
	}
	return joinKey(metric, texts...)
}

// joinKey is exposedKey of a key of these texts.
func joinKey(metric string, texts ...string) string {
	return metric + "\xff" + strings.Join(texts, "\xff")
}

// exposed returns the prices that promcost exposed in a window. It asks for them once, when they are needed first.
func (c *Config) exposed(ctx context.Context, w allocation.Window) func() (exposedPrices, error) {
	return sync.OnceValues(func() (exposedPrices, error) {
		if c.Exposed == nil {
			return nil, nil
		}
		list, err := c.Exposed(ctx, allocation.Window{Start: w.Start.Add(-time.Hour), End: w.End.Add(time.Hour)})
		if err != nil {
			return nil, fmt.Errorf("find the prices that promcost exposed: %w", err)
		}
		found := exposedPrices{}
		for i := range list {
			found.add(c, &list[i])
		}
		return found, nil
	})
}

// add adds the prices of a set, with their labels as the inputs read them.
func (e exposedPrices) add(c *Config, x *metering.Exposure) {
	p := c.newPlan(signals.NewSymbols(), newFindings(nil), question{}, build.Ask{Signals: allSignals(), Spans: []build.Span{{}}})
	p.own = &ownTargets{}
	for _, subject := range metering.Subjects() {
		for _, f := range subject.Families() {
			i := slices.IndexFunc(p.rs, func(r Request) bool { return r.Metric == f.Name })
			if i < 0 || !p.readers[i].price {
				continue
			}
			repeats := map[string]bool{}
			e.each(p, i, &subject, &f, pricedBy(x.Set, &p.readers[i], f.Name), func(key string, _ float64) { repeats[key] = true })
			e.each(p, i, &subject, &f, x.Set, func(key string, v float64) {
				e[key] = append(e[key], exposedPrice{x.From.UnixMilli(), x.Next.UnixMilli(), x.To.UnixMilli(), v, repeats[key]})
			})
		}
	}
}

// each calls f with the series that promcost exposes for a set.
func (exposedPrices) each(p *plan, i int, subject *metering.Subject, f *metering.Family, set *allocation.Set, yield func(key string, v float64)) {
	labels := make([]Symbol, len(p.rs[i].Keep))
	f.Emit(subject.Totals(set), func(_ int, values []string, v float64) {
		for k, label := range p.rs[i].Keep {
			labels[k] = none
			if at := slices.Index(f.Labels, label.Name); at >= 0 {
				labels[k] = p.symbols.Of(values[at])
			}
		}
		_, key := p.read(i, labels)
		yield(exposedKey(f.Name, key), v)
	})
}

// pricedBy is a set with only what a metric priced. Nothing says which metric repeats that a node is spot: that is attributed to
// others.
func pricedBy(s *allocation.Set, r *reader, metric string) *allocation.Set {
	own := *s
	own.Nodes = only(s.Nodes, func(n *allocation.Node) bool {
		return r.series.Signal == signals.NodeSpot || slices.Contains(n.PriceSource[:], metric)
	})
	own.Disks = only(s.Disks, func(d *allocation.Disk) bool { return d.PriceSource == metric })
	own.Balancers = only(s.Balancers, func(b *allocation.LoadBalancer) bool { return b.PriceSource == metric })
	own.Networks = only(s.Networks, func(n *allocation.Network) bool { return slices.Contains(n.PriceSource[:], metric) })
	own.Management = only(s.Management, func(m *allocation.Management) bool { return m.PriceSource == metric })
	return &own
}

// only are the elements of a list that meet a condition.
func only[T any](list []T, meets func(*T) bool) (out []T) {
	for i := range list {
		if meets(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// rounding is how much a price may differ, relative to it, from what promcost exposed. An hour that is computed again from what
// promcost exposed has its price except for the last digits.
const rounding = 1e-9

// verdict says who exposes a series of prices.
type verdict uint8

const (
	byOthers   verdict = iota // as far as is known
	byPromcost                // all of its values are what promcost exposed at the time, as far as that is known
	repeating                 // as ofPromcost, and promcost had the prices from others
	perStretch                // each stretch of it must be judged by itself
)

// verdict judges a series of prices.
func (e exposedPrices) verdict(metric string, key []Symbol, points *timeline.Points) verdict {
	list, v := e[exposedKey(metric, key)], byOthers
	for t, value := range points.All() {
		known, equal := false, false
		for i := range list {
			if x := &list[i]; x.from <= t && t < x.to {
				known = known || t < x.next
				if math.Abs(x.value-value) <= rounding*math.Abs(value) {
					equal = true
					if v != repeating {
						v = byPromcost
					}
					if x.repeats {
						v = repeating
					}
				}
			}
		}
		if known && !equal && !timeline.IsStale(value) {
			return byOthers
		}
	}
	return v
}
