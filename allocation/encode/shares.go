package encode

import (
	"strconv"

	"github.com/promcost/promcost/allocation"
)

// appendVolumes appends the row's shares of persistent volumes, null if it has none.
func (e *setEncoder) appendVolumes(b []byte, set *allocation.Set, row int) []byte {
	list := set.Volumes(row)
	if len(list) == 0 {
		return append(b, "null"...)
	}
	dict := set.Dict()
	for i := range list {
		v := &list[i]
		b = appendString(append(b, opening(i)), dict.Text(v.Key))
		b = appendNumber(append(b, `:{"byteHours":`...), v.ByteHours)
		b = appendNumber(append(b, `,"cost":`...), v.Cost*e.rate)
		b = appendString(append(b, `,"providerID":`...), dict.Text(v.ProviderID))
		b = append(appendNumber(append(b, `,"adjustment":`...), v.Adjustment*e.rate), '}')
	}
	return append(b, '}')
}

// opening is what stands before an element of an object: its brace or a comma.
func opening(i int) byte {
	if i == 0 {
		return '{'
	}
	return ','
}

// appendBalancers appends the row's shares of load balancers, null if it has none.
func (e *setEncoder) appendBalancers(b []byte, set *allocation.Set, row int) []byte {
	list := set.LoadBalancerShares(row)
	if len(list) == 0 {
		return append(b, "null"...)
	}
	dict := set.Dict()
	for i := range list {
		lb := &list[i]
		b = appendString(append(b, opening(i)), dict.Text(lb.Key))
		b = appendString(append(b, `:{"service":`...), dict.Text(lb.Service))
		b = appendNumber(append(b, `,"cost":`...), lb.Cost*e.rate)
		b = strconv.AppendBool(append(b, `,"private":`...), lb.Private)
		b = appendString(append(b, `,"ip":`...), dict.Text(lb.IP))
		b = appendNumber(append(b, `,"hours":`...), lb.Hours)
		b = append(appendNumber(append(b, `,"adjustment":`...), lb.Adjustment*e.rate), '}')
	}
	return append(b, '}')
}

// sharedKinds are the names of the kinds of shared costs.
var sharedKinds = [allocation.NumSharedKinds]string{
	allocation.SharedCPU: "cpuCost", allocation.SharedGPU: "gpuCost", allocation.SharedRAM: "ramCost", allocation.SharedPV: "pvCost",
	allocation.SharedNetwork: "networkCost", allocation.SharedLoadBalancer: "loadBalancerCost",
	allocation.SharedExternal: "externalCost", allocation.SharedOverhead: "overheadCost",
}

// appendShared appends the member that breaks down the shared cost of a row, if the breakdown is known.
func (e *setEncoder) appendShared(b []byte, set *allocation.Set, row int) []byte {
	list := set.SharedParts(row)
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"sharedCostBreakdown":`...)
	for i := range list {
		part := &list[i]
		name := set.Dict().Text(part.Name)
		total := 0.0
		for _, cost := range part.Cost {
			total += cost
		}
		b = appendString(append(b, opening(i)), name)
		b = appendString(append(b, `:{"name":`...), name)
		b = appendNumber(append(b, `,"totalCost":`...), total*e.rate)
		for kind, cost := range part.Cost {
			if cost != 0 {
				b = append(append(append(b, `,"`...), sharedKinds[kind]...), `":`...)
				b = appendNumber(b, cost*e.rate)
			}
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendProportions appends the member with the row's proportions of the costs of assets, if the request asked for it.
func appendProportions(b []byte, set *allocation.Set, row int) []byte {
	list := set.Proportions(row)
	if len(list) == 0 {
		return b
	}
	b = append(b, `,"proportionalAssetResourceCosts":`...)
	for i := range list {
		p := &list[i]
		b = appendString(append(b, opening(i)), p.Key())
		b = appendString(append(b, `:{"cluster":`...), p.Cluster)
		for _, text := range [...]struct{ key, value string }{{"name", p.Name}, {"type", p.Type}, {"providerID", p.ProviderID}} {
			if text.value != "" {
				b = appendString(append(append(append(b, `,"`...), text.key...), `":`...), text.value)
			}
		}
		b = appendNumbers(b,
			number{"cpuPercentage", p.CPU}, number{"gpuPercentage", p.GPU}, number{"ramPercentage", p.RAM},
			number{"pvPercentage", p.PV}, number{"loadBalancerPercentage", p.LoadBalancer},
			number{"nodeResourceCostPercentage", p.Node},
		)
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendGPU appends the row's GPU, null if it has none.
func (e *encoder) appendGPU(b []byte, set *allocation.Set, row int) []byte {
	if set.Value(allocation.Hours.Of(allocation.GPU), row) == 0 || set.Special(row) == allocation.Idle {
		return append(b, "null"...)
	}
	gpu := set.GPU(row)
	b = appendString(append(b, `{"gpuDevice":`...), gpu.Device)
	b = appendString(append(b, `,"gpuModel":`...), gpu.Model)
	b = appendString(append(b, `,"gpuUUID":`...), gpu.UUID)
	b = strconv.AppendBool(append(b, `,"isGPUShared":`...), gpu.Shared)
	b = appendNumber(append(b, `,"gpuUsageAverage":`...), e.options.written(e.gpuUsage(set, row)))
	return append(appendNumber(append(b, `,"gpuRequestAverage":`...), e.gpuRequest(set, row)), '}')
}
