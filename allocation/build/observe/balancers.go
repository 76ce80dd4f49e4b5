package observe

import (
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Balancer is the load balancer of one service.
type Balancer struct {
	ObjectKey
	Seen    timeline.Steps // when the service was seen with type LoadBalancer
	Ingress timeline.Steps
	Price   prices.ByMetric
	Address timeline.Latest[signals.Symbol] // of the ingress: IP address, else host name
}

func (ob *Observer) balancerOf(s *Incoming) *Balancer {
	key := s.Object()
	x, ok := ob.Services.Balancers[key]
	if !ok {
		x = &Balancer{ObjectKey: key}
		ob.Services.Balancers[key] = x
	}
	return x
}

func (ob *Observer) addBalancer(s *Incoming) error {
	x := ob.balancerOf(s)
	x.Seen = timeline.Max(x.Seen, timeline.Ones(ob.Sampling.Steps(s.Points)))
	return nil
}

func (ob *Observer) addOtherService(s *Incoming) error {
	key := s.Object()
	ob.Services.Others[key] = timeline.Max(ob.Services.Others[key], timeline.Ones(ob.Sampling.Steps(s.Points)))
	return nil
}

func (ob *Observer) addBalancerIngress(s *Incoming) error {
	x := ob.balancerOf(s)
	x.Ingress = timeline.Max(x.Ingress, timeline.Ones(ob.Sampling.Steps(s.Points)))
	x.locate(s.Points.Last(), s.Key[3:5])
	return nil
}

// locate takes the first address that is not empty. Of several addresses at the same time it keeps the smallest text.
func (x *Balancer) locate(at int64, addresses []signals.Symbol) {
	for _, a := range addresses {
		if a == None {
			continue
		}
		if old := x.Address; !old.Known() || at > old.At || at == old.At && a.Value() < old.Value.Value() {
			x.Address.Set(a, at)
		}
		return
	}
}

func (ob *Observer) addBalancerPrice(s *Incoming) error {
	x := ob.balancerOf(s)
	ob.addPrices(&x.Price, s, prices.Thing{Cluster: s.Key[0], Things: notices.BalancersPriced, Name: s.Key[1].Value() + "/" + s.Key[2].Value()})
	if !x.Address.Known() {
		x.locate(s.Points.Last(), s.Key[3:4])
	}
	return nil
}

func (ob *Observer) addServiceLabels(s *Incoming) error {
	labels := ob.Services.Labels[s.Object()]
	labels.Set(s.tailMap(), s.Points.Last())
	ob.Services.Labels[s.Object()] = labels
	return nil
}

// Asset returns the load balancer's asset for its life in a set.
func (x *Balancer) Asset(life timeline.Intervals, price *prices.Item) allocation.LoadBalancer {
	from, to := life.Bounds()
	address := x.Address.Value.Value()
	asset := allocation.LoadBalancer{
		Cluster: x.Cluster.Name(), Namespace: x.Namespace.Name(), Service: x.Name.Name(),
		IP: address, Private: prices.IsPrivate(address), PriceSource: price.Source(to),
		Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
		Hours: float64(life.Length()) / 3.6e6,
	}
	for _, part := range life {
		price.Each(part.From, part.To, func(from, to int64, price float64) { asset.Cost += price * Hours(from, to) })
	}
	return asset
}
