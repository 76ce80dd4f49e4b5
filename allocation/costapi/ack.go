package costapi

import (
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// serveACK answers as ACK's cost API does: the cost of a row is its part of the cluster's whole bill, with idle and with what
// clusters cost besides nodes. Costs outside of clusters are no part of it.
func (a *api) serveACK(w http.ResponseWriter, q *request) error {
	sets, err := a.sets(q, q.timing.windows)
	if err != nil {
		return err
	}
	q.options.Idle, q.options.ShareIdle = true, passes.Weighted
	q.options.ShareTenancy = true
	rows, err := q.apply(sets, q.options)
	q.warnEmpty(sets, rows)
	if err != nil {
		return err
	}
	if err := q.checkRows(rows); err != nil {
		return err
	}
	bills, err := a.bills(q, sets, q.options)
	if err != nil {
		return err
	}
	prices, ok := a.cfg.Custom()
	if !ok {
		q.warn("customCost is 0: there are no custom prices: give them in the price sheet")
	}
	list := make([]encode.ACK, len(rows))
	for i, s := range rows {
		custom := customCostsOf(sets[i], prices)
		list[i] = encode.ACK{
			Set: s, Bill: bills[i].amounts(s), Custom: func(row int) float64 { return custom.amount(s, row) },
			OneCluster: len(bills[i].clusters) <= 1,
		}
	}
	if q.output.format == "csv" {
		o := a.encoding(q)
		q.startFile(w, o.AllWarnings(rows))
		return encode.ACKCSV(w, list, o)
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.ACKAllocations(w, list, a.encoding(q))
}

// bill is the total cost of each cluster and of all of them.
type bill struct {
	clusters map[string]float64
	total    float64
}

// amounts is the bill of a row's cluster. Idle that is left of several clusters gets the bill of all of them.
func (b *bill) amounts(s *allocation.Set) func(row int) float64 {
	return func(row int) float64 {
		if cost, ok := b.clusters[s.Text(allocation.Cluster, row)]; ok {
			return cost
		}
		return b.total
	}
}

// bills are the bills of sets: the costs of all rows, whatever the filter.
func (a *api) bills(q *request, sets []*allocation.Set, o passes.Options) ([]bill, error) {
	keys, err := allocation.ParseKeys("cluster", a.cfg.Labels)
	if err != nil {
		return nil, err
	}
	o.Aggregate, o.Filter = keys, nil
	clusters, err := q.apply(sets, o)
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

// customCosts price the rows of a set at custom prices.
type customCosts struct {
	prices allocation.CustomPrices
	// perBalancer are the rates of load balancers, by key: what a unit of list price costs at the custom price. Rows share a load
	// balancer that is free by their hours.
	perBalancer map[string]balancerRate
}

// balancerRate is the custom cost of a row's share of a load balancer, by its list cost or by its hours.
type balancerRate struct{ perCost, perHour float64 }

// customCostsOf prices a set as it was built, because a filter does not change a row's share of a load balancer.
func customCostsOf(s *allocation.Set, prices allocation.CustomPrices) *customCosts {
	type sum struct{ cost, hours float64 }
	rows := map[string]sum{}
	for row := range s.Len() {
		for _, share := range s.LoadBalancerShares(row) {
			key := s.Dict().Text(share.Key)
			rows[key] = sum{rows[key].cost + share.Cost, rows[key].hours + share.Hours}
		}
	}
	c := &customCosts{prices: prices, perBalancer: map[string]balancerRate{}}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		key := allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service)
		rate, all := c.perBalancer[key], rows[key]
		switch cost := l.Hours * prices.LoadBalancer; {
		case all.cost > 0:
			rate.perCost += cost / all.cost
		case all.hours > 0:
			rate.perHour += cost / all.hours
		}
		c.perBalancer[key] = rate
	}
	return c
}

// amount is the cost of a row. All traffic that is not free has the same price, wherever it goes.
func (c *customCosts) amount(s *allocation.Set, row int) float64 {
	const gib = 1 << 30
	sum := 0.0
	for r := range allocation.NumResources {
		sum += s.Value(allocation.Hours.Of(r), row) / r.PerPriceUnit() * c.prices.Node[r]
	}
	sum += s.Value(allocation.PVByteHours, row) / gib * c.prices.Storage
	sum += s.Value(allocation.NetworkEgressBytes, row) / gib * c.prices.Egress
	for _, share := range s.LoadBalancerShares(row) {
		rate := c.perBalancer[s.Dict().Text(share.Key)]
		sum += share.Cost*rate.perCost + share.Hours*rate.perHour
	}
	return sum
}
