package observe

import (
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
)

// TrafficKind is a kind of traffic of a pod.
type TrafficKind uint8

// The kinds of traffic.
const (
	Transmitted TrafficKind = iota
	Received
	EgressZone // sent to other zones; this kind and those below cost
	EgressRegion
	EgressInternet
	NumTraffic
)

// egressPrice has the prices of a GiB by metrics, by kind of traffic.
type egressPrice [NumTraffic]prices.ByMetric

func (ob *Observer) addZonePrice(s *Incoming) error { return ob.addEgressPrice(s, EgressZone) }

func (ob *Observer) addRegionPrice(s *Incoming) error { return ob.addEgressPrice(s, EgressRegion) }

func (ob *Observer) addInternetPrice(s *Incoming) error { return ob.addEgressPrice(s, EgressInternet) }

func (ob *Observer) addEgressPrice(s *Incoming, kind TrafficKind) error {
	all, ok := ob.Prices.Egress[s.Key[0]]
	if !ok {
		all = &egressPrice{}
		ob.Prices.Egress[s.Key[0]] = all
	}
	ob.addPrices(&all[kind], s, prices.Thing{Cluster: s.Key[0], Things: notices.TrafficPriced, Name: s.Key[0].Value()})
	return nil
}
