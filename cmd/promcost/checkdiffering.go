package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
)

// How far prices of one thing may be apart before a warning.
const (
	mostOfList     = 3.0  // what metrics say of a node, of what is listed for it
	mostOfSiblings = 1.01 // what one source says of nodes of one type and zone
)

// differingPrices warns of nodes whose metrics say something else than what is listed for them, and of nodes of one type and zone that one source prices differently.
func differingPrices(set *allocation.Set, sheet *pricing.Sheet) []string {
	return append(unlikeListed(set, sheet), unlikeSiblings(set)...)
}

// unlikeListed names the nodes that cost by metrics more than three times, or less than a third, of what is listed.
func unlikeListed(set *allocation.Set, sheet *pricing.Sheet) []string {
	var names []string
	worst, text := 1.0, ""
	for i := range set.Nodes {
		n := &set.Nodes[i]
		if hours := n.RunningSeconds / 3600; hours > 0 && rates.Kind(n.PriceSource[allocation.CPU]) == rates.MetricSource {
			listed, source := sheet.Listed(nodeAttributes(n))
			if times := n.TotalCost() / hours / listed; listed > 0 && (times > mostOfList || times < 1/mostOfList) {
				names = append(names, n.Name)
				if far := math.Abs(math.Log(times)); far >= math.Abs(math.Log(worst)) {
					worst, text = times, fmt.Sprintf("%s costs %s an hour by metrics, and %s by %s", n.Name, priceText(n.TotalCost()/hours), priceText(listed), source)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{counted(len(names), "{n} {node costs|nodes cost} by metrics more than 3 times, or less than a third, of what is listed ({}): {}. Is what exports node_*_hourly_cost right, and its unit an hour?",
		firstNames(names), text)}
}

// nodeAttributes are what price lists ask of a node.
func nodeAttributes(n *allocation.Node) rates.NodeAttributes {
	out := rates.NodeAttributes{
		Cluster: n.Cluster, Name: n.Name, Provider: rates.Provider(n.ProviderID), Region: n.Region, Zone: n.Zone, InstanceType: n.InstanceType,
		GPUModel: labelnames.First(n.Labels, labelnames.GPULabels), Labels: n.Labels, Spot: n.Spot,
	}
	for r := range allocation.NumResources {
		out.Size[r] = n.Hours[r] / r.PerPriceUnit() / (n.RunningSeconds / 3600)
	}
	return out
}

// siblings are nodes on demand that should have one price.
type siblings struct {
	cluster, instanceType, zone string
	sources                     [allocation.NumResources]string
}

// unlikeSiblings warns of nodes on demand of one type and zone that one source prices differently. Prices are means: only nodes that ran all the time are compared, for the
// others ran at other prices where these change.
func unlikeSiblings(set *allocation.Set) (warnings []string) {
	var order []siblings
	cheapest, dearest := map[siblings]*allocation.Node{}, map[siblings]*allocation.Node{}
	price := func(n *allocation.Node) float64 { return n.TotalCost() / n.RunningSeconds * 3600 }
	for i := range set.Nodes {
		n := &set.Nodes[i]
		if n.Spot || n.InstanceType == "" || n.RunningSeconds < set.Window.Duration().Seconds() {
			continue
		}
		of := siblings{n.Cluster, n.InstanceType, n.Zone, n.PriceSource}
		if cheapest[of] == nil {
			order, cheapest[of], dearest[of] = append(order, of), n, n
		}
		if price(n) < price(cheapest[of]) {
			cheapest[of] = n
		}
		if price(n) > price(dearest[of]) {
			dearest[of] = n
		}
	}
	for _, of := range order {
		if low, high := cheapest[of], dearest[of]; price(high) > mostOfSiblings*price(low) {
			warnings = append(warnings, fmt.Sprintf("nodes on demand of %s in zone %s have different prices by %s: %s costs %s an hour, and %s costs %s. Is one of them a spot node, or does its exporter not know it?",
				of.instanceType, dash(of.zone), strings.Join(nodeSources(low), ", "), low.Name, priceText(price(low)), high.Name, priceText(price(high))))
		}
	}
	return warnings
}

// firstNames are the first of names, sorted.
func firstNames(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}
