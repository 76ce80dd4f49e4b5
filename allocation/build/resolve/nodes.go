package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// resolveNodes finds when each node lived, its capacity and its prices.
func (rs *Resolver) resolveNodes() {
	sights := rs.nodeSights()
	for i, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		n.Index = i
		rs.Dict.Add(n.Cluster.Name()) // idle rows name nodes that no container ran on
		rs.Dict.Add(n.Name.Name())
		n.LabelMap = rs.Dict.TextMap(n.Reported.Labels.At(timeline.Forever))
		n.SpotByLabel = rs.Sheet().IsSpot(n.LabelMap)
		n.Provider = rs.Dict.Add(n.ProviderID())
		findMarks(n)
		for r := range allocation.NumResources {
			n.Amount[r] = n.Reported.Capacity[r].Best()
			if len(n.Reported.Capacity[r]) > observe.CapacityByAllocatable {
				n.Allocatable[r] = rs.FillGaps(n.Reported.Capacity[r][observe.CapacityByAllocatable])
			}
		}
		n.Price = rs.OwnPrices(n)
		n.Amount[allocation.GPU] = rs.devicesOf(n)
		seen := n.Reported.Seen
		if len(seen) == 0 {
			seen = timeline.Ones(n.Amount[allocation.CPU])
		}
		for r := range allocation.NumResources {
			n.Amount[r] = rs.FillGaps(n.Amount[r])
		}
		n.Reported.Spot = rs.FillGaps(n.Reported.Spot)
		seen = timeline.Overlay(timeline.Overlay(seen, n.Steps(sights[n.NodeKey])), timeline.Mask(n.Away))
		runs := rs.nodeRuns(n, seen)
		n.Life, n.Bridged = runs.Intervals().Clip(rs.Sampling.Start, rs.Sampling.End), timeline.Union(slices.Concat(runs.Bridged, n.Away))
	}
	rs.endLives()
	rs.joinMachines()
	for _, n := range observe.Each(&rs.Limits, slices.All(rs.SortedNodes())) {
		rs.rateNode(n)
	}
}

// devicesOf returns how many GPUs a node has: by its capacity, else by a count, else by what exporters see. The capacity is 0 where devices were given out by a
// device plugin before, and by claims now.
func (rs *Resolver) devicesOf(n *observe.Node) timeline.Steps {
	capacity := n.Reported.Devices.Sum(signals.Compare, func(name signals.Symbol) float64 { return deviceFraction(name.Value(), n) })
	var seen timeline.Steps
	for _, device := range rs.Nodes.Devices[n.NodeKey] {
		seen = timeline.Sum(seen, device)
	}
	capacity = rs.FillGaps(capacity)
	counted := timeline.Overlay(rs.FillGaps(n.Reported.DeviceCount), rs.FillGaps(seen))
	return timeline.Overlay(timeline.Overlay(capacity.Positive(), counted), capacity)
}

// nodeRuns finds when a node ran that was seen at times. Its object may have been created again while its machine ran on.
func (rs *Resolver) nodeRuns(n *observe.Node, seen timeline.Steps) timeline.Runs {
	p := timeline.Presence{Seen: rs.Sampling.SightsOf(seen)}
	if created := n.Reported.Created; len(created) > 0 {
		p.Started = created.Between(created[0].V, created[0].V)
	}
	return rs.Sampling.Runs(&p, &rs.AbsentIn(n.Cluster).Nodes)
}

// rateNode takes the sheet's prices for resources that no metric prices. It notes nodes with default prices, to warn about them,
// except those whose own prices were left out: there is another warning about these.
func (rs *Resolver) rateNode(n *observe.Node) {
	a := n.Asset(rs.Sampling.End)
	n.Rates = rs.Sheet().Node(rates.NodeAttributes{
		Cluster: a.Cluster, Name: a.Name, ProviderID: a.ProviderID, Provider: rates.Provider(a.ProviderID), Region: a.Region, Zone: a.Zone,
		InstanceType: a.InstanceType, GPUModel: n.Label(labelnames.GPULabels), Labels: a.Labels,
	}, &prices.Known{Amount: n.Amount, Price: n.Price, Exported: rs.ExportedPrices(n, &a)})
	unpriced := false
	times := append(slices.Clone(n.Rates.Changes), rs.Sampling.End)
	for r := range allocation.NumResources {
		byDefault := slices.ContainsFunc(times, func(t int64) bool {
			now := n.RateAt(t)
			return r != allocation.GPU && now.Default || r == allocation.GPU && now.Sources[allocation.GPU] == rates.BuiltInPrices
		})
		unpriced = unpriced || byDefault && !n.Price[r].Cover(rs.Asked(n.Life)) && len(n.Amount[r]) > 0 && !rs.Prices.Suspicious.IsBad(n.PricedThing(r))
	}
	if unpriced && len(rs.Asked(n.Life)) > 0 {
		rs.Prices.Defaulted = append(rs.Prices.Defaulted, rs.Placed(n.Cluster, n.Name.Value()))
	}
}
