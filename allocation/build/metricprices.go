package build

import (
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// toldPrices are what metrics say that something costs.
type metricPrices struct {
	original timeline.Steps // by series of others
	repeated timeline.Steps // by series of promcost, which repeat what others told before
}

// addPrices takes the prices of something in a series, and gives them back. Of several series the highest price counts: where they
// differ for longer than a price that changed is still seen, that is noted, to be warned of.
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

// best is what others say, and where they say nothing at all, what repeats them.
func (p *metricPrices) best() timeline.Steps {
	if len(p.original) > 0 {
		return p.original
	}
	return p.repeated
}
