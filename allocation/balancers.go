package allocation

import (
	"net/netip"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
)

// balancer is the load balancer of one service.
type balancer struct {
	objectKey
	seen    timeline.Steps // of a service of that type
	ingress timeline.Steps
	price   toldPrices
	address latest[Symbol] // of the ingress: IP address, else host name
}

func (b *Builder) balancerOf(s *seen) *balancer {
	key := s.object()
	x, ok := b.balancers[key]
	if !ok {
		x = &balancer{objectKey: key}
		b.balancers[key] = x
	}
	return x
}

func (b *Builder) addBalancer(s *seen) error {
	x := b.balancerOf(s)
	x.seen = timeline.Max(x.seen, presence(b.sampling.Steps(s.p)))
	return nil
}

func (b *Builder) addBalancerIngress(s *seen) error {
	x := b.balancerOf(s)
	x.ingress = timeline.Max(x.ingress, presence(b.sampling.Steps(s.p)))
	x.locate(s.p.Last(), s.key[3:5])
	return nil
}

// locate takes the first address that is one. Of several at one time the smallest text stays.
func (x *balancer) locate(at int64, addresses []Symbol) {
	for _, a := range addresses {
		if a == none {
			continue
		}
		if old := x.address; !old.known() || at > old.at || at == old.at && a.Value() < old.value.Value() {
			x.address.set(a, at)
		}
		return
	}
}

func (b *Builder) addBalancerPrice(s *seen) error {
	x := b.balancerOf(s)
	x.price.add(s, b.pricesOf(s, pricedThing{cluster: s.key[0], things: balancersPriced, name: s.key[1].Value() + "/" + s.key[2].Value()}))
	if !x.address.known() {
		x.locate(s.p.Last(), s.key[3:4])
	}
	return nil
}

func (b *Builder) addServiceLabels(s *seen) error {
	labels := b.serviceLabels[s.object()]
	labels.set(s.tailMap(), s.p.Last())
	b.serviceLabels[s.object()] = labels
	return nil
}

// isPrivate reports whether an address is not to be reached from the internet, as far as it shows: private networks, and
// host names of internal load balancers of AWS.
func isPrivate(address string) bool {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()
	}
	return strings.HasPrefix(address, "internal-")
}

// chargeBalancers makes the assets of load balancers, and divides what each costs in a set among the pods behind its service
// by the hours that both were there, and a pod's part among the containers that ran. What no pod is behind goes to rows
// of its own.
func (b *Builder) chargeBalancers(pods []*pod) {
	if len(b.balancers) == 0 {
		return
	}
	behind := map[objectKey][]*pod{}
	for _, p := range pods {
		for _, service := range b.services.of(p, b.dict) {
			key := objectKey{p.cluster, p.namespace, Sym(service)}
			behind[key] = append(behind[key], p)
		}
	}
	var unpriced []string
	for _, key := range sortedObjects(b.balancers) {
		x := b.balancers[key]
		seen := timeline.Overlay(x.seen, x.ingress)
		if len(seen) == 0 {
			seen = presence(x.price.others) // all that is known of it
		}
		life := b.lifeOf(x.cluster, seen)
		item := b.item(ItemLoadBalancer, x.cluster)
		item.Namespace, item.Name, item.Labels = x.namespace.Value(), x.name.Value(), b.serviceLabels[key].value
		price := b.tariff("kubecost_load_balancer_cost", x.price.best(), item)
		if len(life) > 0 && price.isDefault() && !b.isBad(pricedThing{cluster: x.cluster, things: balancersPriced, name: x.namespace.Value() + "/" + x.name.Value()}) {
			unpriced = append(unpriced, b.placed(x.cluster, x.namespace.Value()+"/"+x.name.Value()))
		}
		b.eachSet(life, func(set int, part timeline.Intervals) {
			asset := x.asset(part, &price)
			b.sets[set].Balancers = append(b.sets[set].Balancers, asset)
			b.chargeBalancer(x, set, part, &asset, behind[key])
		})
	}
	if len(unpriced) > 0 {
		b.warn("%d load balancers lack a price: they have neither kubecost_load_balancer_cost nor a rule of the price sheet; the default price was used (%s)%s. Give prices with --pricing.file", len(unpriced), some(unpriced), b.inDollars())
	}
}

// asset is the load balancer over its life in a set.
func (x *balancer) asset(life timeline.Intervals, price *tariff) LoadBalancer {
	from, to := lifeBounds(life)
	address := symText(x.address)
	asset := LoadBalancer{
		Cluster: x.cluster.Value(), Namespace: x.namespace.Value(), Service: x.name.Value(),
		IP: address, Private: isPrivate(address), PriceSource: price.source(to),
		Start: time.UnixMilli(from).UTC(), End: time.UnixMilli(to).UTC(),
		Hours: float64(life.Length()) / 3.6e6,
	}
	for _, part := range life {
		price.each(part.From, part.To, func(from, to int64, price float64) { asset.Cost += price * hours(from, to) })
	}
	return asset
}

// inFront is a row's part of a load balancer: hours there, and hours divided by the containers that ran.
type inFront struct{ hours, weight float64 }

// chargeBalancer divides a load balancer's cost in a set.
func (b *Builder) chargeBalancer(x *balancer, set int, life timeline.Intervals, asset *LoadBalancer, pods []*pod) {
	var rows []int32
	portions, total := map[int32]inFront{}, 0.0
	for _, p := range pods {
		for i := range p.running() {
			s := &p.shifts[i]
			if int(s.set) != set {
				continue
			}
			h := float64(life.Clip(s.from, s.to).Length()) / 3.6e6
			if h == 0 {
				continue
			}
			total += h
			for _, row := range p.rowsOf(s) {
				before, ok := portions[row]
				if !ok {
					rows = append(rows, row)
				}
				portions[row] = inFront{before.hours + h, before.weight + h/float64(s.n)}
			}
		}
	}
	service := asset.Namespace + "/" + asset.Service
	share := LoadBalancerShare{
		Key: b.dict.Add(LoadBalancerKey(asset.Cluster, asset.Namespace, asset.Service)), Service: b.dict.Add(service), IP: b.dict.Add(asset.IP), Private: asset.Private,
	}
	if total == 0 {
		share.Cost, share.Hours = asset.Cost, asset.Hours
		from, to := lifeBounds(life)
		row := b.leftOver(leftKey{int32(set), Unallocated, x.cluster, x.namespace}, from, to)
		row.balancers = append(row.balancers, share)
		return
	}
	for _, row := range rows {
		part := portions[row]
		share.Hours, share.Cost = part.hours, asset.Cost*part.weight/total
		b.balancerShares[set] = append(b.balancerShares[set], rowShare[LoadBalancerShare]{row, share})
	}
}
