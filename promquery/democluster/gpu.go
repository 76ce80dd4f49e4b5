package democluster

import "strconv"

// gpus is an amount of GPUs: whole ones, slices 1g.5gb of one in MIG mode, places on one that several share in turns.
type gpus struct{ whole, slices, shared int64 }

// How many slices and places a GPU has, and the names of the resources as kube-state-metrics writes them.
const (
	slicesPerGPU = 7
	sharesPerGPU = 4

	wholeGPU  = "nvidia_com_gpu"
	slicedGPU = "nvidia_com_mig_1g_5gb"
	sharedGPU = "nvidia_com_gpu_shared"

	gpuModel      = "NVIDIA A100-SXM4-40GB"
	gpuModelLabel = "NVIDIA-A100-SXM4-40GB"
)

func (g gpus) plus(o gpus) gpus {
	return gpus{g.whole + o.whole, g.slices + o.slices, g.shared + o.shared}
}

func (g gpus) minus(o gpus) gpus {
	return gpus{g.whole - o.whole, g.slices - o.slices, g.shared - o.shared}
}

func (g gpus) fits(o gpus) bool {
	return g.whole <= o.whole && g.slices <= o.slices && g.shared <= o.shared
}

// devices is how many GPUs it is worth.
func (g gpus) devices() float64 {
	return float64(g.whole) + float64(g.slices)/slicesPerGPU + float64(g.shared)/sharesPerGPU
}

// gpuUse is where on its node a pod's GPUs are: the number of the device and, in MIG mode, the slices of it.
type gpuUse struct {
	device int64
	slices []int64
}

// assign gives a pod that comes the first free GPU of the kind it requests. The devices of a node are, in this order, whole
// ones, those in MIG mode, shared ones.
func (n *node) assign(p *pod) (use gpuUse) {
	need := p.reserved().gpu
	if need == (gpus{}) {
		return use
	}
	taken := map[int64]bool{}
	for _, q := range n.pods {
		switch had := q.reserved().gpu; {
		case q.end <= p.created:
		case need.whole > 0 && had.whole > 0:
			taken[q.gpu.device] = true
		case need.slices > 0:
			for _, slice := range q.gpu.slices {
				taken[slice] = true
			}
		}
	}
	has := n.kind.capacity.gpu
	switch {
	case need.whole > 0:
		for taken[use.device] {
			use.device++
		}
	case need.slices > 0:
		use.device = has.whole
		for slice := int64(0); int64(len(use.slices)) < need.slices; slice++ {
			if !taken[slice] {
				use.slices = append(use.slices, slice)
			}
		}
	default:
		use.device = has.whole + has.slices/slicesPerGPU
	}
	return use
}

// gpuUUID names a device of a node.
func (n *node) gpuUUID(device int64) string {
	return "GPU-" + uuid(keyOf(n.key, "gpu", strconv.FormatInt(device, 10)))
}

// gpuLabels are the labels that NVIDIA's feature discovery gives a node with GPUs.
func (n *node) gpuLabels() []string {
	if n.dcgm == nil {
		return nil
	}
	return []string{
		"label_nvidia_com_gpu_product", gpuModelLabel, "label_nvidia_com_gpu_count", strconv.Itoa(int(n.kind.capacity.gpu.devices())),
		"label_nvidia_com_gpu_replicas", strconv.Itoa(sharesPerGPU), "label_nvidia_com_mig_capable", "true", "label_nvidia_com_mig_strategy", "mixed",
	}
}

// activity is how busy a running container keeps its GPU, in percent; it changes every 15 to 45 minutes. Only the part before a
// time is complete.
func (ct *container) activity(until int64) (list []level) {
	r := rng(keyOf(ct.key, "gpu"))
	for t := ct.runs[0].from; t < until; t += r.between(15*minuteMillis, 45*minuteMillis) {
		list = append(list, level{t, float64(r.between(5, 95))})
	}
	return list
}

// observed reports whether an exporter can attribute the work on a GPU to the container: it cannot if containers take turns.
func (ct *container) observed() bool {
	g := ct.request.gpu
	return g.whole+g.slices > 0
}

// gpuActivity adds what the DCGM exporter says about a container's GPU: as a ratio under labels that the scrape renamed, or
// in percent under the exporter's own.
func (b *collector) gpuActivity(p *pod, ct *container) {
	if !ct.observed() {
		return
	}
	n := p.node
	device := strconv.FormatInt(p.gpu.device, 10)
	kv := []string{
		"Hostname", n.name, "gpu", device, "UUID", n.gpuUUID(p.gpu.device), "device", "nvidia" + device, "modelName", gpuModel,
		"pci_bus_id", "00000000:00:1" + device + ".0", "DCGM_FI_DRIVER_VERSION", "570.148.08",
	}
	levels := ct.activity(b.w.to)
	if p.of.utilization {
		kv = append(kv, "namespace", p.of.namespace, "pod", p.name, "container", ct.spec.name)
		b.steps(n.dcgm, ct.whileRunning(levels), "DCGM_FI_DEV_GPU_UTIL", kv...)
		return
	}
	for i := range levels {
		levels[i].value /= 100
	}
	kv = append(kv, "exported_namespace", p.of.namespace, "exported_pod", p.name, "exported_container", ct.spec.name,
		"namespace", "gpu-operator", "pod", "nvidia-dcgm-exporter-"+suffix(keyOf(n.key, "dcgm"), 5), "container", "nvidia-dcgm-exporter")
	const metric = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
	if len(p.gpu.slices) == 0 {
		b.steps(n.dcgm, ct.whileRunning(levels), metric, kv...)
	}
	for _, slice := range p.gpu.slices {
		b.steps(n.dcgm, ct.whileRunning(levels), metric, append(kv, "GPU_I_PROFILE", "1g.5gb", "GPU_I_ID", strconv.FormatInt(slice+7, 10))...)
	}
}

// whileRunning returns the steps of a series that has the levels while the container runs.
func (ct *container) whileRunning(list []level) (steps []step) {
	for _, r := range ct.runs {
		steps = append(steps, during(r, list)...)
	}
	return steps
}

// GPUTruth is a container's request for GPUs, and how busy it kept them, within the window. A container that requests several
// slices keeps all equally busy.
type GPUTruth struct {
	// Resource is the name of the requested resource, Requested the number of it, Devices the number of GPUs that this equals.
	Resource  string  `json:"resource"`
	Requested float64 `json:"requested"`
	Devices   float64 `json:"devices"`
	Device    string  `json:"device"`
	Model     string  `json:"model"`
	UUID      string  `json:"uuid"`
	// Shared says that others use the same GPU in turns.
	Shared bool `json:"shared"`
	// Observed says whether an exporter tells the usage.
	Observed bool `json:"observed"`
	// RequestHours and UsageHours are in device-hours. UsageHours is 0 if nobody observes it.
	RequestHours float64 `json:"requestHours"`
	UsageHours   float64 `json:"usageHours"`
}

func (ct *container) gpuTruth(p *pod, w span) *GPUTruth {
	g := ct.request.gpu
	if g == (gpus{}) {
		return nil
	}
	t := &GPUTruth{
		Resource: wholeGPU, Requested: float64(g.whole), Devices: g.devices(), Device: "nvidia" + strconv.FormatInt(p.gpu.device, 10),
		Model: gpuModel, UUID: p.node.gpuUUID(p.gpu.device), Observed: ct.observed(),
	}
	switch {
	case g.slices > 0:
		t.Resource, t.Requested = slicedGPU, float64(g.slices)
	case g.shared > 0:
		t.Resource, t.Requested, t.Shared = sharedGPU, float64(g.shared), true
	}
	for _, r := range ct.runs {
		live := r.clip(w)
		if live.from >= live.to {
			continue
		}
		t.RequestHours += hours(float64(live.to-live.from)) * t.Devices
		if t.Observed {
			t.UsageHours += hours(integral(ct.activity(live.to), live)) / 100 * t.Devices
		}
	}
	return t
}
