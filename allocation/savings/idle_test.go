package savings_test

import (
	"errors"
	"iter"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/savings"
)

const gib = 1 << 30

var begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// day is a day of November, or several.
func day(from, to int) allocation.Window {
	return allocation.Window{Start: begin.AddDate(0, 0, from), End: begin.AddDate(0, 0, to)}
}

// daily are sets of days, filled by fill.
func daily(days int, fill func(day int, s *allocation.Set)) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for i := range days {
			s := allocation.NewSet(day(i, i+1), allocation.NewDict())
			s.Covered = []allocation.Covered{{Cluster: "c", Start: s.Window.Start, End: s.Window.End}}
			fill(i, s)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// addVolume adds a volume that costs a unit an hour, and that nobody mounts for some of the hours of the day.
func addVolume(s *allocation.Set, name string, from, to time.Time, free float64) {
	hours := to.Sub(from).Hours()
	s.Disks = append(s.Disks, allocation.Disk{
		Cluster: "c", Name: name, StorageClass: "ssd", ClaimNamespace: "web", ClaimName: "claim-" + name, Start: from, End: to,
		ByteHours: gib * hours, Cost: hours, Adjustment: -hours / 4,
	})
	row := allocation.Row{Special: allocation.Unmounted, Start: from, End: to}
	row.Text[allocation.Cluster], row.Text[allocation.Namespace] = "c", "web"
	row.Volumes = []allocation.VolumeShare{{Key: s.Dict().Add(allocation.VolumeKey("c", name)), ByteHours: gib * free, Cost: free}}
	s.Append(&row)
}

// TestUnclaimedVolumes looks at ten days.
func TestUnclaimedVolumes(t *testing.T) {
	sets := daily(10, func(i int, s *allocation.Set) {
		w := s.Window
		addVolume(s, "always", w.Start, w.End, 24)
		addVolume(s, "mounted", w.Start, w.End, 0)
		addVolume(s, "nightly", w.Start, w.End, 23)
		if i < 9 {
			addVolume(s, "deleted", w.Start, w.End, 24)
		}
		free := 0.0
		if i >= 6 {
			free = 24
		}
		addVolume(s, "since four days", w.Start, w.End, free)
		if i >= 8 {
			addVolume(s, "young", w.Start, w.End, 24)
		}
		s.Disks = append(s.Disks, allocation.Disk{Cluster: "c", Name: "n1", Local: true, Start: w.Start, End: w.End, ByteHours: gib, Cost: 1})
	})
	for _, tc := range []struct {
		name string
		days float64
		want []string
	}{
		{"one day", 1, []string{"always", "since four days", "young"}},
		{"three days", 3, []string{"always", "since four days"}},
		{"four days", 4, []string{"always", "since four days"}},
		{"five days", 5, []string{"always"}},
		{"longer than the data", 20, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := savings.UnclaimedVolumes(sets, savings.Question{Window: day(0, 10), Days: tc.days})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, v := range list {
				names = append(names, v.Name)
			}
			if diff := cmp.Diff(tc.want, names, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(list) > 0 {
				want := savings.Volume{Cluster: "c", Name: "always", StorageClass: "ssd", ClaimNamespace: "web", ClaimName: "claim-always", Bytes: gib, Cost: savings.Monthly{List: 730, Billed: 547.5}}
				if diff := cmp.Diff(want, list[0], cmpopts.IgnoreUnexported(savings.Volume{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// use is how a container is used.
type use struct{ request, usage, unknown, gpu, gpuUsage, gpuUnknown, sent, received float64 }

// addPod adds a container that runs for part of a day. Amounts are cores, devices and bytes a second; unknown is a part of the day.
func addPod(s *allocation.Set, pod, container string, from, to time.Time, u use) {
	hours := to.Sub(from).Hours()
	row := allocation.Row{Start: from, End: to}
	row.Text = [allocation.Services]string{"c", "n1", "web", pod, "uid-" + pod, container, "deployment", "front", ""}
	v := &row.Values
	v[allocation.RunningSeconds] = hours * 3600
	v[allocation.NetworkTransferBytes], v[allocation.NetworkReceiveBytes] = u.sent*hours*3600, u.received*hours*3600
	for r, x := range map[allocation.Resource][3]float64{allocation.CPU: {u.request, u.usage, u.unknown}, allocation.GPU: {u.gpu, u.gpuUsage, u.gpuUnknown}} {
		v[allocation.Hours.Of(r)], v[allocation.RequestHours.Of(r)], v[allocation.UsageHours.Of(r)] = max(x[0], x[1])*hours, x[0]*hours, x[1]*hours
		v[allocation.UnknownSeconds.Of(r)], v[allocation.UnknownRequestHours.Of(r)] = x[2]*hours*3600, x[2]*x[0]*hours
		v[allocation.Cost.Of(r)] = max(x[0], x[1]) * hours
		v[allocation.Adjustment.Of(r)] = -v[allocation.Cost.Of(r)] / 4
	}
	s.Append(&row)
}

func podNames(list []savings.Pod) (names []string) {
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

// TestAbandonedWorkloads looks at ten days.
func TestAbandonedWorkloads(t *testing.T) {
	quiet := use{request: 1, usage: 0.005, sent: 100, received: 200}
	sets := daily(10, func(i int, s *allocation.Set) {
		w := s.Window
		all := func(pod string, u use) { addPod(s, pod, "main", w.Start, w.End, u) }
		all("abandoned", quiet)
		addPod(s, "abandoned", "sidecar", w.Start, w.End, use{request: 0.5, usage: 0})
		all("busy", use{request: 1, usage: 0.5, sent: 100})
		all("at the limit", use{request: 1, usage: 0.01, sent: 100})
		all("talks", use{request: 1, sent: 300, received: 200})
		all("usage unknown", use{request: 1, unknown: 1, sent: 100})
		all("usage unknown for a part", use{request: 1, unknown: 0.5, sent: 100})
		all("traffic unknown", use{request: 1})
		all("no request", use{usage: 0.001, sent: 100})
		u := quiet
		if i == 5 {
			u.usage = 0.5
		}
		all("busy on the sixth day", u)
		if i < 9 {
			all("ended", quiet)
		}
	})
	for _, tc := range []struct {
		name            string
		days            float64
		found, doubtful []string
	}{
		{"seven days", 7, []string{"abandoned"}, []string{"traffic unknown", "usage unknown", "usage unknown for a part"}},
		{"four days", 4, []string{"abandoned", "busy on the sixth day"}, []string{"traffic unknown", "usage unknown", "usage unknown for a part"}},
		{"eleven days", 11, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, doubtful, err := savings.AbandonedWorkloads(sets, savings.Question{Window: day(0, 10), Days: tc.days, Threshold: 500})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{tc.found, tc.doubtful}, [][]string{podNames(found), podNames(doubtful)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(found) == 0 {
				return
			}
			nan := math.NaN()
			want := savings.Pod{
				Cluster: "c", Namespace: "web", Name: "abandoned", Node: "n1", ControllerKind: "deployment", Controller: "front",
				Cost: savings.Monthly{List: 1.5 * 730, Billed: 1.5 * 730 * 3 / 4}, Sent: 100, Received: 200,
				Allocated: [allocation.NumResources]float64{1.5}, Requested: [allocation.NumResources]float64{1.5}, Used: [allocation.NumResources]float64{0.005},
			}
			if diff := cmp.Diff(want, found[0], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := doubtful[0]; !math.IsNaN(got.Sent) || !math.IsNaN(doubtful[1].Used[allocation.CPU]) {
				t.Errorf("unknown traffic is %v, want %v: %+v", got.Sent, nan, doubtful)
			}
		})
	}
}

// TestIdleGPUs looks at two days.
func TestIdleGPUs(t *testing.T) {
	sets := daily(2, func(_ int, s *allocation.Set) {
		for pod, u := range map[string]use{
			"idle": {request: 1, usage: 1, gpu: 2, gpuUsage: 0.001}, "busy": {gpu: 2, gpuUsage: 0.5}, "unknown": {gpu: 1, gpuUnknown: 1}, "none": {request: 1},
		} {
			addPod(s, pod, "main", s.Window.Start, s.Window.End, u)
		}
	})
	found, doubtful, err := savings.IdleGPUs(sets, savings.Question{Window: day(0, 2), Days: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"idle"}, {"unknown"}}, [][]string{podNames(found), podNames(doubtful)}); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got, want := found[0].Cost, (savings.Monthly{List: 1460, Billed: 1095}); math.Abs(got.List-want.List)+math.Abs(got.Billed-want.Billed) > 1e-9 || found[0].Used[allocation.GPU] != 0.001 {
		t.Errorf("got %+v, want %+v", found[0], want)
	}
	if !math.IsNaN(doubtful[0].Used[allocation.GPU]) {
		t.Errorf("unknown usage is %v", doubtful[0].Used)
	}
}

// TestFailingSets passes on errors, and refuses sets of which too little was read.
func TestFailingSets(t *testing.T) {
	failing := func(yield func(*allocation.Set, error) bool) { yield(nil, allocation.ErrNoData) }
	for name, look := range map[string]func(iter.Seq2[*allocation.Set, error]) error{
		"volumes": func(sets iter.Seq2[*allocation.Set, error]) error {
			_, err := savings.UnclaimedVolumes(sets, savings.Question{Days: 1})
			return err
		},
		"pods": func(sets iter.Seq2[*allocation.Set, error]) error {
			_, _, err := savings.AbandonedWorkloads(sets, savings.Question{Days: 1})
			return err
		},
	} {
		if err := look(failing); !errors.Is(err, allocation.ErrNoData) {
			t.Errorf("%s: %v, want %v", name, err, allocation.ErrNoData)
		}
	}
}
