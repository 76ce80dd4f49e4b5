package build

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// balancer is the load balancer of one service.
type balancer struct {
	objectKey
	seen    timeline.Steps // when the service was seen with type LoadBalancer
	ingress timeline.Steps
	price   prices.ByMetric
	address timeline.Latest[signals.Symbol] // of the ingress: IP address, else host name
}

func (b *Builder) balancerOf(s *incoming) *balancer {
	key := s.object()
	x, ok := b.services.balancers[key]
	if !ok {
		x = &balancer{objectKey: key}
		b.services.balancers[key] = x
	}
	return x
}

func (b *Builder) addBalancer(s *incoming) error {
	x := b.balancerOf(s)
	x.seen = timeline.Max(x.seen, timeline.Ones(b.sampling.Steps(s.p)))
	return nil
}

func (b *Builder) addBalancerIngress(s *incoming) error {
	x := b.balancerOf(s)
	x.ingress = timeline.Max(x.ingress, timeline.Ones(b.sampling.Steps(s.p)))
	x.locate(s.p.Last(), s.key[3:5])
	return nil
}

// locate takes the first address that is not empty. Of several addresses at the same time it keeps the smallest text.
func (x *balancer) locate(at int64, addresses []signals.Symbol) {
	for _, a := range addresses {
		if a == none {
			continue
		}
		if old := x.address; !old.Known() || at > old.At || at == old.At && a.Value() < old.Value.Value() {
			x.address.Set(a, at)
		}
		return
	}
}

func (b *Builder) addBalancerPrice(s *incoming) error {
	x := b.balancerOf(s)
	b.addPrices(&x.price, s, prices.Thing{Cluster: s.key[0], Things: notices.BalancersPriced, Name: s.key[1].Value() + "/" + s.key[2].Value()})
	if !x.address.Known() {
		x.locate(s.p.Last(), s.key[3:4])
	}
	return nil
}

func (b *Builder) addServiceLabels(s *incoming) error {
	labels := b.services.labels[s.object()]
	labels.Set(s.tailMap(), s.p.Last())
	b.services.labels[s.object()] = labels
	return nil
}

// member is a pod behind a service, and when it is.
type member struct {
	*podUse
	when timeline.Intervals
}

// chargeBalancers makes the assets of load balancers, and divides their cost among the pods behind their services. While there
// are no such pods, the cost goes to rows of its own.
func (b *Builder) chargeBalancers(pods []*podUse) {
	if len(b.services.balancers) == 0 {
		return
	}
	behind := map[objectKey][]member{}
	for _, p := range each(&b.limits, slices.All(pods)) {
		for _, x := range b.memberships(p.pod) {
			if key := (objectKey{p.cluster, p.namespace, x.Service}); b.services.balancers[key] != nil {
				behind[key] = append(behind[key], member{p, x.When})
			}
		}
	}
	var unpriced []string
	for _, key := range each(&b.limits, slices.All(sortedObjects(b.services.balancers))) {
		x := b.services.balancers[key]
		seen, priced := timeline.Overlay(x.seen, x.ingress), timeline.Ones(x.price.Original)
		if len(seen) > 0 { // the series of its price show less exactly when it was there
			priced = timeline.Within(priced, timeline.Mask(b.absentIn(x.cluster).nodes.Down))
		}
		seen = timeline.Overlay(seen, priced)
		life := b.lifeOf(x.cluster, seen)
		item := b.item(rates.ItemLoadBalancer, x.cluster)
		item.Namespace, item.Name, item.Labels = x.namespace.Value(), x.name.Value(), b.services.labels[key].Value
		price := b.priceOf("kubecost_load_balancer_cost", x.price.Best(), item)
		if len(b.asked(life)) > 0 && price.IsDefault(b.asked(life)) && !b.prices.suspicious.IsBad(prices.Thing{Cluster: x.cluster, Things: notices.BalancersPriced, Name: x.namespace.Value() + "/" + x.name.Value()}) {
			unpriced = append(unpriced, b.placed(x.cluster, x.namespace.Value()+"/"+x.name.Value()))
		}
		b.eachSet(life, func(set int, part timeline.Intervals) {
			b.sets[set].Balancers = append(b.sets[set].Balancers, x.asset(part, &price))
		})
		b.chargeBalancer(x, life, &price, behind[key])
	}
	b.count(notices.UnpricedBalancers, unpriced, b.sheet().InDollars())
}

// asset returns the load balancer's asset for its life in a set.
func (x *balancer) asset(life timeline.Intervals, price *prices.Item) allocation.LoadBalancer {
	from, to := life.Bounds()
	address := x.address.Value.Value()
	asset := allocation.LoadBalancer{
		Cluster: x.cluster.Value(), Namespace: x.namespace.Value(), Service: x.name.Value(),
		IP: address, Private: prices.IsPrivate(address), PriceSource: price.Source(to),
		Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
		Hours: float64(life.Length()) / 3.6e6,
	}
	for _, part := range life {
		price.Each(part.From, part.To, func(from, to int64, price float64) { asset.Cost += price * hours(from, to) })
	}
	return asset
}

// chargeBalancer divides the cost of a load balancer. At each instant of its life, the pods that run behind its service share the cost
// evenly; the containers of a pod share the pod's part.
func (b *Builder) chargeBalancer(x *balancer, life timeline.Intervals, price *prices.Item, members []member) {
	eachShift := func(f func(p *podUse, s *shift, part timeline.Interval)) {
		for _, m := range each(&b.limits, slices.All(members)) {
			for i := range m.running() {
				s := &m.shifts[i]
				for _, alive := range life.Clip(s.from, s.to) {
					for _, part := range m.when.Clip(alive.From, alive.To) {
						f(m.podUse, s, part)
					}
				}
			}
		}
	}
	edges := append(price.Edges(life.Edges(nil)), b.borders...)
	eachShift(func(_ *podUse, _ *shift, part timeline.Interval) { edges = append(edges, part.From, part.To) })
	d := timeline.NewDivided(edges)
	eachShift(func(_ *podUse, _ *shift, part timeline.Interval) { d.Use(part.From, part.To) })
	d.Integrate(func(from, to int64) (cost, amount float64) {
		if _, alive := life.Find(to); !alive {
			return 0, 0
		}
		return price.At(to) * hours(from, to), hours(from, to)
	})
	share := allocation.LoadBalancerShare{
		Key:     b.dict.Add(allocation.LoadBalancerKey(x.cluster.Value(), x.namespace.Value(), x.name.Value())),
		Service: b.dict.Add(x.namespace.Value() + "/" + x.name.Value()), IP: b.dict.Add(x.address.Value.Value()), Private: prices.IsPrivate(x.address.Value.Value()),
	}
	eachShift(func(p *podUse, s *shift, part timeline.Interval) {
		share.Hours = hours(part.From, part.To)
		share.Cost = (d.CostEach[d.Edge(part.To)] - d.CostEach[d.Edge(part.From)]) / float64(s.n)
		for _, row := range p.rowsOf(s) {
			if row != noRow {
				b.rows[s.set].AddBalancer(row, share)
			}
		}
	})
	for i := 1; i < len(d.Edges); i++ {
		from, to := d.Edges[i-1], d.Edges[i]
		if share.Hours = d.Amount[i] - d.Amount[i-1]; d.Users[i-1] == 0 && share.Hours > 0 {
			share.Cost = d.Cost[i] - d.Cost[i-1]
			b.leftOver(leftKey{b.setAt(to), allocation.Unallocated, x.cluster, x.namespace}, from, to).addBalancer(&share)
		}
	}
}
