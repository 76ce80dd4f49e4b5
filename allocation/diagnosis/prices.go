package diagnosis

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/rates"
)

// Price says what rests on a source of prices.
type Price struct {
	Source string
	Kind   rates.SourceKind
	AsOf   time.Time // when the prices were right; zero where that is not known, or they are defaults
	Nodes  []string  // that it prices CPU, memory or GPUs of, as cluster/name, ascending
	Cost   float64   // of all assets, at list price
	Share  float64   // of the cost of all assets
}

// Prices say what the assets of a set rest on, dearest first. Prices of a sheet are of sheetAsOf.
func Prices(set *allocation.Set, sheetAsOf time.Time) (out []Price) {
	total := 0.0
	for _, by := range set.PricedBy() {
		p := Price{Source: by.Source, Kind: rates.Kind(by.Source), Cost: by.Cost}
		switch p.Kind {
		case rates.ListSource, rates.EstimateSource:
			p.AsOf, _ = rates.AsOf(by.Source)
		case rates.MetricSource, rates.ExporterSource:
			p.AsOf = set.Window.End
		case rates.SheetSource:
			p.AsOf = sheetAsOf
		case rates.DefaultSource, rates.UnknownSource:
		}
		for i := range set.Nodes {
			if n := &set.Nodes[i]; slices.Contains(n.PriceSource[:], by.Source) {
				p.Nodes = append(p.Nodes, n.Cluster+"/"+n.Name)
			}
		}
		total += by.Cost
		out = append(out, p)
	}
	for i := range out {
		out[i].Share = out[i].Cost / total
	}
	return out
}
