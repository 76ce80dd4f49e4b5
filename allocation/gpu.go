package allocation

// GPUDevice describes the GPUs of a container; "" is unknown. For several GPUs, values that differ are comma-separated in the
// order of the devices.
type GPUDevice struct {
	Device string // name on its node, such as nvidia0
	Model  string
	UUID   string
	Shared bool // other containers use it too, in turns
}

// The keys of GPUDevices maps.
const (
	gpuDeviceKey = "device"
	gpuModelKey  = "model"
	gpuUUIDKey   = "uuid"
	gpuSharedKey = "shared"
	gpuShared    = "true"
)

// GPU returns what is known of a row's GPUs; for merged rows, what all rows with GPUs have in common.
func (s *Set) GPU(row int) GPUDevice {
	var g GPUDevice
	for _, p := range s.table.Dict.Map(s.table.IDs[GPUDevices][row]) {
		value := s.table.Dict.Text(p.Value)
		switch s.table.Dict.Text(p.Key) {
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

// Map returns g as a GPUDevices map, without unknown values.
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

// Or returns g with unknown values taken from o.
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
