package build_test

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestDevices checks the hours and the cost of devices on a node where a device costs 1 an hour.
func TestDevices(t *testing.T) {
	labels := given{signal: signals.NodeLabels, key: "c/n/nvidia_com_gpu_replicas/4/nvidia_com_gpu_product/A100-SHARED", points: minutes(1, 1, 121)}
	use := func(device, slice, profile string, v float64, rank int) given {
		return given{signal: signals.DeviceUse, key: "c/ns/p//main/" + device + "/" + slice + "/" + profile + "/GPU-" + device + "/nvidia-" + device + "/A100//", points: minutes(v, 1, 121), rank: rank}
	}
	percent := use("a", "", "", 80, 1)
	percent.scale = 0.01
	for _, tt := range []struct {
		name           string
		resource       string
		capacity, asks float64
		series         []given
		node           float64 // device-hours
		request, used  float64
		hours          float64
		gpu            allocation.GPUDevice
	}{
		{"whole", "nvidia_com_gpu", 2, 1, []given{use("a", "", "", 0.5, 0)}, 4, 2, 1, 2, allocation.GPUDevice{Device: "nvidia-a", Model: "A100", UUID: "GPU-a"}},
		{"two devices add up, exporters of one do not", "nvidia_com_gpu", 2, 2, []given{use("a", "", "", 0.5, 0), use("a", "", "", 0.5, 0), use("b", "", "", 1, 0)}, 4, 4, 3, 4, allocation.GPUDevice{Device: "nvidia-a,nvidia-b", Model: "A100", UUID: "GPU-a,GPU-b"}},
		{"percent where there is no ratio", "nvidia_com_gpu", 1, 1, []given{percent}, 2, 2, 1.6, 2, allocation.GPUDevice{Device: "nvidia-a", Model: "A100", UUID: "GPU-a"}},
		{"a ratio is better", "nvidia_com_gpu", 1, 1, []given{percent, use("a", "", "", 0.5, 0)}, 2, 2, 1, 2, allocation.GPUDevice{Device: "nvidia-a", Model: "A100", UUID: "GPU-a"}},
		{"used and not requested", "nvidia_com_gpu", 1, 0, []given{use("a", "", "", 0.5, 0)}, 2, 0, 1, 1, allocation.GPUDevice{Device: "nvidia-a", Model: "A100", UUID: "GPU-a"}},
		{"MIG", "nvidia_com_mig_1g_5gb", 7, 2, []given{use("a", "7", "1g.5gb", 0.5, 0), use("a", "8", "1g.5gb", 0.5, 0)}, 2, 4. / 7, 2. / 7, 4. / 7, allocation.GPUDevice{Device: "nvidia-a", Model: "A100", UUID: "GPU-a"}},
		{"MIG of an A30", "nvidia_com_mig_2g_12gb", 2, 1, nil, 2, 1, 0, 1, allocation.GPUDevice{}},
		{"shared by name", "nvidia_com_gpu_shared", 4, 1, []given{labels}, 2, 0.5, 0, 0.5, allocation.GPUDevice{Model: "A100-SHARED", Shared: true}},
		{"shared under the name of whole ones", "nvidia_com_gpu", 4, 1, []given{labels}, 2, 0.5, 0, 0.5, allocation.GPUDevice{Model: "A100-SHARED", Shared: true}},
		{"the exporter's own", "nvidia_com_gpu", 1, 1, []given{{signal: signals.DeviceUse, key: "c/ns/p//nvidia-dcgm-exporter/a///////", points: minutes(1, 1, 121)}}, 2, 2, 0, 2, allocation.GPUDevice{}},
	} {
		for _, resolution := range []time.Duration{time.Minute, 0} {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				series := concat(tt.series, []given{
					{signal: signals.DeviceCapacity, key: "c/n/" + tt.resource, points: minutes(tt.capacity, 1, 121)},
					{signal: signals.DeviceRequest, key: "c/ns/p/uid/main/" + tt.resource, points: minutes(tt.asks, 1, 121)},
				})
				s := buildGiven(t, allocation.Query{Resolution: resolution}, series)[0]
				if got := s.GPU(0); got != tt.gpu {
					t.Errorf("got %+v, want %+v", got, tt.gpu)
				}
				slack := 1e-9
				if resolution == 0 {
					slack = 0.035
				}
				for what, pair := range map[string][2]float64{
					"node":    {s.Nodes[0].Hours[allocation.GPU], tt.node},
					"request": {s.Value(allocation.RequestHours.Of(allocation.GPU), 0), tt.request},
					"usage":   {s.Value(allocation.UsageHours.Of(allocation.GPU), 0), tt.used},
					"hours":   {s.Value(allocation.Hours.Of(allocation.GPU), 0), tt.hours},
				} {
					if math.Abs(pair[0]-pair[1]) > slack*max(1, pair[1]) {
						t.Errorf("%s: %v device-hours, want %v", what, pair[0], pair[1])
					}
				}
			})
		}
	}
}

// TestChargeFrom checks from when on requests are charged: pod q is scheduled at minute 30 and starts at 60, r never starts and
// z waits to be restarted. Nothing is known of node m until minute 60: u was scheduled long before and ran when that begins, v
// starts at 90.
func TestChargeFrom(t *testing.T) {
	at := func(minute int) float64 { return float64(clusterStart.Add(time.Duration(minute) * time.Minute).Unix()) }
	pod := func(name string, scheduled int, running *timeline.Points) []given {
		id := "c/ns/" + name + "/uid-" + name
		return []given{
			{signal: signals.PodInfo, key: id + "/n/ip/Job/j", points: minutes(1, max(1, scheduled), 121)},
			{signal: signals.PodScheduled, key: id, points: minutes(at(scheduled), max(1, scheduled), 121)},
			{signal: signals.ContainerRequest, key: id + "/main", points: minutes(0.5, max(1, scheduled), 121)},
			{signal: signals.ContainerRunning, key: id + "/main/", points: running},
		}
	}
	onM := func(name string, info, running int) []given {
		id := "c/ns/" + name + "/uid-" + name
		return []given{
			{signal: signals.PodInfo, key: id + "/m/ip/Job/j", points: minutes(1, info, 121)},
			{signal: signals.PodScheduled, key: id, points: minutes(at(-600), info, 121)},
			{signal: signals.ContainerRequest, key: id + "/main", points: minutes(0.5, info, 121)},
			{signal: signals.ContainerRunning, key: id + "/main/", points: minutes(1, running, 121)},
		}
	}
	series := concat(
		onM("u", 61, 61), onM("v", 61, 91), []given{
			{signal: signals.NodeInfo, key: "c/m/id-m", points: minutes(1, 61, 121)},
			{signal: signals.NodeCapacity, key: "c/m", points: minutes(4, 61, 121)},
			{signal: signals.NodePrice, key: "c/m/t/r/a/id-m", points: minutes(1, 61, 121)},
		},
		pod("q", 30, join(minutes(0, 31, 60), minutes(1, 61, 121))),
		pod("r", 90, minutes(0, 91, 121)), []given{{signal: signals.PodPending, key: "c/ns/r/uid-r", points: minutes(1, 91, 121)}},
		pod("z", -600, join(minutes(0, 1, 60), minutes(1, 61, 121))),
		[]given{{signal: signals.ContainerTerminated, key: "c/ns/z/uid-z/main", points: minutes(at(-20), 1, 121)}},
	)
	for _, tt := range []struct {
		name string
		from allocation.ChargeFrom
		want map[string]float64 // minutes
	}{
		{"running", allocation.FromRunning, map[string]float64{"p": 120, "q": 60, "z": 60, "u": 60, "v": 30}},
		{"scheduled", allocation.FromScheduled, map[string]float64{"p": 120, "q": 90, "r": 30, "z": 60, "u": 60, "v": 60}},
	} {
		for _, resolution := range []time.Duration{time.Minute, 0} {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				s := buildGiven(t, allocation.Query{Resolution: resolution, ChargeFrom: tt.from}, series)[0]
				got := map[string]float64{}
				for row := range s.Len() {
					name := s.Text(allocation.Pod, row)
					got[name] = math.Round(s.Value(allocation.RunningSeconds, row) / 60)
					if fields.UsageKnown(s, allocation.CPU, row) {
						t.Errorf("%s: usage is known, though nobody measures it", name)
					}
					if name != "p" && math.Abs(s.Value(allocation.Cost.Of(allocation.CPU), row)-got[name]/120) > 0.01 {
						t.Errorf("%s ran %v minutes and cost %v", name, got[name], s.Value(allocation.Cost.Of(allocation.CPU), row))
					}
				}
				if resolution == 0 {
					for name, v := range tt.want {
						if math.Abs(got[name]-v) <= 1 {
							got[name] = v
						}
					}
				}
				if !maps.Equal(got, tt.want) {
					t.Errorf("minutes %v, want %v", got, tt.want)
				}
			})
		}
	}
}

// TestSidecars checks that a native sidecar is charged like a container, even if only its info metric says that it runs.
func TestSidecars(t *testing.T) {
	id := "c/ns/p/uid/proxy"
	request := given{signal: signals.ContainerRequest, key: id, points: minutes(0.5, 1, 121)}
	for _, tt := range []struct {
		name   string
		series []given
	}{
		{"status", []given{request, {signal: signals.ContainerRunning, key: id + "/", points: minutes(1, 1, 121)}}},
		{"info", []given{
			request,
			{signal: signals.ContainerRunning, key: id + "/", points: minutes(1, 1, 121), rank: 2},
			{signal: signals.PodPhaseRunning, key: "c/ns/p/uid", points: minutes(1, 1, 121)},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := buildGiven(t, allocation.Query{Resolution: time.Minute}, concat(tt.series, disk("v", "data", 1, 121), mounts("p", "uid", "data")))[0]
			compareRows(t, []*allocation.Set{s}, map[string]float64{"p/main": 2, "p/proxy": 1}, 1e-9, allocation.Cost.Of(allocation.CPU))
			compareRows(t, []*allocation.Set{s}, map[string]float64{"p/main": 1, "p/proxy": 1}, 1e-9, allocation.PVCost)
		})
	}
}

// TestAssetsOfNobody builds assets of clusters without nodes and pods.
func TestAssetsOfNobody(t *testing.T) {
	series := []given{
		{signal: signals.VolumeCapacity, key: "d/v", points: minutes(gib, 1, 121)},
		{signal: signals.Balancer, key: "d/ns/web", points: minutes(1, 1, 121)},
		{signal: signals.BalancerPrice, key: "e/ns/web/1.2.3.4", points: minutes(1, 1, 121)},
		{signal: signals.ManagementPrice, key: "d/", points: minutes(1, 1, 121)},
		{signal: signals.NodeDisk, key: "d/gone/", points: minutes(1, 1, 121)},
		{signal: signals.PodEgress, key: "d/ns/p//true/false/false//i", points: counted(gib, 1, 121)},
		{signal: signals.VolumeClaim, key: "d/ns/none/", points: minutes(1, 1, 121)},
		{signal: signals.PodMount, key: "d/ns/p///", points: minutes(1, 1, 121)},
		{signal: signals.ClaimUsed, key: "d/ns/lost", points: minutes(1, 1, 121)},
		{signal: signals.NodeTime, key: "d/gone/idle", points: minutes(1, 1, 121)},
	}
	s := buildGiven(t, allocation.Query{Resolution: time.Minute}, series)[0]
	var names []string
	for row := range s.Len() {
		names = append(names, s.Name(row))
	}
	slices.SortFunc(names, cmp.Compare[string])
	want := []string{"c/n/ns/p/main", "d//__unmounted__/__unmounted__/__unmounted__", "d//ns/__unallocated__/__unallocated__", "e//ns/__unallocated__/__unallocated__"}
	if !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	if len(s.Management) != 1 || s.Management[0].Cost != 2 {
		t.Errorf("management %+v", s.Management)
	}
}
