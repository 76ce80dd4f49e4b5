package democluster

import (
	"cmp"
	"slices"
	"time"
)

// BillTruth is what a window costs by the bills of WriteBills, in USD: their last deliveries, by EffectiveCost, cut at the days
// of UTC. Assets and days that no line charges keep their list price.
type BillTruth struct {
	// ChargedUntil is the end of the last day that the bills charge.
	ChargedUntil time.Time `json:"chargedUntil"`
	// Assets has a row for each asset of the cluster that costs something in the window, by kind and name.
	Assets []BilledAssetTruth `json:"assets"`
	// Containers and Idle have what is added to the costs of the rows of Truth, in the same order.
	Containers []BilledContainerTruth `json:"containers"`
	Idle       []IdleTruth            `json:"idle"`
	// External are lines that no asset of the cluster explains, but whose tags name a namespace or a team, Cloud all others. Both have
	// a row for each thing that is charged for, by kind and name.
	External []BilledLineTruth `json:"external"`
	Cloud    []BilledLineTruth `json:"cloud"`
	// Matched, with the sums of External and Cloud, is the sum of all lines of the window.
	Matched float64 `json:"matchedCost"`
}

// BilledAssetTruth is an asset at list price and by bill.
type BilledAssetTruth struct {
	// Kind is node, volume, localDisk, loadBalancer, network or clusterManagement.
	Kind string `json:"kind"`
	// Name is that of the node or volume, of a local disk's node, namespace/name of a load balancer, or the cluster's.
	Name       string  `json:"name"`
	ListCost   float64 `json:"listCost"`
	BilledCost float64 `json:"billedCost"`
}

// BilledContainerTruth is what the bill adds to the costs of a container. Nodes, volumes and network add to what they cost at list price in
// proportion, load balancers by usage hours within each day.
type BilledContainerTruth struct {
	Namespace    string  `json:"namespace"`
	Pod          string  `json:"pod"`
	UID          string  `json:"uid"`
	Container    string  `json:"container"`
	CPU          float64 `json:"cpuCostAdjustment"`
	RAM          float64 `json:"ramCostAdjustment"`
	GPU          float64 `json:"gpuCostAdjustment"`
	PV           float64 `json:"pvCostAdjustment"`
	Network      float64 `json:"networkCostAdjustment"`
	LoadBalancer float64 `json:"loadBalancerCostAdjustment"`
}

// BilledLineTruth is something outside of the cluster that is charged for.
type BilledLineTruth struct {
	Name           string            `json:"name"`
	Provider       string            `json:"provider"`
	Service        string            `json:"service"`
	ChargeCategory string            `json:"chargeCategory"`
	Resource       string            `json:"resource,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	Cost           float64           `json:"cost"`
}

// billedKey names an asset, or something else that is charged for.
type billedKey struct{ kind, name string }

// billing adds up the truth of bills, day by day.
type billing struct {
	out        *BillTruth
	keys       []billedKey // of charges, in the order of the bills
	charges    map[billedKey][]charged
	assets     map[billedKey]*BilledAssetTruth
	containers map[[2]string]*BilledContainerTruth // by UID and container
	idle       map[string]*IdleTruth
	lines      map[billedKey]*BilledLineTruth
}

// BillTruth computes what [start, end) costs by the bills.
func (c *Cluster) BillTruth(start, end time.Time) *BillTruth {
	w, days := span{start.UnixMilli(), end.UnixMilli()}, c.billDays()
	b := newBilling(c.Truth(start, end)) // which also plans until the end
	b.out.ChargedUntil = instant(days.to)
	c.mu.RLock()
	for _, a := range slices.Concat(c.providerCharges(), c.restatements(), vendorCharges()) {
		key := billedKey{a.kind, a.name}
		if b.charges[key] == nil {
			b.keys = append(b.keys, key)
		}
		b.charges[key] = append(b.charges[key], a)
	}
	c.mu.RUnlock()
	for from := w.from / dayMillis * dayMillis; from < w.to; from += dayMillis {
		day := span{from, from + dayMillis}
		part := day.clip(w)
		t := c.Truth(instant(part.from), instant(part.to))
		of := t
		if part != day && days.has(from) {
			of = c.Truth(instant(day.from), instant(day.to))
		}
		c.mu.RLock()
		b.addDay(part, day, days.has(from), t, of)
		c.mu.RUnlock()
	}
	b.finish()
	return b.out
}

// newBilling has the rows of the window's truth, and nothing added to them.
func newBilling(whole *Truth) *billing {
	b := &billing{
		out: &BillTruth{}, charges: map[billedKey][]charged{},
		assets: map[billedKey]*BilledAssetTruth{}, containers: map[[2]string]*BilledContainerTruth{}, idle: map[string]*IdleTruth{}, lines: map[billedKey]*BilledLineTruth{},
	}
	for i := range whole.Containers {
		row := &whole.Containers[i]
		b.out.Containers = append(b.out.Containers, BilledContainerTruth{Namespace: row.Namespace, Pod: row.Pod, UID: row.UID, Container: row.Container})
	}
	for i := range b.out.Containers {
		row := &b.out.Containers[i]
		b.containers[[2]string{row.UID, row.Container}] = row
	}
	for _, n := range whole.Idle {
		b.out.Idle = append(b.out.Idle, IdleTruth{Cluster: n.Cluster, Node: n.Node})
	}
	for i := range b.out.Idle {
		b.idle[b.out.Idle[i].Node] = &b.out.Idle[i]
	}
	return b
}

// listPrices are what the assets of the cluster cost at list price.
func listPrices(t *Truth) map[billedKey]float64 {
	out := map[billedKey]float64{}
	for _, n := range t.Nodes {
		out[billedKey{nodeAsset, n.Name}] += n.CPUCost + n.RAMCost + n.GPUCost
	}
	for _, v := range t.Volumes {
		out[billedKey{volumeAsset, v.PersistentVolume}] += v.Cost
	}
	for _, d := range t.LocalDisks {
		out[billedKey{localDiskAsset, d.Node}] += d.Cost
	}
	for _, l := range t.LoadBalancers {
		out[billedKey{balancerAsset, l.Namespace + "/" + l.Service}] += l.Cost
	}
	for _, n := range t.Networks {
		out[billedKey{networkAsset, n.Cluster}] += n.NetworkCost
	}
	for _, m := range t.ClusterManagement {
		out[billedKey{managementAsset, m.Cluster}] += m.Cost
	}
	return out
}

// charged returns what lines charge for something within days.
func (b *billing) charged(key billedKey, days span) (sum float64, lines int) {
	for i := range b.charges[key] {
		for l := range b.charges[key][i].lines(days) {
			sum += l.effective
			lines++
		}
	}
	return sum, lines
}

// addDay adds a part of a day, whose truth is t; of is the truth of the whole day.
func (b *billing) addDay(part, day span, billed bool, t, of *Truth) {
	factors, list := map[billedKey]float64{}, listPrices(t)
	for key, whole := range listPrices(of) {
		factors[key] = 1
		if !billed || whole == 0 {
			continue
		}
		// The disks of nodes are on the bill of a provider that bills the nodes, or cost nothing.
		if sum, lines := b.charged(key, day); lines > 0 || key.kind == localDiskAsset {
			factors[key] = sum / whole
		}
	}
	for key, cost := range list {
		row := b.assets[key]
		if row == nil {
			row = &BilledAssetTruth{Kind: key.kind, Name: key.name}
			b.assets[key] = row
		}
		row.ListCost += cost
		row.BilledCost += cost * factors[key]
	}
	b.addRows(t, factors)
	if !billed {
		return
	}
	share := float64(part.to-part.from) / float64(dayMillis)
	for _, key := range b.keys {
		sum, _ := b.charged(key, day)
		if key.kind != externalAsset && key.kind != cloudAsset {
			b.out.Matched += sum * share
			continue
		}
		row := b.lines[key]
		if row == nil {
			l := &b.charges[key][0].line
			row = &BilledLineTruth{Name: key.name, Provider: l.provider, Service: l.service, ChargeCategory: cmp.Or(l.category, "Usage"), Resource: l.resource, Tags: l.tags}
			b.lines[key] = row
		}
		row.Cost += sum * share
	}
}

// addRows adds to the rows of containers and of idle what assets cost more or less by bill.
func (b *billing) addRows(t *Truth, factors map[billedKey]float64) {
	more := func(kind, name string) float64 { return factors[billedKey{kind, name}] - 1 }
	balancers, hours := map[string]float64{}, map[string]float64{}
	for _, l := range t.LoadBalancers {
		id := l.Namespace + "/" + l.Service
		balancers[id] = l.Cost * more(balancerAsset, id)
	}
	for i := range t.Containers {
		for _, l := range t.Containers[i].LoadBalancers {
			hours[l.Service] += l.Hours
		}
	}
	for i := range t.Containers {
		row := &t.Containers[i]
		to, node := b.containers[[2]string{row.UID, row.Container}], more(nodeAsset, row.Node)
		to.CPU += row.CPUCost * node
		to.RAM += row.RAMCost * node
		to.GPU += row.GPUCost * node
		for _, v := range row.PVs {
			to.PV += v.Cost * more(volumeAsset, v.PersistentVolume)
		}
		to.Network += row.NetworkCost * more(networkAsset, row.Cluster)
		for _, l := range row.LoadBalancers {
			to.LoadBalancer += balancers[l.Service] * l.Hours / hours[l.Service]
		}
	}
	for _, row := range t.Idle {
		to, node := b.idle[row.Node], more(nodeAsset, row.Node)
		to.CPUCost += row.CPUCost * node
		to.RAMCost += row.RAMCost * node
		to.GPUCost += row.GPUCost * node
	}
}

// finish sorts the rows into their lists.
func (b *billing) finish() {
	for _, row := range b.assets {
		b.out.Assets = append(b.out.Assets, *row)
	}
	slices.SortFunc(b.out.Assets, func(a, b BilledAssetTruth) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for key, row := range b.lines {
		if key.kind == externalAsset {
			b.out.External = append(b.out.External, *row)
		} else {
			b.out.Cloud = append(b.out.Cloud, *row)
		}
	}
	byName := func(a, b BilledLineTruth) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(b.out.External, byName)
	slices.SortFunc(b.out.Cloud, byName)
}
