package allocation

import "github.com/promcost/promcost/allocation/timeline"

// toldPrices are what metrics say that something costs.
type toldPrices struct {
	others  timeline.Steps // by series of others
	repeats timeline.Steps // by series of promcost, which repeat what others told before
}

// add takes the prices of a series. Of several series the highest price counts.
func (p *toldPrices) add(s *seen, steps timeline.Steps) {
	to := &p.others
	if s.Repeats {
		to = &p.repeats
	}
	*to = timeline.Max(*to, steps)
}

// best is what others say, and where they say nothing at all, what repeats them.
func (p *toldPrices) best() timeline.Steps {
	if len(p.others) > 0 {
		return p.others
	}
	return p.repeats
}
