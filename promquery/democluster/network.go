package democluster

// Kinds of traffic that leaves a zone, in the order of their names.
const (
	toInternet = iota
	toRegion
	toZone
	numEgress
)

// egress is where a pod sends its traffic, in percent by destination. Traffic within its zone is free.
type egress struct {
	percent  [numEgress]int64
	sameZone int64
}

// goes is where traffic goes, in percent.
func goes(internet, region, zone, sameZone int64) egress {
	return egress{percent: [numEgress]int64{toInternet: internet, toRegion: region, toZone: zone}, sameZone: sameZone}
}

// egressKind is how exporters name a kind of traffic.
type egressKind struct{ internet, sameRegion, sameZone, price string }

func egressKinds() [numEgress]egressKind {
	return [numEgress]egressKind{
		toInternet: {"true", "false", "false", "kubecost_network_internet_egress_cost"},
		toRegion:   {"false", "false", "false", "kubecost_network_region_egress_cost"},
		toZone:     {"false", "true", "false", "kubecost_network_zone_egress_cost"},
	}
}

// egressPrices are the prices of a GiB, that of the internet falls.
func (c *Cluster) egressPrices() [numEgress][]level {
	if c.cfg.NoOpenCost { // promcost falls back on these
		return [numEgress][]level{toInternet: {{0, 0.12}}, toRegion: {{0, 0.01}}, toZone: {{0, 0.01}}}
	}
	return [numEgress][]level{
		toInternet: {{0, 0.12}, {c.timeAt(atPriceChange), 0.09}},
		toRegion:   {{0, 0.01}},
		toZone:     {{0, 0.01}},
	}
}

// spans returns when the pod runs: any of its containers.
func (p *pod) spans() []span {
	var list []span
	for i := range p.containers {
		list = append(list, p.containers[i].runs...)
	}
	return union(list)
}

// traffic returns how many bytes a pod has received and transmitted since it was created, counters, and at what rates while it
// runs, in bytes a ms.
func (p *pod) traffic() (receive, transmit curve, rates [2]int64) {
	r := rng(keyOf(p.key, "network"))
	rates = [2]int64{r.between(1, 60), r.between(1, 60)}
	spans := p.spans()
	count := func(rate int64) (cv curve) {
		sum := int64(0)
		for i, s := range spans {
			cv = append(cv, ramp{s.from, sum, rate})
			if i+1 < len(spans) {
				sum += rate * (s.to - s.from)
				cv = append(cv, ramp{s.to, sum, 0})
			}
		}
		return cv
	}
	return count(rates[0]), count(rates[1]), rates
}

// network adds what cAdvisor and the network-costs daemon say about a pod's traffic; path is its cgroup.
func (b *collector) network(p *pod, life span, path string) {
	sandbox := hex64(keyOf(p.key, "sandbox"))
	kv := []string{
		"node", p.node.name, "namespace", p.of.namespace, "pod", p.name, "interface", "eth0",
		"id", path + "/cri-containerd-" + sandbox + ".scope", "name", sandbox, "image", "registry.k8s.io/pause:3.10",
	}
	receive, transmit, _ := p.traffic()
	key := keyOf(p.key, "cgroup")
	b.sampled(p.node.target, life, receive, key, undivided, "container_network_receive_bytes_total", kv...)
	b.sampled(p.node.target, life, transmit, key, undivided, "container_network_transmit_bytes_total", kv...)

	row := func(percent int64, k egressKind) {
		if percent > 0 {
			b.scraped(p.node.networkCosts, life, transmit, 100/float64(percent), "kubecost_pod_network_egress_bytes_total",
				"namespace", p.of.namespace, "pod_name", p.name, "internet", k.internet, "same_region", k.sameRegion, "same_zone", k.sameZone)
		}
	}
	for i, k := range egressKinds() {
		row(p.of.egress.percent[i], k)
	}
	row(p.of.egress.sameZone, egressKind{"false", "true", "true", ""})
}

// egressCosts adds the prices of traffic.
func (b *collector) egressCosts() {
	prices := b.c.egressPrices()
	for i, k := range egressKinds() {
		b.opencost(during(b.c.always(), prices[i]), k.price)
	}
}
