package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/promcost/promcost/allocation"
)

// hour is the i-th hour of a day in March.
func hour(i int) allocation.Window {
	start := time.Date(2026, 3, 2, i, 0, 0, 0, time.UTC)
	return allocation.Window{Start: start, End: start.Add(time.Hour)}
}

// soundSet is a set of w that Check has nothing against: n containers in each of the clusters, with their nodes, volumes,
// load balancers and networks. The same seed gives the same set.
func soundSet(seed uint64, w allocation.Window, n int, clusters ...string) *allocation.Set {
	rng := rand.New(rand.NewPCG(seed, uint64(w.Start.Unix())))
	s := allocation.NewSet(w, allocation.NewDict())
	s.Resolution, s.ScrapeInterval, s.Warnings = time.Minute, 30*time.Second, []string{fmt.Sprintf("seed %d", seed)}
	s.Unlabeled = seed%2 == 1
	for _, cluster := range clusters {
		m := maker{s, rng, cluster, w}
		m.workloads(n)
		m.others()
	}
	return s
}

// maker adds a cluster to a set.
type maker struct {
	set     *allocation.Set
	rng     *rand.Rand
	cluster string
	w       allocation.Window
}

func (m *maker) workloads(n int) {
	nodes := make([]allocation.Node, 1+n/50)
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		nodes[i] = allocation.Node{
			Cluster: m.cluster, Name: name, ProviderID: "aws:///eu-west-1a/i-" + name, InstanceType: "m5.4xlarge", Region: "eu-west-1", Zone: "eu-west-1a",
			Labels: map[string]string{"pool": "a"}, Start: m.w.Start, End: m.w.End, RunningSeconds: m.w.Duration().Seconds(),
		}
		for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} {
			nodes[i].Idle[r] = m.rng.Float64()
			nodes[i].Cost[r], nodes[i].Hours[r], nodes[i].PriceSource[r] = nodes[i].Idle[r], 16, "sheet"
		}
	}
	network := allocation.Network{Cluster: m.cluster, Start: m.w.Start, End: m.w.End}
	for i := range n {
		r := m.row(i, &nodes[i%len(nodes)])
		network.CrossZone += r.Values[allocation.NetworkCrossZoneCost]
		m.set.Append(r)
	}
	m.set.Nodes = append(m.set.Nodes, nodes...)
	m.set.Networks = append(m.set.Networks, network)
}

// row is a container on a node, as they are in clusters: most run all the time and keep to their requests, and have a
// few labels that their replicas have, too.
func (m *maker) row(i int, node *allocation.Node) *allocation.Row {
	rng, app := m.rng, fmt.Sprint("app-", i/10)
	hash := fmt.Sprintf("%08x", uint32(i/10)*2654435761)
	ids := rand.New(rand.NewPCG(uint64(i), 7)) // the same in every hour
	namespace := fmt.Sprint("ns-", i/200)
	r := &allocation.Row{Start: m.w.Start, End: m.w.End, Services: []string{app}, NSLabels: map[string]string{"kubernetes_io_metadata_name": namespace}}
	r.Labels = map[string]string{
		"app_kubernetes_io_name": app, "app_kubernetes_io_instance": app, "pod_template_hash": hash, "team": fmt.Sprint("team-", i/500),
		"kubernetes_io_metadata_name": namespace, "topology_kubernetes_io_zone": "eu-west-1a",
	}
	r.Text = [allocation.Services]string{
		m.cluster, node.Name, namespace, fmt.Sprintf("%s-%s-%05x", app, hash, ids.Uint32()>>12),
		fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", ids.Uint32(), ids.Uint32()>>16, ids.Uint32()>>20, ids.Uint32()>>20, ids.Uint64()>>16),
		"main", "deployment", app, node.ProviderID,
	}
	if rng.IntN(20) == 0 {
		r.End = r.Start.Add(time.Duration(1+rng.IntN(50)) * time.Minute)
	}
	hours := r.End.Sub(r.Start).Hours()
	for res, request := range [...]float64{0.1 * float64(1+i/10%8), float64(int(128)<<(i/10%4)) * (1 << 20)} {
		res := allocation.Resource(res)
		usage := request * rng.ExpFloat64() * 0.4
		used := max(request, usage)
		r.Values[allocation.RequestHours.Of(res)], r.Values[allocation.LimitHours.Of(res)] = request*hours, 2*request*hours
		r.Values[allocation.UsageHours.Of(res)], r.Values[allocation.Hours.Of(res)] = usage*hours, used*hours
		r.Values[allocation.UsageMax.Of(res)] = usage * (1 + rng.Float64())
		level, millis := allocation.BucketOf(usage), int64(math.Floor(hours*3600e3))
		r.Levels[res] = []allocation.Level{{Bucket: level - 1, Millis: millis / 3}, {Bucket: level, Millis: millis / 2}}
		if res == allocation.RAM {
			r.Values[allocation.UsageMax.Of(res)] = math.Floor(usage*1.2/4096) * 4096
		}
		cost := used * hours * 0.03 / res.PerPriceUnit()
		r.Values[allocation.Cost.Of(res)] = cost
		node.Cost[res] += cost
	}
	r.Values[allocation.RunningSeconds] = hours * 3600
	r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = hours*3600*0.98, hours*3600*1.02
	r.Values[allocation.NetworkTransferBytes], r.Values[allocation.NetworkReceiveBytes] = math.Floor(rng.ExpFloat64()*1e8), math.Floor(rng.ExpFloat64()*1e8)
	if i%10 == 0 {
		r.Values[allocation.NetworkEgressBytes] = math.Floor(rng.ExpFloat64() * 1e6)
		r.Values[allocation.NetworkCrossZoneCost] = r.Values[allocation.NetworkEgressBytes] * 0.01 / (1 << 30)
	}
	return r
}

// others adds volumes and load balancers, and the rows that take them.
func (m *maker) others() {
	d := m.set.Dict()
	volume, balancer := allocation.VolumeKey(m.cluster, "pv-0"), allocation.LoadBalancerKey(m.cluster, "web", "front")
	cost := m.rng.Float64()
	r := &allocation.Row{Special: allocation.Unmounted, Start: m.w.Start, End: m.w.End}
	r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = m.cluster, "db", "db-unmounted-pvcs", allocation.UnmountedName
	r.Volumes = []allocation.VolumeShare{{Key: d.Add(volume), ProviderID: d.Add("vol-0"), ByteHours: 1 << 30, Cost: cost}}
	r.Values[allocation.PVByteHours], r.Values[allocation.PVCost] = 1<<30, cost
	m.set.Append(r)
	m.set.Disks = append(m.set.Disks, allocation.Disk{
		Cluster: m.cluster, Name: "pv-0", ProviderID: "vol-0", Start: m.w.Start, End: m.w.End, ByteHours: 1 << 30, Cost: cost, UsedByteHours: math.NaN(), UsedMax: math.NaN(),
	})
	r = &allocation.Row{Special: allocation.Unallocated, Start: m.w.Start, End: m.w.End}
	r.Text[allocation.Cluster], r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = m.cluster, "web", allocation.UnallocatedName, allocation.UnallocatedName
	r.LoadBalancers = []allocation.LoadBalancerShare{{Key: d.Add(balancer), Service: d.Add("web/front"), IP: d.Add("10.0.0.1"), Hours: 1, Cost: cost}}
	r.Values[allocation.LoadBalancerCost] = cost
	m.set.Append(r)
	m.set.Balancers = append(m.set.Balancers, allocation.LoadBalancer{Cluster: m.cluster, Namespace: "web", Service: "front", IP: "10.0.0.1", Start: m.w.Start, End: m.w.End, Hours: 1, Cost: cost})
	m.set.Management = append(m.set.Management, allocation.Management{Cluster: m.cluster, Provisioner: "EKS", Start: m.w.Start, End: m.w.End, Cost: 0.1})
}
