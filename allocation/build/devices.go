package build

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// devices has what a container requests of devices, and how much it uses of each. Nodes have prices for whole devices, so everything
// is counted in those: deviceFraction says how much of a GPU a MIG slice or a time-sliced share is.
type devices struct {
	requests timeline.RankedBy[signals.Symbol] // by resource name
	used     timeline.RankedBy[deviceKey]
	names    map[deviceKey]allocation.GPUDevice
	use      []timeline.Cell // of all of them; there is nothing else once they are resolved
}

// deviceKey names a device, or a slice of one, and its profile, such as 1g.5gb.
type deviceKey struct{ device, slice, profile signals.Symbol }

// deviceFraction is how much of a whole device one unit of a resource is. For nvidia_com_mig_3g_20gb it is three sevenths, by the
// compute slices of the profile; an A30 has four. For a time-sliced GPU, the labels of the node decide.
func deviceFraction(resource string, node *node) float64 {
	if _, profile, ok := strings.Cut(resource, "mig_"); ok {
		return profileFraction(profile)
	}
	if node != nil && sharesDevice(resource, node) {
		if n, err := strconv.Atoi(node.label(labelnames.GPUReplicaLabels)); err == nil && n > 1 {
			return 1 / float64(n)
		}
	}
	return 1
}

// sharesDevice reports whether GPUs of that resource are time-sliced: by its name, else by the labels of the node, which
// may be nil. A MIG slice is not shared unless its name says so.
func sharesDevice(resource string, node *node) bool {
	return strings.Contains(resource, "shared") || node != nil && !strings.Contains(resource, "mig_") && strings.HasSuffix(node.label(labelnames.GPUProductLabels), "-SHARED")
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

// devicesOf returns the devices of c. It makes them if they are new.
func (c *container) devicesOf() *devices {
	if c.devices == nil {
		c.devices = &devices{requests: timeline.RankedBy[signals.Symbol]{}, used: timeline.RankedBy[deviceKey]{}, names: map[deviceKey]allocation.GPUDevice{}}
	}
	return c.devices
}

func (b *Builder) addDeviceRequest(s *incoming) error {
	b.container(s).devicesOf().requests.Add(s.key[5], s.Rank, b.requestsOf(s))
	return nil
}

func (b *Builder) addDeviceCapacity(s *incoming) error {
	b.nodeOf(s).reported.devices.Add(s.key[2], s.Rank, b.sampling.Steps(s.p))
	return nil
}

// addDeviceUse takes how much of one device a container uses. Exporters of one device count once, devices add up.
func (b *Builder) addDeviceUse(s *incoming) error {
	if s.key[4] == none || strings.Contains(s.key[4].Value(), "dcgm-exporter") {
		return nil // no container has the device: the labels are those of the exporter
	}
	steps := b.sampling.Steps(s.p)
	if s.Scale > 0 {
		steps = timeline.Scaled(steps, s.Scale)
	}
	d, device := b.container(s).devicesOf(), deviceKey{s.key[5], s.key[6], s.key[7]}
	d.used.Add(device, s.Rank, steps.NotNegative())
	d.names[device] = d.names[device].Or(allocation.GPUDevice{Device: s.key[9].Value(), Model: s.key[10].Value(), UUID: s.key[8].Value()})
	return nil
}

// addDevices adds from's devices. take selects the part of each series.
func (c *container) addDevices(from *devices, take func(timeline.Steps) timeline.Steps) {
	if from == nil {
		return
	}
	d := c.devicesOf()
	for name, alternatives := range from.requests {
		for rank, s := range alternatives {
			d.requests.Add(name, rank, take(s))
		}
	}
	for device, alternatives := range from.used {
		for rank, s := range alternatives {
			d.used.Add(device, rank, take(s))
		}
		d.names[device] = d.names[device].Or(from.names[device])
	}
}

// resolveDevices joins the requests of all devices into one request, and their use into one series of cells.
func (c *container) resolveDevices(n *node, dict *allocation.Dict) {
	if c.devices == nil {
		return
	}
	c.request[allocation.GPU].Add(0, c.devices.requests.Sum(signals.Compare, func(name signals.Symbol) float64 { return deviceFraction(name.Value(), n) }))
	names := make([]deviceKey, 0, len(c.devices.used))
	for name := range c.devices.used {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y deviceKey) int {
		return cmp.Or(signals.Compare(x.device, y.device), signals.Compare(x.slice, y.slice), signals.Compare(x.profile, y.profile))
	})
	var sum timeline.Steps
	for _, name := range names {
		worth := 1.0
		if name.slice != none {
			worth = profileFraction(name.profile.Value())
		}
		sum = timeline.Sum(sum, timeline.Scaled(c.devices.used[name].Best(), worth))
	}
	c.gpu = dict.AddMap(c.devices.described(names, n).Map())
	c.devices = &devices{}
	for _, x := range sum {
		c.devices.use = append(c.devices.use, timeline.Cell{From: x.From, To: x.To, Amount: x.V * float64(x.To-x.From) / 1000})
	}
}

// measureDevices integrates the use of devices, in both phases of usage.
func (b *Builder) measureDevices() {
	for _, c := range each(&b.limits, slices.All(b.pods.order)) {
		if len(c.segments) == 0 || c.devices == nil || len(c.devices.use) == 0 {
			continue
		}
		s := &incoming{Series: signals.Series{Signal: signals.ContainerLevel, Resource: allocation.GPU}}
		l := &b.usage
		l.cells = l.beginLevels(c, append(l.cells[:0], c.devices.use...))
		l.coverAll(c, b.coverage(c, allocation.GPU), s, l.cells, len(l.cells))
	}
}

// described returns what is known of the devices named, in that order: what their exporter says, else the model from the labels of
// their node n, which may be nil.
func (d *devices) described(names []deviceKey, n *node) allocation.GPUDevice {
	var device, model, uuid []string
	add := func(to *[]string, text string) {
		if text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, name := range names {
		g := d.names[name]
		add(&device, g.Device)
		add(&model, g.Model)
		add(&uuid, g.UUID)
	}
	g := allocation.GPUDevice{Device: strings.Join(device, ","), Model: strings.Join(model, ","), UUID: strings.Join(uuid, ",")}
	if n != nil && g.Model == "" {
		g.Model = n.label(labelnames.GPULabels)
	}
	for resource := range d.requests {
		g.Shared = g.Shared || sharesDevice(resource.Value(), n)
	}
	return g
}
