package allocation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/timeline"
)

// devices are what a container is allotted of devices, and uses of each. Devices count by the names of their resources:
// a MIG slice and a share of a GPU are one device each, priced as their node prices devices.
type devices struct {
	requests map[Symbol]*ranked // by resource name
	used     map[[2]Symbol]*ranked
}

// devicesOf are those of c, made where they are new.
func (c *container) devicesOf() *devices {
	if c.devices == nil {
		c.devices = &devices{requests: map[Symbol]*ranked{}, used: map[[2]Symbol]*ranked{}}
	}
	return c.devices
}

func (b *Builder) addDeviceRequest(s *seen) error {
	d := b.container(s).devicesOf()
	if d.requests[s.key[5]] == nil {
		d.requests[s.key[5]] = &ranked{}
	}
	d.requests[s.key[5]].add(s.Rank, b.sampling.Steps(s.p))
	return nil
}

func (b *Builder) addDeviceCapacity(s *seen) error {
	n := b.nodeOf(s)
	if n.devices == nil {
		n.devices = map[Symbol]*ranked{}
	}
	if n.devices[s.key[2]] == nil {
		n.devices[s.key[2]] = &ranked{}
	}
	n.devices[s.key[2]].add(s.Rank, b.sampling.Steps(s.p))
	return nil
}

// addDeviceUse takes how much of one device a container uses. Exporters of one device count once, devices add up.
func (b *Builder) addDeviceUse(s *seen) error {
	if s.key[4] == none || strings.Contains(s.key[4].Value(), "dcgm-exporter") {
		return nil // a device that no container has, by the labels of who exports it
	}
	steps := b.sampling.Steps(s.p)
	if s.Scale > 0 {
		for i := range steps {
			steps[i].V *= s.Scale
		}
	}
	d, device := b.container(s).devicesOf(), [2]Symbol{s.key[5], s.key[6]}
	if d.used[device] == nil {
		d.used[device] = &ranked{}
	}
	d.used[device].add(s.Rank, steps.NotNegative())
	return nil
}

// inheritDevices adds from's devices, as far as take takes them.
func (c *container) inheritDevices(from *devices, take func(timeline.Steps) timeline.Steps) {
	if from == nil {
		return
	}
	d := c.devicesOf()
	for name, alternatives := range from.requests {
		if d.requests[name] == nil {
			d.requests[name] = &ranked{}
		}
		for rank, s := range *alternatives {
			d.requests[name].add(rank, take(s))
		}
	}
	for device, alternatives := range from.used {
		if d.used[device] == nil {
			d.used[device] = &ranked{}
		}
		for rank, s := range *alternatives {
			d.used[device].add(rank, take(s))
		}
	}
}

// resolveDevices makes the requests of devices one request, and their use one series, which is integrated as any usage.
func (c *container) resolveDevices(s timeline.Sampling) {
	if c.devices == nil {
		return
	}
	c.request[GPU].add(0, sumByName(c.devices.requests))
	names := make([][2]Symbol, 0, len(c.devices.used))
	for name := range c.devices.used {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y [2]Symbol) int {
		return cmp.Or(compareSymbols(x[0], y[0]), compareSymbols(x[1], y[1]))
	})
	var sum timeline.Steps
	for _, name := range names {
		sum = timeline.Sum(sum, c.devices.used[name].best())
	}
	if len(sum) > 0 {
		c.deviceUse = s.Unstep(sum)
	}
	c.devices = nil
}

// measureDevices adds the use of devices as usage series, in every phase of it.
func (b *Builder) measureDevices() {
	for _, c := range b.order {
		if c.deviceUse == nil {
			continue
		}
		s := &seen{Series: Series{Signal: ContainerLevel, Resource: GPU}, p: c.deviceUse}
		s.key = []Symbol{c.cluster, c.namespace, c.name, c.uid, c.container, none, none}
		b.measure(c, s)
	}
}
