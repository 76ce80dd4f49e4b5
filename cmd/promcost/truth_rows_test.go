package main

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// row is a row of an answer or of the truth, by the names of the API. Names of nested objects are joined by slashes.
type row struct {
	figures map[string]float64
	texts   map[string]string
	life    time.Duration      // within the window, only in the truth
	goesOn  bool               // beyond the window: a container of which kube-state-metrics reports the start
	slack   map[string]float64 // how much figures may be off beside their tolerance

	restarts int
	unseen   time.Duration // how long Prometheus did not run while it lived
	ends     bool          // it came or went while Prometheus or kube-state-metrics did not run
}

// outages is what outages hide of a row that lived from one time to another.
func (r *row) outages(truth *democluster.Truth, from, to time.Time) *row {
	for _, o := range truth.Outages {
		if o.Job != "" && o.Job != "kube-state-metrics" || !from.Before(o.End) || !to.After(o.Start) {
			continue
		}
		r.ends = r.ends || from.After(o.Start) || to.Before(o.End)
		if o.Job == "" {
			r.unseen += o.End.Sub(o.Start)
		}
	}
	return r
}

// seen are the rows whose starts and ends are all visible to a Prometheus without blocks; idle is the rest.
func (r rows) seen(truth rows) rows {
	out := rows{}
	for name, x := range r {
		if w := truth[name]; name != "__idle__" && (w == nil || !w.ends && w.restarts == 0) {
			out[name] = x
		}
	}
	return out
}

func newRow(life time.Duration) *row {
	return &row{figures: map[string]float64{}, texts: map[string]string{}, slack: map[string]float64{}, life: life}
}

// flatten adds what was decoded from JSON. What is null is left out.
func (r *row) flatten(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, of := range v {
			r.flatten(strings.TrimPrefix(name+"/"+key, "/"), of)
		}
	case []any:
		for i, of := range v {
			r.flatten(name+"/"+strconv.Itoa(i), of)
		}
	case float64:
		r.figures[name] = v
	case string:
		r.texts[name] = v
	case bool:
		r.texts[name] = yesNo(v)
	}
}

// add sums figures, and adds texts.
func (r *row) add(o *row) {
	for name, v := range o.slack {
		r.slack[name] += v
	}
	for name, v := range o.figures {
		r.figures[name] += v
	}
	maps.Copy(r.texts, o.texts)
	r.life += o.life
	r.goesOn = r.goesOn || o.goesOn
	r.restarts, r.unseen, r.ends = r.restarts+o.restarts, r.unseen+o.unseen, r.ends || o.ends
}

// rows are rows by name.
type rows map[string]*row

// at is the row of a name, made where it is new.
func (r rows) at(name string) *row {
	if r[name] == nil {
		r[name] = newRow(0)
	}
	return r[name]
}

// sum is that of a figure over all rows.
func (r rows) sum(figure string) (sum float64) {
	for _, x := range r {
		sum += x.figures[figure]
	}
	return sum
}

// averages are the figures which the API has the average of, and the truth the sum over hours.
var averages = map[string]string{
	"cpuCoreRequestAverage": "cpuCoreRequestHours", "cpuCoreUsageAverage": "cpuCoreUsageHours",
	"ramByteRequestAverage": "ramByteRequestHours", "ramByteUsageAverage": "ramByteUsageHours",
	"gpuAllocation/gpuRequestAverage": "gpuRequestHours", "gpuAllocation/gpuUsageAverage": "gpuUsageHours",
}

// allocations asks for those of a window, unaggregated.
func allocations(t *testing.T, base string, start, end time.Time, query string) (all rows, warnings []string) {
	t.Helper()
	var reply struct {
		Data     []map[string]map[string]any
		Warnings []string
	}
	askFor(t, base+"/model/allocation/compute", start, end, query, &reply)
	if len(reply.Data) != 1 {
		t.Fatalf("%d sets, want 1", len(reply.Data))
	}
	all = rows{}
	for name, x := range reply.Data[0] {
		r := all.at(name)
		r.flatten("", x)
		addHours(r)
	}
	return all, reply.Warnings
}

// addHours adds what averages are the averages of.
func addHours(r *row) {
	for average, hours := range averages {
		r.figures[hours] = r.figures[average] * r.figures["minutes"] / 60
	}
}

// trueAllocations are the rows that there must be, those of special names and __idle__ among them.
// What nobody mounts may be off by a cell each time that a pod comes or goes, and the volume itself.
func trueAllocations(truth *democluster.Truth, cell time.Duration) rows {
	all, edges := rows{}, map[string]float64{}
	for i := range truth.Containers {
		x := &truth.Containers[i]
		all.at(strings.Join([]string{x.Cluster, x.Node, x.Namespace, x.Pod, x.Container}, "/")).add(trueContainer(x).outages(truth, x.Start, x.End))
		for _, v := range x.PVs {
			edges[v.PersistentVolume] += 2
		}
	}
	for _, x := range truth.Idle {
		all.at("__idle__").add(priced(x.CPUCost, x.RAMCost, x.GPUCost, truth.End.Sub(truth.Start)))
	}
	for i := range truth.Volumes {
		v := &truth.Volumes[i]
		if v.UnmountedByteHours > 0 {
			r := newRow(v.End.Sub(v.Start))
			r.addVolume(v.Cluster, v.PersistentVolume, v.ProviderID, v.UnmountedByteHours, v.UnmountedCost)
			r.slacken((edges[v.PersistentVolume]+2)*cell.Hours()/r.life.Hours(), v)
			all.at(leftName(v.Cluster, v.Namespace, "__unmounted__")).add(r)
		}
	}
	for i := range truth.LoadBalancers {
		lb := &truth.LoadBalancers[i]
		if lb.UnallocatedCost > 0 {
			r := newRow(lb.End.Sub(lb.Start))
			r.addBalancer(lb.Cluster, lb.Namespace+"/"+lb.Service, lb.IngressIP, lb.Hours, lb.UnallocatedCost)
			r.texts["lbAllocations/"+lb.Cluster+"/"+lb.Namespace+"/"+lb.Service+"/private"] = yesNo(lb.Private)
			all.at(leftName(lb.Cluster, lb.Namespace, "__unallocated__")).add(r)
		}
	}
	return all
}

// leftName is the name of a row of costs without a pod.
func leftName(cluster, namespace, special string) string {
	pod := special
	if namespace != "" && special == "__unmounted__" {
		pod = namespace + "-unmounted-pvcs"
	}
	return fmt.Sprintf("%s//%s/%s/%s", cluster, cmp.Or(namespace, special), pod, special)
}

func priced(cpu, ram, gpu float64, life time.Duration) *row {
	r := newRow(life)
	r.figures = map[string]float64{"cpuCost": cpu, "ramCost": ram, "gpuCost": gpu, "totalCost": cpu + ram + gpu}
	return r
}

func (r *row) addVolume(cluster, name, providerID string, byteHours, cost float64) {
	key := "pvs/cluster=" + cluster + ":name=" + name + "/"
	r.texts[key+"providerID"] = providerID
	for figure, v := range map[string]float64{key + "byteHours": byteHours, key + "cost": cost, "pvByteHours": byteHours, "pvCost": cost, "totalCost": cost} {
		r.figures[figure] += v
	}
}

// slacken allows an error of the unmounted amount of a volume, as a part of its size.
func (r *row) slacken(part float64, v *democluster.VolumeTruth) {
	key := "pvs/cluster=" + v.Cluster + ":name=" + v.PersistentVolume + "/"
	for figure, whole := range map[string]float64{
		key + "byteHours": v.ByteHours, key + "cost": v.Cost, "pvByteHours": v.ByteHours, "pvCost": v.Cost, "totalCost": v.Cost,
	} {
		r.slack[figure] += part * whole
	}
}

func (r *row) addBalancer(cluster, service, ip string, hours, cost float64) {
	key := "lbAllocations/" + cluster + "/" + service + "/"
	r.texts[key+"service"], r.texts[key+"ip"] = service, ip
	for figure, v := range map[string]float64{key + "hours": hours, key + "cost": cost, "loadBalancerCost": cost, "totalCost": cost} {
		r.figures[figure] += v
	}
}

// trueContainer is the row of one container.
func trueContainer(x *democluster.ContainerTruth) *row {
	r := newRow(time.Duration(x.RunningSeconds * float64(time.Second)))
	r.restarts = x.Restarts
	r.goesOn = x.LifeEnd.IsZero() && !x.Init && !x.Sidecar
	r.figures = map[string]float64{
		"minutes": x.RunningSeconds / 60, "cpuCoreHours": x.CPUCoreHours, "ramByteHours": x.RAMByteHours, "gpuHours": x.GPUHours,
		"cpuCoreRequestHours": x.CPURequestCoreHours, "cpuCoreUsageHours": x.CPUUsageCoreHours,
		"ramByteRequestHours": x.RAMRequestByteHours, "ramByteUsageHours": x.RAMUsageByteHours,
		"cpuCost": x.CPUCost, "ramCost": x.RAMCost, "gpuCost": x.GPUCost,
		"networkTransferBytes": x.TransferBytes, "networkReceiveBytes": x.ReceiveBytes, "networkCost": x.NetworkCost,
		"networkCrossZoneCost": x.ZoneCost, "networkCrossRegionCost": x.RegionCost, "networkInternetCost": x.InternetCost,
		"totalCost": x.CPUCost + x.RAMCost + x.GPUCost + x.NetworkCost,
	}
	if x.GPU != nil {
		r.figures["gpuRequestHours"], r.figures["gpuUsageHours"] = x.GPU.RequestHours, x.GPU.UsageHours
		device := map[string]string{"gpuModel": strings.ReplaceAll(x.GPU.Model, " ", "-"), "isGPUShared": yesNo(x.GPU.Shared)} // by its node's labels
		if x.GPU.Observed {
			device = map[string]string{"gpuModel": x.GPU.Model, "isGPUShared": yesNo(x.GPU.Shared), "gpuDevice": x.GPU.Device, "gpuUUID": x.GPU.UUID}
		}
		for name, text := range device {
			r.texts["gpuAllocation/"+name] = text
		}
	}
	for _, v := range x.PVs {
		r.addVolume(x.Cluster, v.PersistentVolume, v.ProviderID, v.ByteHours, v.Cost)
	}
	for _, lb := range x.LoadBalancers {
		r.addBalancer(x.Cluster, lb.Service, lb.IngressIP, lb.Hours, lb.Cost)
	}
	r.texts["properties/controller"], r.texts["properties/controllerKind"] = x.Controller, x.ControllerKind
	for i, service := range x.Services {
		r.texts["properties/services/"+strconv.Itoa(i)] = service
	}
	return r
}

// yesNo is a truth value as text.
func yesNo(v bool) string { return strconv.FormatBool(v) }
