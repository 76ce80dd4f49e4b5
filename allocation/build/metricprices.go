package build

import (
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// metricPrices are the prices of something by metrics.
type metricPrices struct {
	original timeline.Steps // by series of others
	repeated timeline.Steps // by series of promcost, which repeat what others told before
}

// addPrices takes and returns the prices in a series. The highest price of several series counts. If series differ for longer than an
// old price can still be seen, it notes that for a warning.
func (b *Builder) addPrices(p *metricPrices, s *seen, t pricedThing) timeline.Steps {
	steps, to := b.pricesOf(s, t), &p.original
	if s.Repeats {
		to = &p.repeated
	}
	if timeline.Disputed(*to, steps) > 2*timeline.Lookback {
		b.prices.bad[badPrice{notices.Disputed, t}] = true
	}
	*to = timeline.Max(*to, steps)
	return steps
}

// best returns the original prices, or if there are none, the repeated ones.
func (p *metricPrices) best() timeline.Steps {
	if len(p.original) > 0 {
		return p.original
	}
	return p.repeated
}
