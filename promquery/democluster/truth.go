package democluster

import (
	"cmp"
	"slices"
	"time"
)

// ClusterID is the cluster of the whole truth: the samples carry no cluster label.
const ClusterID = "cluster-one"

// Truth is what a window of the cluster costs, exactly: integrals of the plan, not of samples. Amounts are in core-hours, byte-hours
// (RAM and storage) and GPU-hours, money in USD; RAM and storage are priced a GiB (2^30 bytes) an hour. All lists are sorted.
type Truth struct {
	// Start and End bound the window, half-open.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Containers has a row for each container of each pod (by UID) that ran in the window, by namespace, pod, start, UID, container.
	Containers []ContainerTruth `json:"containers"`
	// Pending has a row for each container that was scheduled but had not run yet at some time in the window, in the same order.
	Pending []PendingTruth `json:"pending"`
	// Nodes has a row for each node that lived in the window, by name.
	Nodes []NodeTruth `json:"nodes"`
	// Idle is what of each node no container was allocated, by name: node minus containers.
	Idle []IdleTruth `json:"idle"`
	// Volumes has a row for each persistent volume, by name.
	Volumes []VolumeTruth `json:"volumes"`
	// Unmounted has a row for each namespace with a volume that was not mounted at some time, by name.
	Unmounted []UnmountedTruth `json:"unmounted"`
	// LocalDisks has a row for the disk of each node, by the node's name.
	LocalDisks []LocalDiskTruth `json:"localDisks"`
	// LoadBalancers has a row for each service of type LoadBalancer, by namespace and name.
	LoadBalancers []LoadBalancerTruth `json:"loadBalancers"`
	// Networks and ClusterManagement have a row for each cluster.
	Networks          []NetworkAssetTruth      `json:"networks"`
	ClusterManagement []ClusterManagementTruth `json:"clusterManagement"`
	// Namespaces has the labels and annotations of each namespace, by name and start: one that is deleted and made again is another.
	Namespaces []NamespaceTruth `json:"namespaces"`
	// Outages has a row for each time in which samples are missing of what ran, by start.
	Outages []OutageTruth `json:"outages"`
	// Bill is what BillTruth says of the same window; Truth leaves it nil.
	Bill *BillTruth `json:"bill,omitempty"`
	// Change is what ChangeTruth says of the end of the window; Truth leaves it nil.
	Change *ChangeTruth `json:"change,omitempty"`
}

// ContainerTruth is one container of one pod within the window. Restarts in place belong to it; the time between them does not count.
type ContainerTruth struct {
	Cluster   string `json:"cluster"`
	Node      string `json:"node"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	Container string `json:"container"`
	// Init says that it is an init container that ends before the main ones start, Sidecar that it is one that runs beside them.
	Init    bool `json:"init,omitempty"`
	Sidecar bool `json:"sidecar,omitempty"`
	// ControllerKind is in lower case: deployment, statefulset, daemonset, cronjob, or job for a Job nobody owns.
	ControllerKind string `json:"controllerKind"`
	Controller     string `json:"controller"`
	// Start and End bound what ran within the window.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// LifeStart and LifeEnd are its first start and last end, whatever the window; no LifeEnd if it has none yet.
	LifeStart time.Time `json:"lifeStart"`
	LifeEnd   time.Time `json:"lifeEnd,omitzero"`
	// RunningSeconds is the time it ran within the window.
	RunningSeconds float64 `json:"runningSeconds"`
	// Restarts is how often it was started again in place within the window.
	Restarts int `json:"restarts,omitempty"`
	// Scheduled is when its pod was given to the node, whatever the window.
	Scheduled time.Time `json:"scheduled"`

	// Hours are integrals over the time it ran: of max(request, usage), of the request, of the usage.
	CPUCoreHours        float64 `json:"cpuCoreHours"`
	CPURequestCoreHours float64 `json:"cpuRequestCoreHours"`
	CPUUsageCoreHours   float64 `json:"cpuUsageCoreHours"`
	RAMByteHours        float64 `json:"ramByteHours"`
	RAMRequestByteHours float64 `json:"ramRequestByteHours"`
	RAMUsageByteHours   float64 `json:"ramUsageByteHours"`
	// GPUHours are of devices: a MIG slice 1g of A100 counts 1/7, a place on a GPU that four share 1/4. No usage exceeds its request.
	GPUHours float64 `json:"gpuHours"`
	// GPU says more about what was requested, nil if nothing was.
	GPU *GPUTruth `json:"gpu,omitempty"`

	// Used are the stretches of the time it ran in which its usage did not change, in the order of time.
	Used []UsedTruth `json:"-"`

	// Costs are integrals of max(request, usage) times the node's price at that time, in USD.
	CPUCost float64 `json:"cpuCost"`
	RAMCost float64 `json:"ramCost"`
	GPUCost float64 `json:"gpuCost"`

	// PVByteHours and PVCost are the sums of PVs, which has a row for each volume its pod mounts, by name.
	PVByteHours float64            `json:"pvByteHours"`
	PVCost      float64            `json:"pvCost"`
	PVs         []VolumeShareTruth `json:"pvs,omitempty"`

	NetworkTruth
	// LoadBalancerCost is the sum of LoadBalancers, which has a row for each that its pod is behind, by name.
	LoadBalancerCost float64                  `json:"loadBalancerCost"`
	LoadBalancers    []LoadBalancerShareTruth `json:"loadBalancers,omitempty"`

	// Labels and Annotations are the pod's own, names sanitized as kube-state-metrics does.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// Services are the names of those that have the pod as an endpoint, sorted.
	Services []string `json:"services"`
}

// UsedTruth is a stretch of time with the same usage.
type UsedTruth struct {
	Length time.Duration
	Cores  float64
	Bytes  float64
}

// NodeTruth is one node within the window.
type NodeTruth struct {
	Cluster      string    `json:"cluster"`
	Name         string    `json:"name"`
	InstanceType string    `json:"instanceType"`
	ProviderID   string    `json:"providerID"`
	Region       string    `json:"region"`
	Zone         string    `json:"zone"`
	Pool         string    `json:"pool"`
	Spot         bool      `json:"spot"`
	Start        time.Time `json:"start"` // within the window
	End          time.Time `json:"end"`

	// Hours are of the node's capacity.
	CPUCoreHours float64 `json:"cpuCoreHours"`
	RAMByteHours float64 `json:"ramByteHours"`
	GPUHours     float64 `json:"gpuHours"`
	CPUCost      float64 `json:"cpuCost"`
	RAMCost      float64 `json:"ramCost"`
	GPUCost      float64 `json:"gpuCost"`

	// CPUOverhead and RAMOverhead are the parts of the capacity that are not allocatable.
	CPUOverhead float64 `json:"cpuOverheadFraction"`
	RAMOverhead float64 `json:"ramOverheadFraction"`
	// CPUBreakdown and RAMBreakdown say what the capacity was used for, nil if no node exporter is scraped.
	CPUBreakdown *BreakdownTruth `json:"cpuBreakdown,omitempty"`
	RAMBreakdown *BreakdownTruth `json:"ramBreakdown,omitempty"`
}

// IdleTruth is what remains of a node.
type IdleTruth struct {
	Cluster string  `json:"cluster"`
	Node    string  `json:"node"`
	CPUCost float64 `json:"cpuCost"`
	RAMCost float64 `json:"ramCost"`
	GPUCost float64 `json:"gpuCost"`
}

// NamespaceTruth has the names of labels and annotations sanitized as kube-state-metrics does.
type NamespaceTruth struct {
	Namespace   string            `json:"namespace"`
	Start       time.Time         `json:"start"` // within the window
	End         time.Time         `json:"end"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Truth computes the exact costs of [start, end). Before the first scrapes too the plan holds, but no samples.
func (c *Cluster) Truth(start, end time.Time) *Truth {
	w := span{start.UnixMilli(), end.UnixMilli()}
	c.extend(w.to)
	c.mu.RLock()
	defer c.mu.RUnlock()
	t := &Truth{Start: start.UTC(), End: end.UTC(), Namespaces: c.namespaceTruth(w), Outages: c.outageTruth(w)}
	idle, used := map[*node]*IdleTruth{}, map[*node]usedHours{}
	for _, n := range c.nodes {
		if row, ok := n.truth(w); ok {
			idle[n] = &IdleTruth{Cluster: ClusterID, Node: n.name, CPUCost: row.CPUCost, RAMCost: row.RAMCost, GPUCost: row.GPUCost}
		}
	}
	accounts := c.accounts(w)
	for _, p := range c.pods {
		t.Pending = append(t.Pending, p.pendingTruth(w)...)
		for _, row := range p.truth(w, accounts) {
			t.Containers = append(t.Containers, row)
			used[p.node] = used[p.node].plus(row)
			rest := idle[p.node]
			rest.CPUCost -= row.CPUCost
			rest.RAMCost -= row.RAMCost
			rest.GPUCost -= row.GPUCost
		}
	}
	for _, n := range c.nodes {
		if row, ok := n.truth(w); ok {
			n.breakdown(&row, used[n])
			t.Nodes = append(t.Nodes, row)
			t.Idle = append(t.Idle, *idle[n])
		}
	}
	c.volumeTruth(t, w, accounts)
	c.networkTruth(t, w, accounts)
	t.sort()
	return t
}

func (t *Truth) sort() {
	slices.SortFunc(t.Containers, func(a, b ContainerTruth) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), a.LifeStart.Compare(b.LifeStart),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.Container, b.Container),
		)
	})
	slices.SortFunc(t.Pending, func(a, b PendingTruth) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), a.Start.Compare(b.Start),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.Container, b.Container),
		)
	})
	slices.SortFunc(t.Nodes, func(a, b NodeTruth) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Idle, func(a, b IdleTruth) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(t.Volumes, func(a, b VolumeTruth) int { return cmp.Compare(a.PersistentVolume, b.PersistentVolume) })
	slices.SortFunc(t.Unmounted, func(a, b UnmountedTruth) int { return cmp.Compare(a.Namespace, b.Namespace) })
	slices.SortFunc(t.LocalDisks, func(a, b LocalDiskTruth) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(t.LoadBalancers, func(a, b LoadBalancerTruth) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service))
	})
}

func instant(ms int64) time.Time {
	if ms >= never {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// hours converts an integral over milliseconds.
func hours(integral float64) float64 { return integral / float64(hourMillis) }

func (n *node) truth(w span) (NodeTruth, bool) {
	life := n.life.clip(w)
	if life.from >= life.to {
		return NodeTruth{}, false
	}
	length := hours(float64(life.to - life.from))
	capacity := n.kind.capacity
	row := NodeTruth{
		Cluster: ClusterID, Name: n.name, InstanceType: n.kind.name, ProviderID: n.providerID, Spot: n.spot,
		Region: region, Zone: n.zone, Pool: n.pool(),
		Start: instant(life.from), End: instant(life.to),
		CPUCoreHours: float64(capacity.cpu) / float64(core) * length,
		RAMByteHours: float64(capacity.mem) * length,
		GPUHours:     capacity.gpu.devices() * length,
	}
	cost := func(list []level, amount float64) (sum float64) {
		each(list, life, func(part span, rate float64) { sum += hours(float64(part.to-part.from)) * amount * rate })
		return sum
	}
	row.CPUOverhead, row.RAMOverhead = float64(overhead().cpu)/float64(capacity.cpu), float64(overhead().mem)/float64(capacity.mem)
	row.CPUCost = cost(n.cpu, float64(capacity.cpu)/float64(core))
	row.RAMCost = cost(n.ram, float64(capacity.mem)/float64(gibibyte))
	row.GPUCost = cost(n.gpu, capacity.gpu.devices())
	return row, true
}

// integrals are of a container over some time: CPU in µcore·ms = ns, memory in byte·ms.
type integrals struct {
	millis                   int64
	cpu, cpuRequest, cpuUsed int64
	ram, ramRequest, ramUsed float64
	used                     []UsedTruth
}

// integrate integrates what a container was allocated, requested and used while it ran within w.
func (ct *container) integrate(w span) (sum integrals) {
	q := ct.request
	for _, r := range ct.runs {
		live := r.clip(w)
		if live.from >= live.to {
			continue
		}
		for s := ct.slots(); s.from < live.to; s.next() {
			part := s.clip(live)
			d := part.to - part.from
			if d <= 0 {
				continue
			}
			sum.millis += d
			sum.cpu += max(q.cpu, s.cpu) * d
			sum.cpuUsed += s.cpu * d
			sum.ram += float64(max(q.mem, s.mem)) * float64(d)
			sum.ramUsed += float64(s.mem) * float64(d)
			sum.used = append(sum.used, UsedTruth{time.Duration(d) * time.Millisecond, float64(s.cpu) / float64(core), float64(s.mem)})
		}
	}
	sum.cpuRequest = q.cpu * sum.millis
	sum.ramRequest = float64(q.mem) * float64(sum.millis)
	return sum
}

func (ct *container) truth(p *pod, w span) (ContainerTruth, bool) {
	all := span{ct.runs[0].from, ct.runs[len(ct.runs)-1].to}
	if !all.overlaps(w) {
		return ContainerTruth{}, false
	}
	sum := ct.integrate(w)
	if sum.millis == 0 {
		return ContainerTruth{}, false
	}
	var ran span
	for _, r := range ct.runs {
		if part := r.clip(w); part.from < part.to {
			if ran.to == 0 {
				ran.from = part.from
			}
			ran.to = part.to
		}
	}
	coreHours := func(ns int64) float64 { return hours(float64(ns)) / float64(core) }
	row := ContainerTruth{
		Cluster: ClusterID, Node: p.node.name, Namespace: p.of.namespace, Pod: p.name, UID: p.uid, Container: ct.spec.name, Init: ct.spec.init, Sidecar: ct.spec.sidecar,
		Start: instant(ran.from), End: instant(ran.to), LifeStart: instant(all.from), LifeEnd: instant(all.to),
		RunningSeconds: float64(sum.millis) / float64(secondMillis), Scheduled: instant(p.created),
		CPUCoreHours: coreHours(sum.cpu), CPURequestCoreHours: coreHours(sum.cpuRequest), CPUUsageCoreHours: coreHours(sum.cpuUsed),
		RAMByteHours: hours(sum.ram), RAMRequestByteHours: hours(sum.ramRequest), RAMUsageByteHours: hours(sum.ramUsed),
		GPUHours: hours(float64(sum.millis)) * ct.request.gpu.devices(), Used: sum.used,
	}
	for _, r := range ct.runs[1:] {
		if w.has(r.from) {
			row.Restarts++
		}
	}
	row.ControllerKind, row.Controller = p.controller()
	each(p.node.cpu, w, func(part span, rate float64) { row.CPUCost += coreHours(ct.integrate(part).cpu) * rate })
	each(p.node.ram, w, func(part span, rate float64) { row.RAMCost += hours(ct.integrate(part).ram) / float64(gibibyte) * rate })
	each(p.node.gpu, w, func(part span, rate float64) {
		row.GPUCost += hours(float64(ct.integrate(part).millis)) * ct.request.gpu.devices() * rate
	})
	row.GPU = ct.gpuTruth(p, w)
	labels, annotations := p.of.podLabels()
	row.Labels, row.Annotations = sanitizedMap(labels), sanitizedMap(annotations)
	row.Services = []string{}
	for _, s := range p.of.services {
		if e := s.endpoint(p); e.from < e.to && s.life.overlaps(w) {
			row.Services = append(row.Services, s.name)
		}
	}
	slices.Sort(row.Services)
	return row, true
}

// controller is the top of the owner chain, its kind in lower case.
func (p *pod) controller() (kind, name string) {
	switch p.of.kind {
	case deployment:
		return "deployment", p.of.name
	case cronJob:
		return "cronjob", p.of.name
	case statefulSet:
		return "statefulset", p.of.name
	case daemonSet:
		return "daemonset", p.of.name
	default:
		return "job", p.owner.name
	}
}

func sanitizedMap(kv []string) map[string]string {
	out := make(map[string]string, len(kv)/2)
	for i := 0; i < len(kv); i += 2 {
		out[sanitized(kv[i])] = kv[i+1]
	}
	return out
}

func (c *Cluster) namespaceTruth(within span) []NamespaceTruth {
	var out []NamespaceTruth
	for _, w := range c.namespaces() {
		if life := w.life.clip(within); life.from < life.to {
			labels, annotations := w.namespaceLabels()
			out = append(out, NamespaceTruth{w.namespace, instant(life.from), instant(life.to), sanitizedMap(labels), sanitizedMap(annotations)})
		}
	}
	slices.SortFunc(out, func(a, b NamespaceTruth) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), a.Start.Compare(b.Start))
	})
	return out
}

// NamespaceOf returns the namespace that a container ran in, the zero value if there is none.
func (t *Truth) NamespaceOf(x *ContainerTruth) NamespaceTruth {
	for _, n := range t.Namespaces {
		if n.Namespace == x.Namespace && !x.Start.Before(n.Start) && !x.End.After(n.End) {
			return n
		}
	}
	return NamespaceTruth{}
}
