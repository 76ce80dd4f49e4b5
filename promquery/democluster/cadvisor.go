package democluster

import "strings"

// Divisors of curves: CPU time is counted in ns and exported in seconds, bytes are exported as they are.
const (
	nanos     = 1e9
	undivided = 1
)

// cgroup returns the path of a pod's cgroup as the kubelet's systemd driver names it.
func (p *pod) cgroup() string {
	class := "burstable"
	if p.bestEffort() {
		class = "besteffort"
	}
	return "/kubepods.slice/kubepods-" + class + ".slice/kubepods-" + class + "-pod" + strings.ReplaceAll(p.uid, "-", "_") + ".slice"
}

func (p *pod) bestEffort() bool {
	for i := range p.containers {
		if p.containers[i].request != (resources{}) {
			return false
		}
	}
	return true
}

// podCgroups adds what cAdvisor says about a pod: its containers, its own cgroup, its network.
func (b *collector) podCgroups(p *pod) {
	g, path := p.node.target, p.cgroup()
	for i := range p.containers {
		ct := &p.containers[i]
		for run, life := range ct.runs {
			if life.from >= b.w.to || life.to < b.w.from-2*g.interval {
				continue
			}
			id := ct.id(run)
			key := keyOf(ct.key, "cgroup", id)
			cpu, mem := ct.curves(run, b.w)
			kv := []string{
				"node", p.node.name, "namespace", p.of.namespace, "pod", p.name, "container", ct.spec.name,
				"id", path + "/cri-containerd-" + id + ".scope", "name", id, "image", ct.spec.image,
			}
			b.sampled(g, life, cpu, key, nanos, "container_cpu_usage_seconds_total", append(kv, "cpu", "total")...)
			b.sampled(g, life, mem, key, undivided, "container_memory_working_set_bytes", kv...)
			if b.c.cfg.Pressure {
				b.pressure(ct, g, life, key, kv)
			}
		}
	}
	life := span{p.containers[0].runs[0].from, p.end}
	if life.from >= b.w.to || life.to < b.w.from-2*g.interval {
		return
	}
	key := keyOf(p.key, "cgroup")
	kv := []string{"node", p.node.name, "namespace", p.of.namespace, "pod", p.name, "id", path}
	cpu, mem := p.curves(b.w)
	b.sampled(g, life, cpu, key, nanos, "container_cpu_usage_seconds_total", append(kv, "cpu", "total")...)
	b.sampled(g, life, mem, key, undivided, "container_memory_working_set_bytes", kv...)
	b.network(p, life, path)
}

// pressure adds counters of a container that is hardly ever in trouble: ten periods a second, of which few are throttled, where it has a limit.
func (b *collector) pressure(ct *container, g *target, life span, key uint64, kv []string) {
	grows := func(perSecond float64, name string) {
		b.sampled(g, life, curve{{life.from, 0, int64(perSecond * nanos / 1000)}}, key, nanos, name, kv...)
	}
	if ct.limit.cpu > 0 {
		grows(10, "container_cpu_cfs_periods_total")
		grows(0.02, "container_cpu_cfs_throttled_periods_total")
	}
	grows(0, "container_oom_events_total")
	grows(0.001, "container_pressure_cpu_waiting_seconds_total")
}

// curves returns what all that runs on a node has used since it joined: the pods, and the system with 150 millicores and 900 MiB.
func (n *node) curves(w span) (cpu, mem curve) {
	cpus := []curve{{{n.life.from, 0, systemUse().cpu}}}
	mems := []curve{{{n.life.from, systemUse().mem, 0}}}
	for _, p := range n.pods {
		if p.created < w.to {
			cpu, mem := p.curves(w)
			cpus, mems = append(cpus, cpu), append(mems, mem)
		}
	}
	return addCurves(cpus), addCurves(mems)
}

// rootCgroup adds the cgroup of all that runs on a node.
func (b *collector) rootCgroup(n *node, cpu, mem curve) {
	key := keyOf(n.key, "cgroup")
	b.sampled(n.target, n.life, cpu, key, nanos, "container_cpu_usage_seconds_total", "node", n.name, "id", "/", "cpu", "total")
	b.sampled(n.target, n.life, mem, key, undivided, "container_memory_working_set_bytes", "node", n.name, "id", "/")
}
