package observe

import (
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// addPrices takes and returns the prices in a series.
func (ob *Observer) addPrices(p *prices.ByMetric, s *Incoming, t prices.Thing) timeline.Steps {
	return p.Add(ob.pricesSampling().Steps(s.Points), s.Points.AnyNotFinite(), s.Repeats, t, &ob.Prices.Suspicious)
}

// Sheet is the price sheet over the time that is computed.
func (ob *Observer) Sheet() prices.Sheet {
	return prices.Sheet{Rates: ob.Prices.Rates, Start: ob.Sampling.Start, End: ob.Sampling.End}
}

// PriceOf is the price of an item: the steps of a metric, else the sheet's price.
func (ob *Observer) PriceOf(metric string, steps timeline.Steps, i rates.Item) prices.Item {
	return ob.Sheet().Item(metric, ob.FillGaps(steps), prices.ExportedUnit{}, i)
}
