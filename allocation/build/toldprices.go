package build

import (
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// toldPrices are what metrics say that something costs.
type toldPrices struct {
	others  timeline.Steps // by series of others
	repeats timeline.Steps // by series of promcost, which repeat what others told before
}

// addPrices takes the prices of something in a series, and gives them back. Of several series the highest price counts: where they
// differ for longer than a price that changed is still seen, that is noted, to be warned of.
func (b *Builder) addPrices(p *toldPrices, s *seen, t pricedThing) timeline.Steps {
	steps, to := b.pricesOf(s, t), &p.others
	if s.Repeats {
		to = &p.repeats
	}
	if timeline.Disputed(*to, steps) > 2*timeline.Lookback {
		b.prices.bad[badPrice{notices.Disputed, t}] = true
	}
	*to = timeline.Max(*to, steps)
	return steps
}

// best is what others say, and where they say nothing at all, what repeats them.
func (p *toldPrices) best() timeline.Steps {
	if len(p.others) > 0 {
		return p.others
	}
	return p.repeats
}
