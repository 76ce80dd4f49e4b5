package encode

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/fields"
)

// Assets writes sets of assets as Kubecost sends them: an array of maps, one a set. No sets are one empty map.
func Assets(w io.Writer, sets []*assets.Set, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":[`...)
	if len(sets) == 0 {
		s.b = append(s.b, "{}"...)
	}
	for i, set := range sets {
		if i > 0 {
			s.b = append(s.b, ',')
		}
		writeAssets(s, set, &o)
	}
	s.b = o.endAssets(append(s.b, ']'), sets)
	return s.close()
}

// AssetMap writes one set of assets as OpenCost sends it: one map.
func AssetMap(w io.Writer, set *assets.Set, o Options) error {
	s := newStream(w)
	s.b = append(s.b, `{"code":200,"status":"success","data":`...)
	writeAssets(s, set, &o)
	s.b = o.endAssets(s.b, []*assets.Set{set})
	return s.close()
}

// endAssets ends the envelope of an answer made of sets of assets.
func (o *Options) endAssets(b []byte, sets []*assets.Set) []byte {
	return o.finish(b, o.AssetWarnings(sets), assetStretches(sets))
}

// AssetWarnings are those of the options and of adjacent sets, and that of missing data, sorted, each once.
func (o *Options) AssetWarnings(sets []*assets.Set) []string {
	return o.sorted(o.warnCovered(o.assetWarnings(sets), assetStretches(sets)))
}

// assetWarnings are those of the options and of the sets.
func (o *Options) assetWarnings(sets []*assets.Set) []string {
	all := slices.Clone(o.Warnings)
	for _, s := range sets {
		all = append(all, s.Warnings...)
	}
	return all
}

// writeAssets appends the map of a set's assets, by key.
func writeAssets(s *stream, set *assets.Set, o *Options) {
	window := appendWindow(nil, set.Window, o.location())
	list := o.PageOf(set)
	s.b = append(s.b, '{')
	s.each(len(list), func(b []byte, from, to int) []byte {
		for i, a := range list[from:to] {
			if from+i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, a.Name), ':')
			at := len(b)
			b = o.keep(o.appendAsset(b, a, window), at)
		}
		return b
	})
	s.b = append(s.b, '}')
}

// appendAsset appends an asset without its key.
func (o *Options) appendAsset(b []byte, a *allocation.Asset, window []byte) []byte {
	in := o.location()
	b = append(b, '{')
	if a.Type != allocation.MixedAsset {
		b = append(appendString(append(b, `"type":`...), a.Type.String()), ',')
	}
	b = appendAssetProperties(append(b, `"properties":{`...), a)
	b = appendLabels(append(b, `},"labels":`...), a.Labels)
	b = append(append(b, `,"window":`...), window...)
	b = appendTime(append(b, `,"start":`...), a.Start.In(in))
	b = appendTime(append(b, `,"end":`...), a.End.In(in))
	b = appendNumber(append(b, `,"minutes":`...), a.Minutes())
	switch {
	case a.Node != nil:
		b = o.appendNode(b, a)
	case a.Disk != nil:
		b = o.appendDisk(b, a)
	case a.Balancer != nil:
		b = appendString(append(b, `,"ip":`...), a.Balancer.IP)
		b = strconv.AppendBool(append(b, `,"private":`...), a.Balancer.Private)
	}
	if a.Type != allocation.ManagementAsset {
		b = appendNumber(append(b, `,"adjustment":`...), a.Adjustment)
	}
	if a.Type == allocation.CloudAsset {
		b = appendNumber(append(b, `,"credit":`...), a.Credit)
	}
	b = appendNumber(append(b, `,"totalCost":`...), a.TotalCost())
	return append(b, '}')
}

// number is a named number of an asset.
type number struct {
	name  string
	value float64
}

func appendNumbers(b []byte, numbers ...number) []byte {
	for _, n := range numbers {
		b = append(append(append(b, `,"`...), n.name...), `":`...)
		b = appendNumber(b, n.value)
	}
	return b
}

// average is an amount × hours divided by the hours of the asset.
func average(a *allocation.Asset, hours float64) float64 {
	if minutes := a.Minutes(); minutes > 0 {
		return fields.Whole(hours / (minutes / 60))
	}
	return 0
}

// appendNode appends the fields of a node. Its CPU and RAM are sent at their price before the discount: clients multiply.
func (o *Options) appendNode(b []byte, a *allocation.Asset) []byte {
	n := a.Node
	b = appendString(append(b, `,"nodeType":`...), n.InstanceType)
	if n.Pool != "" && a.Provider != "" {
		b = appendString(append(b, `,"pool":`...), n.Pool)
	}
	b = appendNumbers(b,
		number{"cpuCores", average(a, n.Hours[allocation.CPU])},
		number{"ramBytes", average(a, n.Hours[allocation.RAM])},
		number{"cpuCoreHours", fields.Whole(n.Hours[allocation.CPU])},
		number{"ramByteHours", fields.Whole(n.Hours[allocation.RAM])},
		number{"GPUHours", fields.Whole(n.Hours[allocation.GPU])},
		number{"preemptible", a.Preemptible},
		number{"discount", n.Discount},
		number{"cpuCost", n.ListCost(allocation.CPU)},
		number{"gpuCost", n.Cost[allocation.GPU]},
		number{"gpuCount", average(a, n.Hours[allocation.GPU])},
		number{"ramCost", n.ListCost(allocation.RAM)},
	)
	b = appendBreakdown(append(b, `,"cpuBreakdown":`...), n.CPUBreakdown)
	b = appendBreakdown(append(b, `,"ramBreakdown":`...), n.RAMBreakdown)
	cpu, ram := n.Overhead[allocation.CPU], n.Overhead[allocation.RAM]
	if cpu == 0 && ram == 0 {
		return b
	}
	cost := 0.0
	if whole := n.Cost[allocation.CPU] + n.Cost[allocation.RAM]; whole > 0 {
		cost = (cpu*n.Cost[allocation.CPU] + ram*n.Cost[allocation.RAM]) / whole
	}
	b = appendNumber(append(b, `,"overhead":{"CpuOverheadFraction":`...), cpu)
	b = appendNumber(append(b, `,"RamOverheadFraction":`...), ram)
	return append(appendNumber(append(b, `,"OverheadCostFraction":`...), cost), '}')
}

// appendBreakdown appends how a resource was used. It is null where that is unknown: OpenCost's web page takes zeros for full use.
func appendBreakdown(b []byte, d allocation.Breakdown) []byte {
	if d == (allocation.Breakdown{}) {
		return append(b, "null"...)
	}
	b = appendNumber(append(b, `{"idle":`...), d.Idle)
	b = appendNumber(append(b, `,"other":`...), d.Other)
	b = appendNumber(append(b, `,"system":`...), d.System)
	return append(appendNumber(append(b, `,"user":`...), d.User), '}')
}

// appendDisk appends the fields of a disk. How much of it is used is null where that is unknown.
func (o *Options) appendDisk(b []byte, a *allocation.Asset) []byte {
	d := a.Disk
	volume := d.Name
	if d.Local {
		volume = ""
	}
	for _, p := range [...]struct{ key, value string }{
		{"storageClass", d.StorageClass},
		{"volumeName", volume},
		{"claimName", d.ClaimName},
		{"claimNamespace", d.ClaimNamespace},
	} {
		b = append(append(append(b, `,"`...), p.key...), `":`...)
		b = appendString(b, p.value)
	}
	b = appendNumbers(b,
		number{"byteHours", d.ByteHours},
		number{"bytes", average(a, d.ByteHours)},
		number{"byteHoursUsed", d.UsedByteHours},
		number{"byteUsageMax", d.UsedMax},
	)
	used := allocation.Breakdown{}
	if d.ByteHours > 0 && !math.IsNaN(d.UsedByteHours) {
		used.User = d.UsedByteHours / d.ByteHours
		used.Idle = 1 - used.User
	}
	return appendBreakdown(append(b, `,"breakdown":`...), used)
}

// appendAssetProperties appends the members of the asset's properties that are not empty.
func appendAssetProperties(b []byte, a *allocation.Asset) []byte {
	from := len(b)
	for _, p := range [...]struct{ key, value string }{
		{"category", a.Category},
		{"provider", a.Provider},
		{"account", a.Account},
		{"project", a.Project},
		{"service", a.Service},
		{"cluster", a.Cluster},
		{"name", a.Title},
		{"providerID", a.ProviderID},
	} {
		if p.value == "" {
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), p.key...), `":`...)
		b = appendString(b, p.value)
	}
	return b
}

// appendLabels appends labels in the order of their names.
func appendLabels(b []byte, labels map[string]string) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, labels[name])
	}
	return append(b, '}')
}

// AssetsCSV writes a set of assets, the dearest first.
//
//	Type,Name,Cluster,Provider,ProviderID,Category,Start,End,Minutes,Adjustment,TotalCost
func AssetsCSV(w io.Writer, set *assets.Set, o Options) error {
	c := csv.NewWriter(w)
	err := c.Write([]string{"Type", "Name", "Cluster", "Provider", "ProviderID", "Category", "Start", "End", "Minutes", "Adjustment", "TotalCost"})
	list := o.PageOf(set)
	if o.Page.IsZero() {
		slices.SortStableFunc(list, func(a, b *allocation.Asset) int {
			return cmp.Or(cmp.Compare(b.TotalCost(), a.TotalCost()), strings.Compare(a.Name, b.Name))
		})
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, a := range list {
		if err != nil {
			break
		}
		err = c.Write([]string{
			a.Type.String(), formulaSafe(cmp.Or(a.Title, a.Name)), formulaSafe(a.Cluster), formulaSafe(a.Provider), formulaSafe(a.ProviderID), a.Category,
			a.Start.In(o.location()).Format(time.RFC3339), a.End.In(o.location()).Format(time.RFC3339),
			number(a.Minutes()), number(a.Adjustment), number(a.TotalCost()),
		})
	}
	c.Flush()
	if err = cmp.Or(err, c.Error()); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}
