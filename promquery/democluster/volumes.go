package democluster

import "math"

// Claims of the teams' namespaces that come from no StatefulSet.
const (
	sharedClaim  = "datasets"        // mounted by many pods at a time
	scratchClaim = "reindex-scratch" // mounted only while a Job runs
	archiveClaim = "export-archive"  // mounted by nobody
)

// storageClass is a class of volumes.
type storageClass struct {
	name, driver, handle string  // handle begins the name by which the driver knows a volume
	price                float64 // USD a GiB-hour, as exported; 0 = nobody exports it
	raise                float64 // factor of the price after the price change
}

func gp3() storageClass {
	const listed = 0.08 / 730
	return storageClass{name: "gp3", driver: "ebs.csi.aws.com", handle: "vol-0", price: math.Round(listed*1e8) / 1e8, raise: 1.05}
}

func efs() storageClass { return storageClass{name: "efs", driver: "efs.csi.aws.com", handle: "fs-0"} }

func sc1() storageClass { return storageClass{name: "sc1", driver: "ebs.csi.aws.com", handle: "vol-0"} }

// volume is a persistent volume with its claim.
type volume struct {
	name, namespace, claim, handle string // no namespace and no claim: it is nobody's
	mount                          string // its name inside of pods
	class                          storageClass
	life                           span
	bytes                          []level
	used                           float64 // the used fraction of the bytes, as kubelets report it while it is mounted
	price                          []level // USD a GiB-hour
	pods                           []*pod  // that mount it, by their creation
}

// newVolume adds a volume that exists from before the history on.
func (c *Cluster) newVolume(namespace, claim, mount string, class storageClass, bytes int64) *volume {
	key := keyOf(c.key, "volume", namespace, claim)
	r := rng(keyOf(key, "used"))
	v := &volume{
		name: "pvc-" + uuid(key), namespace: namespace, claim: claim, mount: mount, class: class, handle: class.handle + hex64(key)[:16],
		bytes: []level{{0, float64(bytes)}}, used: float64(r.between(20, 85)) / 100, life: span{c.start - 100*hourMillis, never},
		price: []level{{0, defaultStoragePrice}},
	}
	if class.price > 0 && !c.cfg.NoOpenCost {
		v.price = []level{{0, class.price}, {c.timeAt(atPriceChange), class.price * class.raise}}
	}
	c.volumes = append(c.volumes, v)
	return v
}

// addClaims adds the claims of one copy of the teams' namespaces that Jobs and Deployments mount.
func (c *Cluster) addClaims(copyNumber int) {
	datasets := c.newVolume(numbered("ml", copyNumber), sharedClaim, sharedClaim, efs(), 1024*gibibyte)
	datasets.bytes = append(datasets.bytes, level{c.timeAt(atVolumeGrows), float64(1536 * gibibyte)})
	c.newVolume(numbered("search", copyNumber), scratchClaim, "scratch", gp3(), 50*gibibyte)
}

// addUnmounted adds a claim that no pod mounts, and a volume that lost its claim and is deleted later.
func (c *Cluster) addUnmounted() {
	c.newVolume("search", archiveClaim, "", gp3(), 500*gibibyte)
	c.newVolume("", "", "", sc1(), 250*gibibyte).life.to = c.timeAt(atVolumeDeleted)
}

// volume adds what kube-state-metrics, OpenCost and kubelets say about a volume and its claim.
func (b *collector) volume(v *volume) {
	if !(span{b.w.from - 2*b.c.kubeState.interval, b.w.to}).overlaps(v.life) {
		return
	}
	one := constant(v.life, 1)
	id := []string{"persistentvolume", v.name}
	b.ksm(during(v.life, v.bytes), "kube_persistentvolume_capacity_bytes", id...)
	b.ksm(one, "kube_persistentvolume_info", append(id, "storageclass", v.class.name, "csi_driver", v.class.driver, "csi_volume_handle", v.handle)...)
	if v.class.price > 0 {
		b.opencost(during(v.life, v.price), "pv_hourly_cost", append(id, "volumename", v.name, "provider_id", v.handle)...)
	}
	if v.claim == "" {
		return
	}
	b.ksm(one, "kube_persistentvolume_claim_ref", append(id, "name", v.claim, "claim_namespace", v.namespace)...)
	b.ksm(one, "kube_persistentvolumeclaim_info", "namespace", v.namespace, "persistentvolumeclaim", v.claim,
		"storageclass", v.class.name, "volumename", v.name, "volumemode", "Filesystem")
	b.volumeStats(v)
}

// volumeStats adds what the kubelet of each node says about a volume while a pod there mounts it and runs.
func (b *collector) volumeStats(v *volume) {
	var nodes []*node
	mounted := map[*node][]span{}
	late := span{b.w.from - 2*b.c.cfg.ScrapeInterval.Milliseconds(), b.w.to}
	for _, p := range v.pods {
		if !late.overlaps(span{p.created, p.listed}) {
			continue
		}
		if mounted[p.node] == nil {
			nodes = append(nodes, p.node)
		}
		for _, s := range p.stretches(span{p.created, never}) {
			mounted[p.node] = append(mounted[p.node], s.span)
		}
	}
	for _, n := range nodes {
		var capacity, used []step
		for _, s := range union(mounted[n]) {
			capacity = append(capacity, during(s, v.bytes)...)
			used = append(used, during(s, v.usedBytes())...)
		}
		kv := []string{"node", n.name, "namespace", v.namespace, "persistentvolumeclaim", v.claim}
		b.steps(n.target, capacity, "kubelet_volume_stats_capacity_bytes", kv...)
		b.steps(n.target, used, "kubelet_volume_stats_used_bytes", kv...)
	}
}

func (v *volume) usedBytes() []level {
	out := make([]level, len(v.bytes))
	for i, l := range v.bytes {
		out[i] = level{l.from, math.Floor(l.value * v.used)}
	}
	return out
}

// localDisk adds what cAdvisor and kube-state-metrics say about the root file system of a node.
func (b *collector) localDisk(n *node) {
	kv := []string{"node", n.name, "id", "/", "device", localDevice}
	key := keyOf(n.key, "disk")
	b.sampled(n.target, n.life, curve{{n.life.from, n.kind.disk, 0}}, key, undivided, "container_fs_limit_bytes", kv...)
	b.ksm(constant(n.life, float64(n.kind.disk)), "kube_node_status_capacity", "node", n.name, "resource", "ephemeral_storage", "unit", "byte")
	b.sampled(n.target, n.life, n.diskUsed(), key, undivided, "container_fs_usage_bytes", kv...)
}

const localDevice = "/dev/nvme0n1p1"

// diskUsed is what the images, logs and scratch space of a node fill: a quarter of the disk at first, a byte more each millisecond.
func (n *node) diskUsed() curve { return curve{{n.life.from, n.kind.disk / 4, 1}} }
