package main

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// listedAssets are the assets of a window, by type and name. The disks of nodes have the type Local.
func listedAssets(t *testing.T, base string, start, end time.Time, query string) rows {
	t.Helper()
	var reply struct{ Data map[string]map[string]any }
	askFor(t, base+"/assets", start, end, query, &reply)
	all := rows{}
	for _, x := range reply.Data {
		r := newRow(0)
		r.flatten("", x)
		name := r.texts["type"] + "/" + r.texts["properties/name"]
		if r.texts["type"] == "Disk" && r.texts["volumeName"] == "" {
			name = "Local/" + r.texts["properties/name"]
		}
		all.at(name).add(r)
	}
	return all
}

// trueAssets are the assets that there must be.
func trueAssets(truth *democluster.Truth) rows {
	all := rows{}
	for i := range truth.Nodes {
		all["Node/"+truth.Nodes[i].Name] = trueNode(&truth.Nodes[i])
	}
	for i := range truth.Volumes {
		v := &truth.Volumes[i]
		r := newRow(v.End.Sub(v.Start))
		r.figures = map[string]float64{
			"minutes": r.life.Minutes(), "byteHours": v.ByteHours, "bytes": v.ByteHours / r.life.Hours(), "totalCost": v.Cost,
			"byteHoursUsed": v.UsedByteHours, "breakdown/user": v.UsedByteHours / v.ByteHours,
		}
		r.texts = map[string]string{
			"volumeName": v.PersistentVolume, "storageClass": v.StorageClass, "claimName": v.Claim, "claimNamespace": v.Namespace,
			"properties/providerID": v.ProviderID, "properties/cluster": v.Cluster, "properties/category": "Storage",
		}
		all["Disk/"+v.PersistentVolume] = r
	}
	for i := range truth.LocalDisks {
		d := &truth.LocalDisks[i]
		r := newRow(d.End.Sub(d.Start))
		r.figures = map[string]float64{
			"minutes": r.life.Minutes(), "byteHours": d.ByteHours, "bytes": d.ByteHours / r.life.Hours(), "totalCost": d.Cost,
			"byteHoursUsed": d.UsedByteHours, "byteUsageMax": d.UsedMax, "breakdown/user": d.UsedByteHours / d.ByteHours,
		}
		r.texts = map[string]string{"properties/providerID": instanceID(d.ProviderID), "properties/cluster": d.Cluster, "properties/category": "Storage"}
		all["Local/"+d.Node] = r
	}
	addTrueNetworks(all, truth)
	for _, r := range all {
		r.outages(truth, truth.Start, truth.End)
	}
	return all
}

// addTrueNetworks adds load balancers, traffic, and the fees for clusters.
func addTrueNetworks(all rows, truth *democluster.Truth) {
	for i := range truth.LoadBalancers {
		lb := &truth.LoadBalancers[i]
		r := newRow(lb.End.Sub(lb.Start))
		r.figures = map[string]float64{"minutes": lb.Hours * 60, "totalCost": lb.Cost}
		r.texts = map[string]string{"ip": lb.IngressIP, "private": yesNo(lb.Private), "properties/category": "Network"}
		all["LoadBalancer/"+lb.Namespace+"/"+lb.Service] = r
	}
	for _, n := range truth.Networks {
		r := newRow(truth.End.Sub(truth.Start))
		r.figures = map[string]float64{"totalCost": n.NetworkCost}
		for i := range truth.Containers { // each is off by a cell and a scrape of its own
			x := &truth.Containers[i]
			r.slack["totalCost"] += x.NetworkCost * min(1, (cell+scrape).Seconds()/x.RunningSeconds)
		}
		all["Network/network"] = r
	}
	for _, m := range truth.ClusterManagement {
		r := newRow(truth.End.Sub(truth.Start))
		r.figures = map[string]float64{"totalCost": m.Cost, "minutes": m.Hours * 60}
		all["ClusterManagement/"+m.Provisioner] = r
	}
}

// trueNode is the row of a node.
func trueNode(n *democluster.NodeTruth) *row {
	r := newRow(n.End.Sub(n.Start))
	hours, whole := r.life.Hours(), n.CPUCost+n.RAMCost
	r.figures = map[string]float64{
		"minutes": r.life.Minutes(), "cpuCoreHours": n.CPUCoreHours, "ramByteHours": n.RAMByteHours, "GPUHours": n.GPUHours,
		"cpuCores": n.CPUCoreHours / hours, "ramBytes": n.RAMByteHours / hours, "gpuCount": n.GPUHours / hours,
		"cpuCost": n.CPUCost, "ramCost": n.RAMCost, "gpuCost": n.GPUCost, "totalCost": whole + n.GPUCost,
		"adjustment": 0, "discount": 0, "preemptible": 0,
		"overhead/CpuOverheadFraction": n.CPUOverhead, "overhead/RamOverheadFraction": n.RAMOverhead,
		"overhead/OverheadCostFraction": (n.CPUOverhead*n.CPUCost + n.RAMOverhead*n.RAMCost) / whole,
	}
	if n.Spot {
		r.figures["preemptible"] = 1
	}
	for name, of := range map[string]*democluster.BreakdownTruth{"cpuBreakdown": n.CPUBreakdown, "ramBreakdown": n.RAMBreakdown} {
		if of == nil {
			of = &democluster.BreakdownTruth{}
		}
		for part, v := range map[string]float64{"idle": of.Idle, "other": of.Other, "system": of.System, "user": of.User} {
			r.figures[name+"/"+part] = v
		}
	}
	r.texts = map[string]string{
		"nodeType": n.InstanceType, "pool": n.Pool, "properties/providerID": instanceID(n.ProviderID), "properties/provider": "AWS",
		"properties/cluster": n.Cluster, "properties/category": "Compute", "labels/topology_kubernetes_io_region": n.Region, "labels/topology_kubernetes_io_zone": n.Zone,
	}
	return r
}

// instanceID is how the provider's bill has a node's id.
func instanceID(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}
