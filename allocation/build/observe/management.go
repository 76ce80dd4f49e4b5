package observe

import (
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Management is the price and the provisioner of a cluster's control plane.
type Management struct {
	Price       prices.ByMetric
	Provisioner timeline.Latest[signals.Symbol]
}

func (ob *Observer) addManagementPrice(s *Incoming) error {
	m, ok := ob.Prices.Management[s.Key[0]]
	if !ok {
		m = &Management{}
		ob.Prices.Management[s.Key[0]] = m
	}
	ob.addPrices(&m.Price, s, prices.Thing{Cluster: s.Key[0], Things: notices.ManagementPriced, Name: s.Key[0].Value()})
	if s.Key[1] != None {
		m.Provisioner.Set(s.Key[1], s.Points.Last())
	}
	return nil
}
