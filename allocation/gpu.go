package allocation

import "slices"

// GPUDevice is what is known of the GPUs that a container has; "" is not known. Of several, what differs is a comma list in
// the order of their devices.
type GPUDevice struct {
	Device string // on its node, such as nvidia0
	Model  string
	UUID   string
	Shared bool // others use it, too, in turns
}

// Keys of the maps that GPUDevices are.
const (
	gpuDeviceKey = "device"
	gpuModelKey  = "model"
	gpuUUIDKey   = "uuid"
	gpuSharedKey = "shared"
	gpuShared    = "true"
)

// GPU is what is known of a row's GPUs; of merged rows, what all that have GPUs have in common.
func (s *Set) GPU(row int) GPUDevice {
	var g GPUDevice
	for _, p := range s.dict.Map(s.ids[GPUDevices][row]) {
		value := s.dict.Text(p.Value)
		switch s.dict.Text(p.Key) {
		case gpuDeviceKey:
			g.Device = value
		case gpuModelKey:
			g.Model = value
		case gpuUUIDKey:
			g.UUID = value
		case gpuSharedKey:
			g.Shared = value == gpuShared
		}
	}
	return g
}

// mergeGPUs is what the members of each group that have GPUs know of them in common.
func mergeGPUs(dict *Dict, parts []part, n int) (ids []ID, some []bool) {
	has := func(set *Set, row int) bool {
		return set.ids[GPUDevices][row] != 0 || row < len(set.lost.gpus) && set.lost.gpus[row]
	}
	for _, p := range parts {
		if slices.Contains(p.set.lost.gpus, true) || slices.ContainsFunc(p.set.ids[GPUDevices], func(id ID) bool { return id != 0 }) {
			return commonPairs(dict, parts, GPUDevices, n, has)
		}
	}
	return make([]ID, n), nil
}

// haveDifferentGPUs reports whether rows have GPUs of which different things are known: merging adds what they have in common to
// the dictionary.
func haveDifferentGPUs(sets []*Set) bool {
	var first ID
	for _, s := range sets {
		for _, id := range s.ids[GPUDevices] {
			if first == 0 {
				first = id
			}
			if id != 0 && id != first {
				return true
			}
		}
	}
	return false
}

// Map is g as GPUDevices has it, without what is not known.
func (g GPUDevice) Map() map[string]string {
	m := map[string]string{gpuDeviceKey: g.Device, gpuModelKey: g.Model, gpuUUIDKey: g.UUID}
	if g.Shared {
		m[gpuSharedKey] = gpuShared
	}
	for key, value := range m {
		if value == "" {
			delete(m, key)
		}
	}
	return m
}

// Or is g, completed by what o knows.
func (g GPUDevice) Or(o GPUDevice) GPUDevice {
	for _, x := range [...]struct {
		to   *string
		from string
	}{{&g.Device, o.Device}, {&g.Model, o.Model}, {&g.UUID, o.UUID}} {
		if *x.to == "" {
			*x.to = x.from
		}
	}
	return g
}
