package costapi

import (
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// serveACK answers as ACK's cost API: what a row costs is its part of the cluster's whole bill, idle and what clusters cost
// besides nodes included.
func (a *api) serveACK(w http.ResponseWriter, q *request) error {
	sets, err := a.sets(q, q.windows)
	if err != nil {
		return err
	}
	q.options.Idle, q.options.ShareIdle = true, allocation.Weighted
	q.options.ShareTenancy, q.options.Reconcile, q.options.External = true, true, true
	rows, err := apply(sets, q.options)
	if err != nil {
		return err
	}
	if err := a.checkRows(rows); err != nil {
		return err
	}
	bills, err := a.bills(sets, q.options)
	if err != nil {
		return err
	}
	prices, ok := a.cfg.Custom()
	if !ok {
		q.warn("customCost is 0: there are no custom prices: give them in the price sheet")
	}
	list := make([]encode.ACK, len(rows))
	for i, s := range rows {
		list[i] = encode.ACK{
			Set: s, Bill: bills[i].of(s), Custom: func(row int) float64 { return customCost(s, row, &prices) },
			OneCluster: len(bills[i].clusters) <= 1,
		}
	}
	if q.format == "csv" {
		o := a.encoding(q)
		startCSV(w, o.AllWarnings(rows))
		return encode.ACKCSV(w, list, o)
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.ACKAllocations(w, list, a.encoding(q))
}

// bill is what clusters cost altogether.
type bill struct {
	clusters map[string]float64
	total    float64
}

// of is the bill of a row's cluster; that of all of them for idle that several have left.
func (b *bill) of(s *allocation.Set) func(row int) float64 {
	return func(row int) float64 {
		if cost, ok := b.clusters[s.Text(allocation.Cluster, row)]; ok {
			return cost
		}
		return b.total
	}
}

// bills are those of sets: the same costs as the rows', whatever the filter.
func (a *api) bills(sets []*allocation.Set, o allocation.Options) ([]bill, error) {
	keys, err := allocation.ParseKeys("cluster", a.cfg.Labels)
	if err != nil {
		return nil, err
	}
	o.Aggregate, o.Filter = keys, nil
	clusters, err := apply(sets, o)
	if err != nil {
		return nil, err
	}
	list := make([]bill, len(clusters))
	for i, s := range clusters {
		list[i].clusters = map[string]float64{}
		for row := range s.Len() {
			if cluster := s.Text(allocation.Cluster, row); cluster != "" {
				list[i].clusters[cluster] += s.TotalCost(row)
			}
			list[i].total += s.TotalCost(row)
		}
	}
	return list, nil
}

// customCost is what a row costs at custom prices. Traffic is priced as what was sent, for of which kind it was is not kept.
func customCost(s *allocation.Set, row int, prices *allocation.CustomPrices) float64 {
	const gib = 1 << 30
	sum := 0.0
	for r := range allocation.NumResources {
		sum += s.Value(allocation.Hours.Of(r), row) / r.PerPriceUnit() * prices.Node[r]
	}
	sum += s.Value(allocation.PVByteHours, row) / gib * prices.Storage
	return sum
}
