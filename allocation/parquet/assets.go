package parquet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// The types of asset rows: those of the API, and residuals.
const (
	nodeType       = "Node"
	diskType       = "Disk"
	balancerType   = "LoadBalancer"
	networkType    = "Network"
	managementType = "ClusterManagement"
	residualType   = "Residual"
)

// assetRow is an asset of any type, or a residual. Fields that its type does not have are zero.
type assetRow struct {
	kind                                                             string
	cluster, namespace, name, providerID                             string
	instanceType, region, zone, arch, pool                           string
	storageClass, claimNamespace, claimName, ip, provisioner, source string
	spot, local, private                                             bool
	labels                                                           map[string]string
	start, end                                                       time.Time
	running                                                          float64 // seconds
	cost, adjustment                                                 float64 // of the whole asset
	resources                                                        [allocation.NumResources]assetResource
	cpu, ram                                                         allocation.Breakdown
	discount                                                         float64
	byteHours, usedByteHours, usedMax                                float64
	created                                                          float64 // of nodes, Unix seconds
	hours                                                            float64 // of load balancers
	crossZone, crossRegion, internet                                 float64
	trafficPrices                                                    [len(traffic)]float64
	trafficSources                                                   [len(traffic)]string
	residual, overcommit                                             float64
}

// assetResource has a node's amounts of a resource.
type assetResource struct {
	hours, cost, listed, idle, adjustment, overhead float64
	source                                          string
}

// traffic has the kinds of traffic with prices, in the order of allocation.Network.
var traffic = [...]string{"cross_zone", "cross_region", "internet"}

// field is a column of assets: its name, and where it is in a row.
type field[T any] struct {
	name string
	get  func(*assetRow) *T
}

// assetTexts are the columns of strings.
func assetTexts() []field[string] {
	fields := []field[string]{
		{"type", func(r *assetRow) *string { return &r.kind }},
		{"cluster", func(r *assetRow) *string { return &r.cluster }},
		{"namespace", func(r *assetRow) *string { return &r.namespace }},
		{"name", func(r *assetRow) *string { return &r.name }},
		{"provider_id", func(r *assetRow) *string { return &r.providerID }},
		{"instance_type", func(r *assetRow) *string { return &r.instanceType }},
		{"region", func(r *assetRow) *string { return &r.region }},
		{"zone", func(r *assetRow) *string { return &r.zone }},
		{"arch", func(r *assetRow) *string { return &r.arch }},
		{"pool", func(r *assetRow) *string { return &r.pool }},
		{"storage_class", func(r *assetRow) *string { return &r.storageClass }},
		{"claim_namespace", func(r *assetRow) *string { return &r.claimNamespace }},
		{"claim_name", func(r *assetRow) *string { return &r.claimName }},
		{"ip", func(r *assetRow) *string { return &r.ip }},
		{"provisioner", func(r *assetRow) *string { return &r.provisioner }},
		{"price_source", func(r *assetRow) *string { return &r.source }},
	}
	for res := range allocation.NumResources {
		fields = append(fields, field[string]{res.String() + "_price_source", func(r *assetRow) *string { return &r.resources[res].source }})
	}
	for kind, name := range traffic {
		fields = append(fields, field[string]{name + "_price_source", func(r *assetRow) *string { return &r.trafficSources[kind] }})
	}
	return fields
}

// assetBools are the columns of booleans.
func assetBools() []field[bool] {
	return []field[bool]{
		{"spot", func(r *assetRow) *bool { return &r.spot }},
		{"local", func(r *assetRow) *bool { return &r.local }},
		{"private", func(r *assetRow) *bool { return &r.private }},
	}
}

// assetNumbers are the columns of amounts; cost and cost_adjustment are for the whole asset.
func assetNumbers() []field[float64] {
	fields := []field[float64]{
		{"cost", func(r *assetRow) *float64 { return &r.cost }},
		{"cost_adjustment", func(r *assetRow) *float64 { return &r.adjustment }},
		{"running_seconds", func(r *assetRow) *float64 { return &r.running }},
		{"discount_ratio", func(r *assetRow) *float64 { return &r.discount }},
		{"byte_hours", func(r *assetRow) *float64 { return &r.byteHours }},
		{"load_balancer_hours", func(r *assetRow) *float64 { return &r.hours }},
		{"cross_zone_cost", func(r *assetRow) *float64 { return &r.crossZone }},
		{"cross_region_cost", func(r *assetRow) *float64 { return &r.crossRegion }},
		{"internet_cost", func(r *assetRow) *float64 { return &r.internet }},
		{"residual_cost", func(r *assetRow) *float64 { return &r.residual }},
		{"overcommit_cost", func(r *assetRow) *float64 { return &r.overcommit }},
	}
	for res := range allocation.NumResources {
		name := res.String()
		fields = append(
			fields,
			field[float64]{name + "_" + res.Unit() + "_hours", func(r *assetRow) *float64 { return &r.resources[res].hours }},
			field[float64]{name + "_cost", func(r *assetRow) *float64 { return &r.resources[res].cost }},
			field[float64]{name + "_cost_listed", func(r *assetRow) *float64 { return &r.resources[res].listed }},
			field[float64]{name + "_cost_idle", func(r *assetRow) *float64 { return &r.resources[res].idle }},
			field[float64]{name + "_cost_adjustment", func(r *assetRow) *float64 { return &r.resources[res].adjustment }},
			field[float64]{name + "_overhead_ratio", func(r *assetRow) *float64 { return &r.resources[res].overhead }},
		)
	}
	for kind, name := range traffic {
		fields = append(fields, field[float64]{name + "_gib_price", func(r *assetRow) *float64 { return &r.trafficPrices[kind] }})
	}
	for name, get := range breakdowns {
		fields = append(
			fields,
			field[float64]{breakdownNames[name] + "_idle_ratio", func(r *assetRow) *float64 { return &get(r).Idle }},
			field[float64]{breakdownNames[name] + "_other_ratio", func(r *assetRow) *float64 { return &get(r).Other }},
			field[float64]{breakdownNames[name] + "_system_ratio", func(r *assetRow) *float64 { return &get(r).System }},
			field[float64]{breakdownNames[name] + "_user_ratio", func(r *assetRow) *float64 { return &get(r).User }},
		)
	}
	return fields
}

// The breakdowns of a node and their names.
var (
	breakdowns = [...]func(*assetRow) *allocation.Breakdown{
		func(r *assetRow) *allocation.Breakdown { return &r.cpu },
		func(r *assetRow) *allocation.Breakdown { return &r.ram },
	}
	breakdownNames = [...]string{"cpu", "ram"}
)

// assetOptionals are the columns of amounts that may be unknown: these are NaN in rows, and null in files.
func assetOptionals() []field[float64] {
	return []field[float64]{
		{"used_byte_hours", func(r *assetRow) *float64 { return &r.usedByteHours }},
		{"used_max_bytes", func(r *assetRow) *float64 { return &r.usedMax }},
		{"created_seconds", func(r *assetRow) *float64 { return &r.created }},
	}
}

// assetColumns are the columns of assets.
func assetColumns(w allocation.Window, list []assetRow) []Column {
	cols := []Column{
		TimeColumn(windowStart, func(int) int64 { return w.Start.UnixMilli() }),
		TimeColumn(windowEnd, func(int) int64 { return w.End.UnixMilli() }),
	}
	for _, f := range assetTexts() {
		cols = append(cols, textColumn(f.name, func(i int) string { return *f.get(&list[i]) }))
	}
	keys := make([][]string, len(list))
	for i := range list {
		keys[i] = slices.Sorted(maps.Keys(list[i].labels))
	}
	cols = append(
		cols,
		mapColumn("labels", func(i int) int { return len(keys[i]) }, func(i, k int) (string, string) { return keys[i][k], list[i].labels[keys[i][k]] }),
		TimeColumn(startField, func(i int) int64 { return list[i].start.UnixMilli() }),
		TimeColumn(endField, func(i int) int64 { return list[i].end.UnixMilli() }),
	)
	for _, f := range assetBools() {
		cols = append(cols, boolColumn(f.name, func(i int) bool { return *f.get(&list[i]) }))
	}
	for _, f := range assetNumbers() {
		cols = append(cols, numberColumn(f.name, func(i int) float64 { return *f.get(&list[i]) }))
	}
	for _, f := range assetOptionals() {
		cols = append(cols, OptionalNumberColumn(f.name, func(i int) float64 { return *f.get(&list[i]) }))
	}
	return cols
}

// assetRows are the assets of a set, by type and in the set's order.
func assetRows(s *allocation.Set) []assetRow {
	var list []assetRow
	for i := range s.Nodes {
		list = append(list, nodeRow(&s.Nodes[i]))
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		list = append(list, assetRow{
			kind: diskType, cluster: d.Cluster, name: d.Name, providerID: d.ProviderID, local: d.Local, storageClass: d.StorageClass,
			claimNamespace: d.ClaimNamespace, claimName: d.ClaimName, labels: d.Labels, start: d.Start, end: d.End, byteHours: d.ByteHours,
			usedByteHours: d.UsedByteHours, usedMax: d.UsedMax, created: math.NaN(), cost: d.Cost, adjustment: d.Adjustment, source: d.PriceSource,
		})
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		list = append(list, unused(assetRow{
			kind: balancerType, cluster: l.Cluster, namespace: l.Namespace, name: l.Service, ip: l.IP, providerID: l.ProviderID, private: l.Private,
			start: l.Start, end: l.End, hours: l.Hours, cost: l.Cost, adjustment: l.Adjustment, source: l.PriceSource,
		}))
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		list = append(list, unused(assetRow{
			kind: networkType, cluster: n.Cluster, start: n.Start, end: n.End, crossZone: n.CrossZone, crossRegion: n.CrossRegion, internet: n.Internet,
			cost: n.TotalCost(), adjustment: n.Adjustment, trafficPrices: n.Price, trafficSources: n.PriceSource,
		}))
	}
	for i := range s.Management {
		m := &s.Management[i]
		list = append(list, unused(assetRow{
			kind: managementType, cluster: m.Cluster, provisioner: m.Provisioner, start: m.Start, end: m.End, cost: m.Cost, adjustment: m.Adjustment,
			source: m.PriceSource,
		}))
	}
	for _, r := range s.Residuals {
		list = append(list, unused(assetRow{
			kind: residualType, cluster: r.Cluster, name: r.Resource.String(), start: s.Window.Start, end: s.Window.End, residual: r.Cost, overcommit: r.Overcommit,
		}))
	}
	return list
}

// unused sets the disk use and the creation time, which this type of asset does not have, to unknown.
func unused(r assetRow) assetRow {
	r.usedByteHours, r.usedMax, r.created = math.NaN(), math.NaN(), math.NaN()
	return r
}

func nodeRow(n *allocation.Node) assetRow {
	r := unused(assetRow{
		kind: nodeType, cluster: n.Cluster, name: n.Name, providerID: n.ProviderID, instanceType: n.InstanceType, region: n.Region, zone: n.Zone,
		arch: n.Arch, pool: n.Pool, spot: n.Spot, labels: n.Labels, start: n.Start, end: n.End, running: n.RunningSeconds, discount: n.Discount,
		cpu: n.CPUBreakdown, ram: n.RAMBreakdown, cost: n.TotalCost(),
	})
	if !n.Created.IsZero() {
		r.created = float64(n.Created.Unix())
	}
	for res := range r.resources {
		r.adjustment += n.Adjustment[res]
		r.resources[res] = assetResource{
			hours: n.Hours[res], cost: n.Cost[res], listed: n.Listed[res], idle: n.Idle[res], adjustment: n.Adjustment[res], overhead: n.Overhead[res],
			source: n.PriceSource[res],
		}
	}
	return r
}

// addTo gives the set what the row is.
func (r *assetRow) addTo(s *allocation.Set) error {
	switch r.kind {
	case nodeType:
		s.Nodes = append(s.Nodes, allocation.Node{})
		r.node(&s.Nodes[len(s.Nodes)-1])
	case diskType:
		s.Disks = append(s.Disks, allocation.Disk{
			Cluster: r.cluster, Name: r.name, ProviderID: r.providerID, Local: r.local, StorageClass: r.storageClass, ClaimNamespace: r.claimNamespace,
			ClaimName: r.claimName, Labels: r.labels, Start: r.start, End: r.end, ByteHours: r.byteHours, UsedByteHours: r.usedByteHours,
			UsedMax: r.usedMax, Cost: r.cost, Adjustment: r.adjustment, PriceSource: r.source,
		})
	case balancerType:
		s.Balancers = append(s.Balancers, allocation.LoadBalancer{
			Cluster: r.cluster, Namespace: r.namespace, Service: r.name, IP: r.ip, ProviderID: r.providerID, Private: r.private, Start: r.start, End: r.end,
			Hours: r.hours, Cost: r.cost, Adjustment: r.adjustment, PriceSource: r.source,
		})
	case networkType:
		s.Networks = append(s.Networks, allocation.Network{
			Cluster: r.cluster, Start: r.start, End: r.end, CrossZone: r.crossZone, CrossRegion: r.crossRegion, Internet: r.internet, Adjustment: r.adjustment,
			Price: r.trafficPrices, PriceSource: r.trafficSources,
		})
	case managementType:
		s.Management = append(s.Management, allocation.Management{
			Cluster: r.cluster, Provisioner: r.provisioner, Start: r.start, End: r.end, Cost: r.cost, Adjustment: r.adjustment, PriceSource: r.source,
		})
	case residualType:
		for res := range allocation.NumResources {
			if res.String() == r.name {
				s.Residuals = append(s.Residuals, allocation.Residual{Cluster: r.cluster, Resource: res, Cost: r.residual, Overcommit: r.overcommit})
				return nil
			}
		}
		return fmt.Errorf("residual of resource %q: it is not known", r.name)
	default:
		return fmt.Errorf("asset of type %q: it is not known", r.kind)
	}
	return nil
}

// node fills in an empty node.
func (r *assetRow) node(n *allocation.Node) {
	n.Cluster, n.Name, n.ProviderID, n.InstanceType, n.Region, n.Zone, n.Arch, n.Pool = r.cluster, r.name, r.providerID, r.instanceType, r.region, r.zone, r.arch, r.pool
	n.Spot, n.Labels, n.Start, n.End, n.RunningSeconds, n.Discount = r.spot, r.labels, r.start, r.end, r.running, r.discount
	n.CPUBreakdown, n.RAMBreakdown = r.cpu, r.ram
	if r.created > 0 {
		n.Created = time.Unix(int64(r.created), 0).UTC()
	}
	for res := range r.resources {
		x := &r.resources[res]
		n.Hours[res], n.Cost[res], n.Idle[res], n.Adjustment[res], n.Overhead[res] = x.hours, x.cost, x.idle, x.adjustment, x.overhead
		n.PriceSource[res], n.Listed[res] = x.source, x.listed
	}
}
