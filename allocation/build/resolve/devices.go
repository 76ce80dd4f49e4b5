package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// deviceFraction is how much of a whole device one unit of a resource is. For nvidia_com_mig_3g_20gb it is three sevenths, by the
// compute slices of the profile; an A30 has four. For a time-sliced GPU, the labels of the node decide.
func deviceFraction(resource string, node *observe.Node) float64 {
	if _, profile, ok := strings.Cut(resource, "mig_"); ok {
		return profileFraction(profile)
	}
	if node != nil && sharesDevice(resource, node) {
		if n, err := strconv.Atoi(node.Label(labelnames.GPUReplicaLabels)); err == nil && n > 1 {
			return 1 / float64(n)
		}
	}
	return 1
}

// sharesDevice reports whether GPUs of that resource are time-sliced: by its name, else by the labels of the node, which
// may be nil. A MIG slice is not shared unless its name says so.
func sharesDevice(resource string, node *observe.Node) bool {
	return strings.Contains(resource, "shared") || node != nil && !strings.Contains(resource, "mig_") && strings.HasSuffix(node.Label(labelnames.GPUProductLabels), "-SHARED")
}

// profileFraction is the part of a GPU that a MIG profile such as 1g_5gb is.
func profileFraction(profile string) float64 {
	const slices, slicesOfA30 = 7, 4
	slice, memory, ok := strings.Cut(strings.ReplaceAll(profile, ".", "_"), "g_")
	n, err := strconv.Atoi(slice)
	if !ok || err != nil || n < 1 || n > slices {
		return 1
	}
	switch {
	case n == 1 && memory == "6gb", n == 2 && memory == "12gb", n == 4 && memory == "24gb":
		return float64(n) / slicesOfA30
	}
	return float64(n) / slices
}

// resolveDevices joins the requests of all devices into one request, and their use into one series of cells.
func resolveDevices(c *observe.Container, n *observe.Node, dict *allocation.Dict) {
	if c.Devices == nil {
		return
	}
	requested := c.Devices.Requests.Sum(signals.Compare, func(name signals.Symbol) float64 { return deviceFraction(name.Value(), n) })
	// A claim may serve a request for an extended resource: the two count once.
	var claimed timeline.Steps
	for _, device := range slices.SortedFunc(maps.Keys(c.Devices.Claimed), compareDevices) {
		claimed = timeline.Sum(claimed, timeline.Scaled(c.Devices.Claimed[device], worthOf(device)))
	}
	c.Request[allocation.GPU].Add(0, timeline.Max(requested, claimed))
	names := make([]observe.DeviceKey, 0, len(c.Devices.Used))
	for name := range c.Devices.Used {
		names = append(names, name)
	}
	slices.SortFunc(names, compareDevices)
	var sum timeline.Steps
	for _, name := range names {
		sum = timeline.Sum(sum, timeline.Scaled(c.Devices.Used[name].Best(), worthOf(name)))
	}
	c.GPU = dict.AddMap(described(c.Devices, names, n).Map())
	c.Devices = &observe.Devices{}
	for _, x := range sum {
		c.Devices.Cells = append(c.Devices.Cells, timeline.Cell{From: x.From, To: x.To, Amount: x.V * float64(x.To-x.From) / 1000})
	}
}

func compareDevices(x, y observe.DeviceKey) int {
	return cmp.Or(signals.Compare(x.Device, y.Device), signals.Compare(x.Slice, y.Slice), signals.Compare(x.Profile, y.Profile))
}

// worthOf is how much of a whole device a device or a slice of one is.
func worthOf(x observe.DeviceKey) float64 {
	if x.Slice == observe.None {
		return 1
	}
	return profileFraction(x.Profile.Value())
}

// described returns what is known of the devices named, in that order: what their exporter says, else the model from the labels of
// their node n, which may be nil.
func described(d *observe.Devices, names []observe.DeviceKey, n *observe.Node) allocation.GPUDevice {
	var device, model, uuid []string
	add := func(to *[]string, text string) {
		if text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, name := range names {
		g := d.Names[name]
		add(&device, g.Device)
		add(&model, g.Model)
		add(&uuid, g.UUID)
	}
	g := allocation.GPUDevice{Device: strings.Join(device, ","), Model: strings.Join(model, ","), UUID: strings.Join(uuid, ",")}
	if n != nil && g.Model == "" {
		g.Model = n.Label(labelnames.GPULabels)
	}
	for resource := range d.Requests {
		g.Shared = g.Shared || sharesDevice(resource.Value(), n)
	}
	return g
}

// placeDevices notes the devices that pods use on the nodes of these: exporters may name another host.
func (rs *Resolver) placeDevices() {
	for c := range rs.Every() {
		if c.Devices != nil && c.Pod.Node.Known() {
			for device, used := range c.Devices.Used {
				rs.Nodes.AddDevice(observe.NodeKey{Cluster: c.Pod.Cluster, Name: c.Pod.Node.Value}, device.Device, timeline.Ones(used.Best()))
			}
		}
	}
}

// held is what a claim holds: a device of a node, or what the claim names.
type held struct {
	node   observe.NodeKey
	device observe.DeviceKey
	claim  observe.ObjectKey
}

// deviceOf is a device that a claim of p holds.
func deviceOf(p *observe.Pod, device observe.DeviceKey) held {
	return held{node: observe.NodeKey{Cluster: p.Cluster, Name: p.Node.Value}, device: device}
}

// divideClaims divides what claims hold, and the use of it, by how many pods or containers hold it at once: exporters tell each of them the use by all.
func (rs *Resolver) divideClaims() {
	sharers := map[held]timeline.Steps{}
	rs.eachHeld(func(of held, steps, ran timeline.Steps) timeline.Steps {
		sharers[of] = timeline.Sum(sharers[of], timeline.Within(rs.FillGaps(steps), ran))
		return steps
	})
	rs.eachHeld(func(of held, steps, _ timeline.Steps) timeline.Steps { return timeline.Apportioned(steps, sharers[of]) })
	for c := range rs.Every() {
		if c.Devices == nil {
			continue
		}
		for device := range c.Devices.Claimed {
			used := c.Devices.Used[device]
			for rank := range used {
				used[rank] = timeline.Apportioned(used[rank], sharers[deviceOf(c.Pod, device)])
			}
		}
	}
}

// eachHeld replaces when pods and containers hold something by what change returns. ran is when they were seen running.
func (rs *Resolver) eachHeld(change func(of held, steps, ran timeline.Steps) timeline.Steps) {
	for p := range rs.EveryPod() {
		var ran timeline.Steps
		for _, c := range p.Containers {
			if c.Devices != nil {
				for device, steps := range c.Devices.Claimed {
					c.Devices.Claimed[device] = change(deviceOf(p, device), steps, timeline.Ones(steps))
				}
			}
			if len(p.Claims) > 0 {
				ran = timeline.Max(ran, c.Running.Best())
			}
		}
		for i := range p.Claims {
			if x := &p.Claims[i]; x.Name != observe.None {
				x.Steps = change(held{claim: observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: x.Name}}, x.Steps, ran)
			}
		}
	}
}
