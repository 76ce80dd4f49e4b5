package democluster

import (
	"slices"
	"strings"
	"unicode"
)

// always is the life of what neither comes nor goes during the history.
func (c *Cluster) always() span { return span{c.start - 300*hourMillis, never} }

// seconds is a time as kube-state-metrics tells it.
func seconds(t int64) float64 { return float64(t / secondMillis) }

// clusterObjects adds what belongs to no pod and no node: namespaces, owners, services, volumes.
func (b *collector) clusterObjects() {
	b.namespaces()
	for _, rs := range b.c.replicaSets {
		b.ksm(constant(rs.life, 1), "kube_replicaset_owner", "namespace", rs.namespace, "replicaset", rs.name,
			"owner_kind", deployment, "owner_name", rs.deployment, "owner_is_controller", "true")
	}
	for _, j := range b.c.jobs {
		if j.listed.from >= b.w.to || j.listed.to < b.w.from-2*b.c.kubeState.interval {
			continue
		}
		kind, controller := "", ""
		if j.cronJob != "" {
			kind, controller = cronJob, "true"
		}
		b.ksm(constant(j.listed, 1), "kube_job_owner", "namespace", j.namespace, "job_name", j.name,
			"owner_kind", kind, "owner_name", j.cronJob, "owner_is_controller", controller)
	}
	for _, s := range b.c.services {
		b.service(s)
	}
	for _, v := range b.c.volumes {
		b.volume(v)
	}
	b.egressCosts()
	b.opencost(constant(b.c.always(), managementPrice), "kubecost_cluster_management_cost", "provisioner_name", provisioner)
	b.offerings()
}

func (b *collector) namespaces() {
	for _, w := range b.c.namespaces() {
		labels, annotations := w.namespaceLabels()
		b.ksm(constant(w.life, 1), "kube_namespace_labels", append([]string{"namespace", w.namespace}, prefixed("label_", labels)...)...)
		b.ksm(constant(w.life, 1), "kube_namespace_annotations", append([]string{"namespace", w.namespace}, prefixed("annotation_", annotations)...)...)
	}
}

// namespaces returns one workload of each namespace, by the order of the plan. One that is made again is another.
func (c *Cluster) namespaces() (out []*workload) {
	for _, w := range c.workloads {
		if !slices.ContainsFunc(out, func(o *workload) bool { return o.namespace == w.namespace && o.life == w.life }) {
			out = append(out, w)
		}
	}
	return out
}

func (w *workload) namespaceLabels() (labels, annotations []string) {
	env := "production"
	if w.team == "team-c" {
		env = "research"
	}
	return []string{"kubernetes.io/metadata.name", w.namespace, "team", w.team, "env", env, "costCenter", "cc-" + w.team},
		[]string{"example.com/cost-center", "cc-" + w.team}
}

// podLabels returns names and values in turn.
func (w *workload) podLabels() (labels, annotations []string) {
	labels = []string{"app.kubernetes.io/name", w.name, "app.kubernetes.io/part-of", w.namespace, "tier", strings.ToLower(w.kind)}
	annotations = []string{"prometheus.io/scrape", "true"}
	if w.kind == deployment {
		labels = append(labels, "gitBranch", "main")
		annotations = append(annotations, "example.com/owner", w.team+"@example.com")
	}
	return labels, annotations
}

// sanitized is a label name as kube-state-metrics writes it: everything but letters and digits is an underscore, and camel case
// becomes snake case.
func sanitized(name string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r >= 'A' && r <= 'Z':
			if last >= 'a' && last <= 'z' || last >= '0' && last <= '9' {
				b.WriteByte('_')
			}
		default:
			r = '_'
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return b.String()
}

func prefixed(prefix string, kv []string) []string {
	out := make([]string, len(kv))
	for i := 0; i < len(kv); i += 2 {
		out[i], out[i+1] = prefix+sanitized(kv[i]), kv[i+1]
	}
	return out
}

// pod adds the series of a pod and its containers.
func (b *collector) pod(p *pod) {
	listed := span{p.created, p.listed}
	one := constant(listed, 1)
	id := []string{"namespace", p.of.namespace, "pod", p.name, "uid", p.uid}
	with := func(kv ...string) []string { return append(slices.Clip(id), kv...) }
	b.ksm(one, "kube_pod_info", with("node", p.node.name, "host_ip", p.node.ip, "pod_ip", p.ip,
		"created_by_kind", p.owner.kind, "created_by_name", p.owner.name, "host_network", "false")...)
	b.ksm(one, "kube_pod_owner", with("owner_kind", p.owner.kind, "owner_name", p.owner.name, "owner_is_controller", "true")...)
	b.phases(p, with)
	b.ksm(constant(listed, seconds(p.created)), "kube_pod_status_scheduled_time", with()...)
	b.ksm(constant(span{p.started, p.listed}, seconds(p.started)), "kube_pod_start_time", with()...)
	labels, annotations := p.of.podLabels()
	b.ksm(one, "kube_pod_labels", with(prefixed("label_", labels)...)...)
	b.ksm(one, "kube_pod_annotations", with(prefixed("annotation_", annotations)...)...)
	for _, v := range p.volumes {
		b.ksm(one, "kube_pod_spec_volumes_persistentvolumeclaims_info", with("volume", v.mount, "persistentvolumeclaim", v.claim)...)
	}
	b.endpoints(p)
	for i := range p.containers {
		b.container(p, &p.containers[i], with)
		b.gpuActivity(p, &p.containers[i])
	}
	b.podCgroups(p)
}

// phases adds the five phases of a pod: the one it is in is 1, the others are 0.
func (b *collector) phases(p *pod, with func(...string) []string) {
	running := p.containers[0].runs[0].from
	if p.containers[0].spec.init {
		running = p.ready // a pod is pending until its init containers are done
	}
	in := func(s span) []step {
		return []step{{at: p.created}, {at: s.from, value: 1}, {at: s.to}, {at: p.listed, absent: true}}
	}
	for _, phase := range []string{"Failed", "Pending", "Running", "Succeeded", "Unknown"} {
		steps := constant(span{p.created, p.listed}, 0)
		switch phase {
		case "Pending":
			steps = in(span{p.created, running})
		case "Running":
			steps = in(span{running, p.end})
		case "Succeeded":
			if p.completed {
				steps = in(span{p.end, p.listed})
			}
		case "Failed":
			if !p.completed {
				steps = in(span{p.end, p.listed})
			}
		}
		b.ksm(steps, "kube_pod_status_phase", with("phase", phase)...)
	}
}

// container adds what kube-state-metrics says about one container.
func (b *collector) container(p *pod, ct *container, with func(...string) []string) {
	prefix := "kube_pod_container_"
	policy := ""
	if ct.spec.sidecar {
		policy = "Always"
	}
	if ct.spec.init || ct.spec.sidecar {
		prefix = "kube_pod_init_container_"
	}
	name := func(kv ...string) []string { return with(append([]string{"container", ct.spec.name}, kv...)...) }
	b.requests(p, prefix+"resource_requests", ct.request, name)
	b.requests(p, prefix+"resource_limits", ct.limit, name)

	life := ct.states(p)
	b.ksm(life.running, prefix+"status_running", name()...)
	b.ksm(life.restarts, prefix+"status_restarts_total", name()...)
	if ct.main() {
		b.ksm(life.started, prefix+"state_started", name()...)
		b.ksm(life.terminated, prefix+"status_last_terminated_timestamp", name()...)
		b.ksm(life.completed, "kube_pod_completion_time", with()...) // a pod has one main container
	}
	info := func(s span, id, imageID string) {
		b.ksm(constant(s, 1), prefix+"info", name("image", ct.spec.image, "image_spec", ct.spec.image,
			"image_id", imageID, "container_id", id, "restart_policy", policy)...)
	}
	info(span{p.started, ct.runs[0].from}, "", "")
	for i, r := range ct.runs {
		info(span{r.from, ct.following(i, p)}, "containerd://"+ct.id(i), digest(ct.spec.image))
	}
}

func digest(image string) string { return image + "@sha256:" + hex64(keyOf(0, image)) }

func (b *collector) requests(p *pod, metric string, r resources, name func(...string) []string) {
	for _, row := range r.rows() {
		if row.value > 0 {
			b.ksm(constant(span{p.created, p.listed}, row.value), metric, name("node", p.node.name, "resource", row.name, "unit", row.unit)...)
		}
	}
}

type resourceRow struct {
	name, unit string
	value      float64
}

func (r resources) rows() []resourceRow {
	return []resourceRow{
		{"cpu", "core", float64(r.cpu) / float64(core)},
		{"memory", "byte", float64(r.mem)},
		{wholeGPU, "integer", float64(r.gpu.whole)},
		{slicedGPU, "integer", float64(r.gpu.slices)},
		{sharedGPU, "integer", float64(r.gpu.shared)},
	}
}

// node adds the series of a node: of kube-state-metrics, its prices and its root cgroup.
func (b *collector) node(n *node) {
	one := constant(n.life, 1)
	b.ksm(one, "kube_node_info", "node", n.name, "provider_id", n.providerID, "internal_ip", n.ip, "system_uuid", n.uid,
		"kernel_version", "6.12.53", "os_image", "Amazon Linux 2023.9", "container_runtime_version", "containerd://2.1.4",
		"kubelet_version", "v1.34.1-eks", "pod_cidr", "10.1.0.0/24")
	capacityType := "ON_DEMAND"
	if n.spot {
		capacityType = "SPOT"
	}
	labels := append(n.gpuLabels(), "node", n.name, "label_kubernetes_io_arch", "amd64", "label_kubernetes_io_hostname", n.name,
		"label_node_kubernetes_io_instance_type", n.kind.name, "label_topology_kubernetes_io_region", region,
		"label_topology_kubernetes_io_zone", n.zone, "label_eks_amazonaws_com_capacity_type", capacityType,
		"label_eks_amazonaws_com_nodegroup", n.pool())
	b.ksm(one, "kube_node_labels", labels...)
	b.ksm(constant(n.life, seconds(n.life.from)), "kube_node_created", "node", n.name)
	for _, row := range n.kind.capacity.rows() {
		if row.value > 0 {
			b.ksm(constant(n.life, row.value), "kube_node_status_capacity", "node", n.name, "resource", row.name, "unit", row.unit)
		}
	}
	for _, row := range n.kind.capacity.minus(overhead()).rows() {
		if row.value > 0 {
			b.ksm(constant(n.life, row.value), "kube_node_status_allocatable", "node", n.name, "resource", row.name, "unit", row.unit)
		}
	}
	b.nodePrices(n)
	cpu, mem := n.curves(b.w)
	b.rootCgroup(n, cpu, mem)
	b.localDisk(n)
	b.nodeExporter(n, cpu, mem)
}

// nodePrices adds what OpenCost exports for a node.
func (b *collector) nodePrices(n *node) {
	id := []string{"instance", n.name, "node", n.name, "instance_type", n.kind.name, "region", region, "provider_id", n.providerID, "arch", "amd64"}
	gpus := n.gpus()
	cores, gib := float64(n.kind.capacity.cpu)/float64(core), float64(n.kind.capacity.mem)/float64(gibibyte)
	spot := 0.0
	if n.spot {
		spot = 1
	}
	cpu, ram := n.exported()
	total := during(n.life, cpu)
	for i := range total {
		total[i].value = total[i].value*cores + ram[0].value*gib + n.gpu[0].value*gpus
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"node_cpu_hourly_cost", during(n.life, cpu)},
		{"node_ram_hourly_cost", during(n.life, ram)},
		{"node_gpu_hourly_cost", during(n.life, n.gpu)},
		{"node_gpu_count", constant(n.life, gpus)},
		{"node_total_hourly_cost", total},
		{"kubecost_node_is_spot", constant(n.life, spot)},
	} {
		b.opencost(row.steps, row.name, id...)
	}
}

// opencost adds a series of OpenCost, if there is one.
func (b *collector) opencost(steps []step, name string, kv ...string) {
	if !b.c.cfg.NoOpenCost {
		b.steps(b.c.opencost, steps, name, kv...)
	}
}

// offerings adds what Karpenter estimates spot machines to cost, which it makes all of.
func (b *collector) offerings() {
	t := computeType()
	for _, zone := range zones {
		b.steps(b.c.karpenter, constant(b.c.always(), t.perHour()*t.spotDiscount), "karpenter_cloudprovider_instance_type_offering_price_estimate",
			"instance_type", t.name, "capacity_type", "spot", "zone", zone)
	}
}

// targets returns all that is scraped.
func (c *Cluster) targets() []*target {
	list := []*target{c.kubeState, c.karpenter}
	if !c.cfg.NoOpenCost {
		list = append(list, c.opencost)
	}
	for _, n := range c.nodes {
		list = append(list, n.target, n.networkCosts)
		for _, g := range []*target{n.dcgm, n.exporter} {
			if g != nil {
				list = append(list, g)
			}
		}
	}
	return list
}

// targets adds up for every target.
func (b *collector) targets() {
	for _, g := range b.c.targets() {
		health := []step{{at: g.life.from, value: 1}}
		for _, d := range g.down {
			health = append(health, step{at: d.from}, step{at: d.to, value: 1})
		}
		up := *g
		up.fails()
		b.steps(&up, append(health, step{at: g.life.to, absent: true}), "up", "node", g.node)
	}
}
