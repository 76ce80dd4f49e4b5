package charge

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/timeline"
)

// member is a pod behind a service, and when it is.
type member struct {
	*podUse
	when timeline.Intervals
}

// chargeBalancers makes the assets of load balancers, and divides their cost among the pods behind their services. While there
// are no such pods, the cost goes to rows of its own.
func (ch *Charger) chargeBalancers(pods []*podUse) {
	if len(ch.Services.Balancers) == 0 {
		return
	}
	behind := map[observe.ObjectKey][]member{}
	for _, p := range observe.Each(&ch.Limits, slices.All(pods)) {
		for _, x := range ch.Memberships(p.Pod) {
			if key := (observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: x.Service}); ch.Services.Balancers[key] != nil {
				behind[key] = append(behind[key], member{p, x.When})
			}
		}
	}
	var unpriced []string
	for _, key := range observe.Each(&ch.Limits, slices.All(observe.SortedObjects(ch.Services.Balancers))) {
		x := ch.Services.Balancers[key]
		other := timeline.Scaled(ch.Services.Others[key], 0)
		seen, priced := timeline.Overlay(x.Seen, timeline.Overlay(other, x.Ingress)).Positive(), timeline.Ones(x.Price.Original)
		if len(seen) > 0 { // the series of its price show less exactly when it was there
			priced = timeline.Within(priced, timeline.Mask(ch.AbsentIn(x.Cluster).Nodes.Down))
		}
		seen = timeline.Overlay(seen, priced)
		life := ch.LifeOf(x.Cluster, seen, other)
		item := ch.item(rates.ItemLoadBalancer, x.Cluster)
		item.Namespace, item.Name, item.Labels = x.Namespace.Value(), x.Name.Value(), ch.Services.Labels[key].Value
		price := ch.PriceOf("kubecost_load_balancer_cost", x.Price.Best(), item)
		if len(ch.Asked(life)) > 0 && price.IsDefault(ch.Asked(life)) && !ch.Prices.Suspicious.IsBad(prices.Thing{Cluster: x.Cluster, Things: notices.BalancersPriced, Name: x.Namespace.Value() + "/" + x.Name.Value()}) {
			unpriced = append(unpriced, ch.Placed(x.Cluster, x.Namespace.Value()+"/"+x.Name.Value()))
		}
		ch.eachSet(life, func(set int, part timeline.Intervals) {
			ch.Sets[set].Balancers = append(ch.Sets[set].Balancers, x.Asset(part, &price))
		})
		ch.chargeBalancer(x, life, &price, behind[key])
	}
	ch.Count(notices.UnpricedBalancers, unpriced, ch.Sheet().InDollars())
}

// chargeBalancer divides the cost of a load balancer. At each instant of its life, the pods that run behind its service share the cost
// evenly; the containers of a pod share the pod's part.
func (ch *Charger) chargeBalancer(x *observe.Balancer, life timeline.Intervals, price *prices.Item, members []member) {
	eachShift := func(f func(p *podUse, s *shift, part timeline.Interval)) {
		for _, m := range observe.Each(&ch.Limits, slices.All(members)) {
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
	edges := append(price.Edges(life.Edges(nil)), ch.Borders...)
	eachShift(func(_ *podUse, _ *shift, part timeline.Interval) { edges = append(edges, part.From, part.To) })
	d := timeline.NewDivided(edges)
	eachShift(func(_ *podUse, _ *shift, part timeline.Interval) { d.Use(part.From, part.To) })
	d.Integrate(func(from, to int64) (cost, amount float64) {
		if _, alive := life.Find(to); !alive {
			return 0, 0
		}
		return price.At(to) * observe.Hours(from, to), observe.Hours(from, to)
	})
	share := allocation.LoadBalancerShare{
		Key:     ch.Dict.Add(allocation.LoadBalancerKey(x.Cluster.Name(), x.Namespace.Name(), x.Name.Name())),
		Service: ch.Dict.Add(x.Namespace.Name() + "/" + x.Name.Name()), IP: ch.Dict.Add(x.Address.Value.Value()), Private: prices.IsPrivate(x.Address.Value.Value()),
	}
	eachShift(func(p *podUse, s *shift, part timeline.Interval) {
		share.Hours = observe.Hours(part.From, part.To)
		share.Cost = (d.CostEach[d.Edge(part.To)] - d.CostEach[d.Edge(part.From)]) / float64(s.n)
		for _, row := range p.rowsOf(s) {
			if row != observe.NoRow {
				ch.Rows[s.set].AddBalancer(row, share)
			}
		}
	})
	for i := 1; i < len(d.Edges); i++ {
		from, to := d.Edges[i-1], d.Edges[i]
		if share.Hours = d.Amount[i] - d.Amount[i-1]; d.Users[i-1] == 0 && share.Hours > 0 {
			share.Cost = d.Cost[i] - d.Cost[i-1]
			ch.leftOver(leftKey{ch.SetAt(to), allocation.Unallocated, x.Cluster, x.Namespace}, from, to).addBalancer(&share)
		}
	}
}
