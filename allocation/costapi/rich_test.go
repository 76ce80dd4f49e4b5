package costapi_test

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/promcost/promcost/allocation"
)

const gib = 1 << 30

// Prices of the rich set: exact in binary, so that sums can be checked by eye.
const (
	coreHour   = 0.03125
	gibHour    = 0.00390625
	gpuHour    = 0.5
	diskHour   = 0.0000152587890625 // a GiB
	lbHour     = 0.0625
	feeHour    = 0.125
	egressGiB  = 0.0625
	richVolume = 64 // GiB
)

// rich is a ledger whose sets have two clusters with everything that costs something.
type rich struct{ asked []allocation.Query }

func (f *rich) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		f.asked = append(f.asked, q)
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		dict := allocation.NewDict()
		var sets []*allocation.Set
		for _, w := range windows {
			sets = append(sets, richSet(w, dict))
		}
		for _, s := range sets {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// richRow is a container of the rich set. It runs for the whole window.
type richRow struct {
	cluster, node, namespace, kind, controller, pod, container string
	cores, gibs, gpus                                          float64
	labels, annotations                                        map[string]string
	services                                                   []string
	volume                                                     float64 // part of the volume data
	balancer                                                   float64 // part of the load balancer web/front
	internet                                                   float64 // GiB an hour
}

var richRows = []richRow{
	{
		"one", "n1", "web", "deployment", "front", "front-1", "nginx", 1, 4, 0,
		map[string]string{"app": "front", "team": "red", "env": "prod"},
		map[string]string{"note": "x"},
		[]string{"front"},
		0.5, 1, 2,
	},
	{"one", "n1", "web", "deployment", "front", "front-1", "sidecar", 0.5, 1, 0, map[string]string{"app": "front", "team": "red", "env": "prod"}, nil, []string{"front"}, 0.5, 0, 0},
	{"one", "n1", "batch", "job", "sum", "sum-1", "main", 0.5, 1, 0, map[string]string{"app": "sum", "env": "staging"}, map[string]string{"team": "blue"}, nil, 0, 0, 0},
	{"one", "n1", "kube-system", "daemonset", "proxy", "proxy-1", "proxy", 0.25, 0.5, 0, map[string]string{"app": "proxy"}, nil, nil, 0, 0, 0},
	{"one", "n2", "kube-system", "daemonset", "proxy", "proxy-2", "proxy", 0.25, 0.5, 0, map[string]string{"app": "proxy"}, nil, nil, 0, 0, 0},
	{"one", "n2", "ml", "statefulset", "train", "train-0", "gpu", 4, 8, 1, map[string]string{"app": "train"}, nil, nil, 0, 0, 0},
	{"arn:aws:eks/two", "m1", "web", "deployment", "front", "front-9", "nginx", 1, 2, 0, map[string]string{"app": "front"}, nil, nil, 0, 0, 0},
}

// richSet has two nodes in one cluster and one in another whose id is an ARN, a mounted and an unmounted volume, load
// balancers with and without endpoints, traffic, and a management fee.
func richSet(w allocation.Window, dict *allocation.Dict) *allocation.Set {
	s := allocation.NewSet(w, dict)
	s.Resolution = time.Minute
	for _, cluster := range []string{"arn:aws:eks/two", "one"} {
		s.Covered = append(s.Covered, allocation.Covered{Cluster: cluster, Start: w.Start, End: w.End})
	}
	hours := w.Duration().Hours()
	for i := range richRows {
		s.Append(richRows[i].row(w, dict))
	}
	lost := allocation.Row{Special: allocation.Unmounted, Start: w.Start, End: w.End}
	lost.Text[allocation.Cluster], lost.Text[allocation.Namespace] = "one", allocation.UnmountedName
	lost.Text[allocation.Pod], lost.Text[allocation.Container] = allocation.UnmountedName, allocation.UnmountedName
	lost.Volumes = []allocation.VolumeShare{{Key: dict.Add(allocation.VolumeKey("one", "spare")), ByteHours: 16 * gib * hours, Cost: 16 * hours * diskHour}}
	lost.Values[allocation.PVByteHours], lost.Values[allocation.PVCost] = 16*gib*hours, 16*hours*diskHour
	s.Append(&lost)
	lonely := allocation.Row{Special: allocation.Unallocated, Start: w.Start, End: w.End}
	lonely.Text[allocation.Cluster], lonely.Text[allocation.Namespace] = "one", "ops"
	lonely.LoadBalancers = []allocation.LoadBalancerShare{{
		Key: dict.Add(allocation.LoadBalancerKey("one", "ops", "lonely")), Service: dict.Add("ops/lonely"), IP: dict.Add("10.0.0.9"), Private: true, Hours: hours, Cost: hours * lbHour,
	}}
	lonely.Values[allocation.LoadBalancerCost] = hours * lbHour
	s.Append(&lonely)
	s.Nodes = []allocation.Node{
		richNode(w, "arn:aws:eks/two", "m1", "gce://proj/eu-1/m1", "e2", 2, 8, 0),
		richNode(w, "one", "n1", "aws:///eu-1a/i-n1", "m5.xlarge", 4, 16, 0),
		richNode(w, "one", "n2", "aws:///eu-1a/i-n2", "g5.2xlarge", 8, 32, 2),
	}
	s.Nodes[2].Spot, s.Nodes[2].Pool = true, "gpu"
	s.Nodes[2].Overhead = [allocation.NumResources]float64{0.0625, 0.125}
	s.Nodes[2].CPUBreakdown = allocation.Breakdown{Idle: 0.5, System: 0.125, User: 0.375}
	richAssets(s, w)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Idle = n.Cost
		for _, r := range richRows {
			if r.cluster == n.Cluster && r.node == n.Name {
				n.Idle[allocation.CPU] -= r.cores * hours * coreHour
				n.Idle[allocation.RAM] -= r.gibs * hours * gibHour
				n.Idle[allocation.GPU] -= r.gpus * hours * gpuHour
			}
		}
	}
	return s
}

// row is the container in a window.
func (r *richRow) row(w allocation.Window, dict *allocation.Dict) *allocation.Row {
	hours := w.Duration().Hours()
	row := &allocation.Row{
		Services: r.services, Labels: r.labels, Annotations: r.annotations, NSLabels: map[string]string{"tier": r.namespace}, Start: w.Start, End: w.End,
	}
	row.Text = [allocation.Services]string{r.cluster, r.node, r.namespace, r.pod, "uid-" + r.pod, r.container, r.kind, r.controller, "aws:///eu-1a/i-" + r.node}
	v := &row.Values
	v[allocation.RunningSeconds], v[allocation.LeastSeconds], v[allocation.MostSeconds] = hours*3600, hours*3600*0.9, hours*3600*1.1
	for res, x := range map[allocation.Resource]struct{ amount, cost float64 }{
		allocation.CPU: {r.cores, r.cores * coreHour}, allocation.RAM: {r.gibs * gib, r.gibs * gibHour}, allocation.GPU: {r.gpus, r.gpus * gpuHour},
	} {
		v[allocation.Hours.Of(res)], v[allocation.RequestHours.Of(res)] = x.amount*hours, x.amount*hours
		v[allocation.UsageHours.Of(res)], v[allocation.UsageMax.Of(res)] = x.amount*hours/2, x.amount*0.75
		v[allocation.LimitHours.Of(res)] = x.amount * hours * 2
		v[allocation.Cost.Of(res)] = x.cost * hours
	}
	if r.volume > 0 {
		size := richVolume * r.volume * hours
		row.Volumes = []allocation.VolumeShare{{Key: dict.Add(allocation.VolumeKey(r.cluster, "data")), ProviderID: dict.Add("vol-1"), ByteHours: size * gib, Cost: size * diskHour}}
		v[allocation.PVByteHours], v[allocation.PVCost] = size*gib, size*diskHour
	}
	if r.balancer > 0 {
		cost := r.balancer * hours * lbHour
		row.LoadBalancers = []allocation.LoadBalancerShare{{
			Key: dict.Add(allocation.LoadBalancerKey(r.cluster, "web", "front")), Service: dict.Add("web/front"), IP: dict.Add("203.0.113.9"), Hours: hours, Cost: cost,
		}}
		v[allocation.LoadBalancerCost] = cost
	}
	v[allocation.NetworkTransferBytes] = 2 * r.internet * hours * gib
	v[allocation.NetworkEgressBytes] = r.internet * hours * gib
	v[allocation.NetworkInternetCost] = r.internet * hours * egressGiB
	return row
}

// richNode is a node at list price.
func richNode(w allocation.Window, cluster, name, id, instance string, cores, gibs, gpus float64) allocation.Node {
	hours := w.Duration().Hours()
	return allocation.Node{
		Cluster: cluster, Name: name, ProviderID: id, InstanceType: instance, Region: "eu-1", Start: w.Start, End: w.End, RunningSeconds: hours * 3600,
		Labels: map[string]string{"rack": "r7", "team": "infra", "node": name},
		Hours:  [allocation.NumResources]float64{cores * hours, gibs * gib * hours, gpus * hours},
		Cost:   [allocation.NumResources]float64{cores * hours * coreHour, gibs * hours * gibHour, gpus * hours * gpuHour},
	}
}

// richAssets adds the assets besides nodes.
func richAssets(s *allocation.Set, w allocation.Window) {
	hours := w.Duration().Hours()
	disk := func(name string, gibs float64) allocation.Disk {
		return allocation.Disk{
			Cluster: "one", Name: name, Start: w.Start, End: w.End, ByteHours: gibs * gib * hours, Cost: gibs * hours * diskHour,
			UsedByteHours: math.NaN(), UsedMax: math.NaN(), StorageClass: "ssd",
		}
	}
	data, local := disk("data", richVolume), disk("n1", 128)
	data.ProviderID, data.ClaimNamespace, data.ClaimName = "vol-1", "web", "files"
	data.UsedByteHours, data.UsedMax = data.ByteHours/4, richVolume*gib/2
	local.Local, local.StorageClass = true, ""
	s.Disks = []allocation.Disk{local, data, disk("spare", 16)}
	s.Balancers = []allocation.LoadBalancer{
		{Cluster: "one", Namespace: "ops", Service: "lonely", IP: "10.0.0.9", Private: true, Start: w.Start, End: w.End, Hours: hours, Cost: hours * lbHour},
		{Cluster: "one", Namespace: "web", Service: "front", IP: "203.0.113.9", Start: w.Start, End: w.End, Hours: hours, Cost: hours * lbHour},
	}
	s.Networks = []allocation.Network{{Cluster: "one", Start: w.Start, End: w.End, Internet: 2 * hours * egressGiB}}
	s.Management = []allocation.Management{{Cluster: "one", Provisioner: "EKS", Start: w.Start, End: w.End, Cost: hours * feeHour}}
}

// history is a ledger that has no data of windows that begin before a time.
type history struct {
	rich
	since time.Time
}

func (h *history) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	if q.Window.Start.Before(h.since.Truncate(time.Minute)) {
		return func(yield func(*allocation.Set, error) bool) { yield(nil, allocation.ErrNoData) }
	}
	return h.rich.Sets(ctx, q)
}

// broken is a ledger whose nodes cost more than is allocated or idle.
type broken struct{ rich }

func (b *broken) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for s, err := range b.rich.Sets(ctx, q) {
			if err == nil {
				s.Nodes[0].Cost[allocation.CPU]++
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
