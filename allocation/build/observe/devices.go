package observe

import (
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Devices has what a container requests of devices, and how much it uses of each. Nodes have prices for whole devices, so everything
// is counted in those: resolve.deviceFraction says how much of a GPU a MIG slice or a time-sliced share is.
type Devices struct {
	Requests timeline.RankedBy[signals.Symbol] // by resource name
	Used     timeline.RankedBy[DeviceKey]
	Claimed  map[DeviceKey]timeline.Steps // 1 while a claim holds the device
	Names    map[DeviceKey]allocation.GPUDevice
	Cells    []timeline.Cell // of all of them; there is nothing else once they are resolved
}

// DeviceKey names a device, or a slice of one, and its profile, such as 1g.5gb.
type DeviceKey struct{ Device, Slice, Profile signals.Symbol }

// DeviceClaim is a claim of a pod for devices: 1 while the pod has it. Pods of a namespace that name the same claim share it.
type DeviceClaim struct {
	Name signals.Symbol
	timeline.Steps
}

// devicesOf returns the devices of c. It makes them if they are new.
func (c *Container) devicesOf() *Devices {
	if c.Devices == nil {
		c.Devices = &Devices{Requests: timeline.RankedBy[signals.Symbol]{}, Used: timeline.RankedBy[DeviceKey]{}, Claimed: map[DeviceKey]timeline.Steps{}, Names: map[DeviceKey]allocation.GPUDevice{}}
	}
	return c.Devices
}

func (ob *Observer) addDeviceRequest(s *Incoming) error {
	ob.container(s).devicesOf().Requests.Add(s.Key[5], s.Rank, ob.requestsOf(s))
	return nil
}

func (ob *Observer) addDeviceCapacity(s *Incoming) error {
	n, steps := ob.nodeOf(s), ob.Sampling.Steps(s.Points)
	if s.Key[2] == None { // a count of them, which is 0 where nothing tells it of devices
		n.Reported.DeviceCount = timeline.Max(n.Reported.DeviceCount, steps.Positive())
		return nil
	}
	n.Reported.Devices.Add(s.Key[2], s.Rank, steps)
	return nil
}

// addOtherDevice notes a container that requests devices without a price.
func (ob *Observer) addOtherDevice(s *Incoming) error {
	if v, ok := s.Points.LastUsable(); ok && v > 0 {
		ob.Report.OtherDevices = append(ob.Report.OtherDevices, s.Key[1].Value()+"/"+s.Key[2].Value()+"/"+s.Key[4].Value()+": "+s.Key[5].Value())
	}
	return nil
}

// addPodClaim takes a claim of a pod for devices (dynamic resource allocation).
func (ob *Observer) addPodClaim(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.Claims = append(p.Claims, DeviceClaim{s.Key[5], ob.shared.Of(timeline.Ones(ob.Sampling.Steps(s.Points).Positive()))})
	return nil
}

// AddDevice notes that a node has a device.
func (t *nodeTable) AddDevice(node NodeKey, device signals.Symbol, present timeline.Steps) {
	if t.Devices[node] == nil {
		t.Devices[node] = map[signals.Symbol]timeline.Steps{}
	}
	t.Devices[node][device] = timeline.Max(t.Devices[node][device], present)
}

// addDeviceUse takes how much of one device a container uses. Exporters of one device count once, devices add up. A device that a claim of the pod
// holds is requested whole. The series also shows that its node has the device.
func (ob *Observer) addDeviceUse(s *Incoming) error {
	present := timeline.Ones(ob.Sampling.Steps(s.Points))
	if host := (NodeKey{s.Key[0], s.Key[12]}); s.Key[12] != None && s.Key[8] != None {
		ob.Nodes.AddDevice(host, s.Key[8], present)
	}
	if s.Key[4] == None || strings.Contains(s.Key[4].Value(), "dcgm-exporter") {
		return nil // no container has the device: the labels are those of the exporter
	}
	steps := ob.Sampling.Steps(s.Points)
	if s.Scale > 0 {
		steps = timeline.Scaled(steps, s.Scale)
	}
	d, device := ob.container(s).devicesOf(), DeviceKey{s.Key[5], s.Key[6], s.Key[7]}
	d.Used.Add(device, s.Rank, steps.NotNegative())
	if s.Key[11] != None {
		d.Claimed[device] = timeline.Max(d.Claimed[device], present)
		ob.Pods.ClaimsByDevice[s.Key[0]] = true
	}
	d.Names[device] = d.Names[device].Or(allocation.GPUDevice{Device: s.Key[9].Value(), Model: s.Key[10].Value(), UUID: s.Key[8].Value()})
	return nil
}

// AddDevices adds from's devices. take selects the part of each series.
func (c *Container) AddDevices(from *Devices, take func(timeline.Steps) timeline.Steps) {
	if from == nil {
		return
	}
	d := c.devicesOf()
	for name, alternatives := range from.Requests {
		for rank, s := range alternatives {
			d.Requests.Add(name, rank, take(s))
		}
	}
	for device, alternatives := range from.Used {
		for rank, s := range alternatives {
			d.Used.Add(device, rank, take(s))
		}
		d.Names[device] = d.Names[device].Or(from.Names[device])
	}
	for device, s := range from.Claimed {
		d.Claimed[device] = timeline.Max(d.Claimed[device], take(s))
	}
}
