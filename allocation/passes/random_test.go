package passes_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

var testStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// model is a set as plain rows and assets, for the slow reference to compute with.
type model struct {
	window     allocation.Window
	rows       []modelRow
	nodes      []allocation.Node
	residuals  []allocation.Residual
	disks      []allocation.Disk
	balancers  []allocation.LoadBalancer
	networks   []allocation.Network
	management []allocation.Management
	bill       passes.Adjustments
}

// modelRow is a row with its shares of volumes and load balancers.
type modelRow struct {
	allocation.Row
	volumes   []modelShare
	balancers []modelShare
}

// modelShare is the share of a row in a volume or a load balancer.
type modelShare struct {
	key        string
	amount     float64 // byte-hours, or hours
	cost       float64
	adjustment float64
}

// set builds the set of the model, with its bill.
func (m *model) set(dict *allocation.Dict) *allocation.Set {
	s := allocation.NewSet(m.window, dict)
	for i := range m.rows {
		r := m.rows[i].Row
		for _, v := range m.rows[i].volumes {
			r.Volumes = append(r.Volumes, allocation.VolumeShare{Key: dict.Add(v.key), ProviderID: dict.Add("vol-" + v.key), ByteHours: v.amount, Cost: v.cost})
		}
		for _, l := range m.rows[i].balancers {
			r.LoadBalancers = append(r.LoadBalancers, allocation.LoadBalancerShare{Key: dict.Add(l.key), Service: dict.Add("web/x"), Hours: l.amount, Cost: l.cost})
		}
		s.Append(&r)
	}
	s.Nodes, s.Residuals, s.Disks = m.nodes, m.residuals, m.disks
	s.Balancers, s.Networks, s.Management = m.balancers, m.networks, m.management
	s, err := passes.Reconcile(s, m.bill)
	if err != nil {
		panic(err)
	}
	return s
}

// setsOf are the sets of models over one dictionary.
func setsOf(models []model) (sets []*allocation.Set) {
	dict := allocation.NewDict()
	for i := range models {
		sets = append(sets, models[i].set(dict))
	}
	return passes.Join(sets)
}

// addLevels gives the row random levels of usage for as long as its usage is known, or now and then none.
func (r *modelRow) addLevels(rng *rand.Rand, res allocation.Resource) {
	unknown := &r.Values[allocation.UnknownSeconds.Of(res)]
	left := int64((r.Values[allocation.RunningSeconds] - *unknown) * 1000)
	if *unknown = r.Values[allocation.RunningSeconds] - float64(left)/1000; rng.IntN(8) == 0 {
		return
	}
	for bucket := allocation.NoUsage; left > 0; bucket += allocation.Bucket(1 + rng.IntN(100)) {
		part := min(left, 1+rng.Int64N(900_000))
		r.Levels[res] = append(r.Levels[res], allocation.Level{Bucket: bucket, Millis: part})
		left -= part
	}
}

// randomModels are models of consecutive hours, whose pods go on from one hour to the next.
func randomModels(rng *rand.Rand, hours, pods int) []model {
	templates := make([]allocation.Row, pods)
	for i := range templates {
		templates[i] = randomRow(rng, i)
	}
	models := make([]model, hours)
	for h := range models {
		start := testStart.Add(time.Duration(h) * time.Hour)
		m := &models[h]
		m.window = allocation.Window{Start: start, End: start.Add(time.Hour)}
		for i := range templates {
			if rng.IntN(4) > 0 {
				m.rows = append(m.rows, runningRow(rng, templates[i], m.window))
			}
		}
		m.addNodes(rng)
		m.addOthers(rng)
		m.addBill(rng)
	}
	return models
}

func pick(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }

// randomRow is a container without times and amounts. Pods of one name are common, so are missing properties.
func randomRow(rng *rand.Rand, i int) allocation.Row {
	r := allocation.Row{Labels: map[string]string{}, Annotations: map[string]string{}}
	r.Text[allocation.Cluster] = pick(rng, "c1", "arn:aws:eks:eu/c2")
	ns := pick(rng, "shop", "web", "kube-system")
	r.NSLabels = map[string]string{"kubernetes_io_metadata_name": ns}
	r.NSAnnotations = map[string]string{"owner": "o-" + ns}
	if rng.IntN(12) == 0 {
		return specialRow(rng, r, ns)
	}
	r.Text[allocation.NodeName] = pick(rng, "n1", "n2", "n3", "", "gone")
	r.Text[allocation.Namespace] = ns
	r.Text[allocation.Pod] = fmt.Sprintf("pod-%d", rng.IntN(1+i))
	r.Text[allocation.PodUID] = fmt.Sprintf("uid-%d", i)
	r.Text[allocation.Container] = pick(rng, "main", "sidecar")
	r.Text[allocation.ControllerKind] = pick(rng, "deployment", "daemonset", "job", "")
	r.Text[allocation.Controller] = pick(rng, "api", "db", "")
	r.Text[allocation.ProviderID] = "aws:///eu-1/i-" + r.Text[allocation.NodeName]
	for _, service := range []string{"zeta", "alpha", "mid"} {
		if rng.IntN(3) == 0 {
			r.Services = append(r.Services, service)
		}
	}
	for _, label := range []string{"app", "team", "app.kubernetes.io/name", "app_kubernetes_io_name", "env"} {
		if rng.IntN(2) == 0 {
			r.Labels[label] = pick(rng, "x", "y", "x/y", "")
		}
		if rng.IntN(3) == 0 {
			r.Annotations[label] = pick(rng, "ax", "ay")
		}
	}
	return r
}

// specialRow is a row of volumes that nobody mounts, or of load balancers without endpoints.
func specialRow(rng *rand.Rand, r allocation.Row, ns string) allocation.Row {
	r.Text[allocation.Container] = allocation.UnmountedName
	switch rng.IntN(3) {
	case 0:
		r.Special = allocation.Unmounted
		r.Text[allocation.Namespace], r.Text[allocation.Pod] = ns, ns+"-unmounted-pvcs"
	case 1:
		r.Special = allocation.Unmounted
		r.Text[allocation.Namespace], r.Text[allocation.Pod] = allocation.UnmountedName, allocation.UnmountedName
		r.NSLabels, r.NSAnnotations = nil, nil
	default:
		r.Special = allocation.Unallocated
		r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = ns, allocation.UnallocatedName, allocation.UnallocatedName
	}
	return r
}

// builtColumn reports whether a Builder fills a column of workloads that is not the sum of volumes or load balancers.
func builtColumn(c allocation.Column) bool {
	given := []allocation.Column{
		allocation.PVByteHours, allocation.PVCost, allocation.LoadBalancerCost, allocation.PVCostAdjustment, allocation.NetworkCostAdjustment,
		allocation.LoadBalancerCostAdjustment, allocation.SharedCost, allocation.ExternalCost,
	}
	for r := range allocation.NumResources {
		given = append(given, allocation.CostIdle.Of(r), allocation.Adjustment.Of(r))
	}
	return !slices.Contains(given, c)
}

// runningRow is the container with random times and amounts inside the window.
func runningRow(rng *rand.Rand, r allocation.Row, w allocation.Window) modelRow {
	from := rng.IntN(60)
	minutes := 1 + rng.IntN(60-from)
	r.Start = w.Start.Add(time.Duration(from) * time.Minute)
	r.End = r.Start.Add(time.Duration(minutes) * time.Minute)
	out := modelRow{Row: r}
	if r.Special == allocation.Workload {
		amounts := rand.New(rand.NewPCG(rng.Uint64(), 0)) // so that a further column leaves all else as it is
		for c := range allocation.NumColumns {
			if builtColumn(c) {
				out.Values[c] = amounts.Float64()
			}
		}
		for res := range allocation.NumResources {
			out.Values[allocation.RequestHours.Of(res)] *= float64(rng.IntN(2))
		}
		if rng.IntN(2) == 0 {
			out.Values[allocation.Cost.Of(allocation.GPU)] = 0
		}
		running := float64(minutes) * 60 * (1 - 0.5*rng.Float64())
		out.Values[allocation.RunningSeconds] = running
		out.Values[allocation.LeastSeconds] = running * 0.9
		out.Values[allocation.MostSeconds] = running * 1.1
		for res := range allocation.NumResources {
			unknown := float64(rng.IntN(3)) / 2 // none, half or all of it
			out.Values[allocation.UnknownSeconds.Of(res)] = unknown * running
			out.Values[allocation.UnknownRequestHours.Of(res)] = unknown * out.Values[allocation.RequestHours.Of(res)]
			if unknown == 1 {
				out.Values[allocation.UsageHours.Of(res)] = 0
			}
		}
		for _, res := range allocation.LevelResources {
			out.addLevels(amounts, res)
		}
	}
	cluster := r.Text[allocation.Cluster]
	if r.Special == allocation.Unmounted || r.Special == allocation.Workload && rng.IntN(3) == 0 {
		out.volumes = randomShares(rng, allocation.VolumeKey(cluster, "pv-0"), allocation.VolumeKey(cluster, "pv-1"))
	}
	if r.Special == allocation.Unallocated || r.Special == allocation.Workload && rng.IntN(3) == 0 {
		out.balancers = randomShares(rng, allocation.LoadBalancerKey(cluster, "web", "front"), allocation.LoadBalancerKey(cluster, "web", "api"))
	}
	for _, v := range out.volumes {
		out.Values[allocation.PVByteHours] += v.amount
		out.Values[allocation.PVCost] += v.cost
	}
	for _, l := range out.balancers {
		out.Values[allocation.LoadBalancerCost] += l.cost
	}
	return out
}

// randomShares are shares of one or two of the keys.
func randomShares(rng *rand.Rand, keys ...string) (list []modelShare) {
	skip := rng.IntN(3)
	for i, key := range keys {
		if i != skip {
			list = append(list, modelShare{key: key, amount: rng.Float64(), cost: rng.Float64()})
		}
	}
	return list
}

// addNodes adds the nodes that the rows ran on, except the one that is unknown, with some idle and some residual.
func (m *model) addNodes(rng *rand.Rand) {
	for _, cluster := range []string{"arn:aws:eks:eu/c2", "c1", "empty"} {
		var residual [allocation.NumResources]float64
		for _, name := range []string{"", "gone", "n1", "n2", "n3"} {
			n := allocation.Node{
				Cluster: cluster, Name: name, ProviderID: "aws:///eu-1/i-" + name, InstanceType: "m5.large", Pool: poolOf(name),
				Start: m.window.Start, End: m.window.End.Add(-time.Duration(rng.IntN(30)) * time.Minute),
				Labels: map[string]string{"zone": "a"},
			}
			n.RunningSeconds = n.End.Sub(n.Start).Seconds()
			for r := range allocation.NumResources {
				allocated := m.costOn(cluster, name, r)
				if name == "" || name == "gone" {
					residual[r] += allocated
					continue
				}
				n.Idle[r] = rng.Float64()
				if rng.IntN(5) == 0 && allocated > 0 {
					n.Idle[r] = 0
					over := allocated * 0.1
					allocated -= over
					residual[r] += over
				}
				n.Cost[r], n.Hours[r] = allocated+n.Idle[r], 1+rng.Float64()
			}
			if name != "" && name != "gone" {
				m.nodes = append(m.nodes, n)
			}
		}
		for r, cost := range residual {
			if cost > 0 {
				m.residuals = append(m.residuals, allocation.Residual{Cluster: cluster, Resource: allocation.Resource(r), Cost: cost})
			}
		}
	}
}

// poolOf is the pool of a node, "" of one without a pool or that is unknown.
func poolOf(node string) string { return map[string]string{"n1": "general", "n2": "general"}[node] }

func (m *model) costOn(cluster, node string, r allocation.Resource) (sum float64) {
	for i := range m.rows {
		if m.rows[i].Text[allocation.Cluster] == cluster && m.rows[i].Text[allocation.NodeName] == node {
			sum += m.rows[i].Values[allocation.Cost.Of(r)]
		}
	}
	return sum
}

// addOthers adds the volumes, load balancers and networks of the rows, and the assets that only tenancy costs are made of.
func (m *model) addOthers(rng *rand.Rand) {
	from, to := m.window.Start.Add(time.Duration(rng.IntN(30))*time.Minute), m.window.End
	for _, cluster := range []string{"arn:aws:eks:eu/c2", "c1", "empty"} {
		n := allocation.Network{Cluster: cluster, Start: from, End: to}
		for i := range m.rows {
			if r := &m.rows[i]; r.Text[allocation.Cluster] == cluster {
				n.CrossZone += r.Values[allocation.NetworkCrossZoneCost]
				n.CrossRegion += r.Values[allocation.NetworkCrossRegionCost]
				n.Internet += r.Values[allocation.NetworkInternetCost]
			}
		}
		m.networks = append(m.networks, n)
		for _, name := range []string{"pv-0", "pv-1", "pv-free"} {
			d := allocation.Disk{Cluster: cluster, Name: name, ProviderID: "vol-" + allocation.VolumeKey(cluster, name), Start: from, End: to}
			d.ByteHours, d.Cost = m.sharesOf(d.ProviderID[len("vol-"):])
			m.disks = append(m.disks, d)
		}
		for _, node := range []string{"n1", "n2", "alone"} {
			if rng.IntN(3) > 0 {
				m.disks = append(m.disks, allocation.Disk{Cluster: cluster, Name: node, Local: true, Start: from, End: to, Cost: rng.Float64()})
			}
		}
		for _, service := range []string{"front", "api", "idle"} {
			l := allocation.LoadBalancer{Cluster: cluster, Namespace: "web", Service: service, Start: from, End: to}
			l.Hours, l.Cost = m.sharesOf(allocation.LoadBalancerKey(cluster, "web", service))
			m.balancers = append(m.balancers, l)
		}
		if rng.IntN(2) == 0 {
			m.management = append(m.management, allocation.Management{Cluster: cluster, Start: from, End: to, Cost: 3 * rng.Float64()})
		}
	}
}

// sharesOf sums the shares of rows by key.
func (m *model) sharesOf(key string) (amount, cost float64) {
	for i := range m.rows {
		for _, list := range [][]modelShare{m.rows[i].volumes, m.rows[i].balancers} {
			for _, s := range list {
				if s.key == key {
					amount += s.amount
					cost += s.cost
				}
			}
		}
	}
	return amount, cost
}

// addBill adds random adjustments, of some of the assets, and costs outside of clusters.
func (m *model) addBill(rng *rand.Rand) {
	adjust := func(of map[allocation.AssetKey]float64, cluster, name string) {
		if rng.IntN(2) == 0 {
			of[allocation.AssetKey{Cluster: cluster, Name: name}] = rng.Float64() - 0.4
		}
	}
	m.bill = passes.Adjustments{
		Nodes: map[allocation.AssetKey]float64{}, Volumes: map[allocation.AssetKey]float64{}, LocalDisks: map[allocation.AssetKey]float64{},
		LoadBalancers: map[allocation.AssetKey]float64{}, Networks: map[string]float64{}, Management: map[string]float64{},
	}
	for _, n := range m.nodes {
		adjust(m.bill.Nodes, n.Cluster, n.Name)
	}
	for _, d := range m.disks {
		if d.Local {
			adjust(m.bill.LocalDisks, d.Cluster, d.Name)
		} else {
			adjust(m.bill.Volumes, d.Cluster, d.Name)
		}
	}
	for _, l := range m.balancers {
		adjust(m.bill.LoadBalancers, l.Cluster, l.Namespace+"/"+l.Service)
	}
	for _, n := range m.networks {
		m.bill.Networks[n.Cluster] = rng.Float64() - 0.4
	}
	for _, x := range m.management {
		m.bill.Management[x.Cluster] = rng.Float64() - 0.4
	}
	for range rng.IntN(3) {
		e := allocation.ExternalAllocation{Start: m.window.Start, End: m.window.End, Cost: rng.Float64(), Labels: map[string]string{"app": pick(rng, "x", "y")}}
		e.Text[allocation.Cluster], e.Text[allocation.Namespace] = pick(rng, "c1", ""), pick(rng, "shop", "web", "bucket", "")
		m.bill.External = append(m.bill.External, e)
	}
}
