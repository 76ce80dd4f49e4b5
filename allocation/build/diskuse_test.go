package build_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// diskUse is how full a disk is, in GiB-hours and GiB; -1 stands for unknown.
type diskUse struct{ used, most float64 }

func diskUses(s *allocation.Set, node string) (all []diskUse) {
	known := func(v float64) float64 {
		if math.IsNaN(v) {
			return -1
		}
		return v / gib
	}
	for _, d := range s.Disks {
		if d.Local && d.Name == node {
			all = append(all, diskUse{known(d.UsedByteHours), known(d.UsedMax)})
		}
	}
	return all
}

// TestUseOfLocalDisks checks how full the disks of nodes are, in one set of two hours and in its hours.
func TestUseOfLocalDisks(t *testing.T) {
	used := func(key string, points *timeline.Points) given {
		return given{signal: signals.NodeDiskUsed, key: key, points: points}
	}
	grows := sampled(clusterStart.Add(time.Minute), time.Minute, slices.Concat(repeat(2*gib, 60), repeat(4*gib, 60))...)
	unknown := diskUse{-1, -1}
	for _, tt := range []struct {
		name         string
		series       []given
		whole        diskUse
		first, later diskUse // of the hours
	}{
		{"nothing is told", nil, unknown, unknown, unknown},
		{"it fills up", []given{used("c/n/sda1", grows)}, diskUse{6, 4}, diskUse{2, 2}, diskUse{4, 4}},
		{"two targets tell of one file system", []given{used("c/n/sda1", grows), used("c/n/sda1", grows)}, diskUse{6, 4}, diskUse{2, 2}, diskUse{4, 4}},
		{"two file systems", []given{used("c/n/sda1", grows), used("c/n/sda2", minutes(3*gib, 1, 121))}, diskUse{12, 4}, diskUse{5, 3}, diskUse{7, 4}},
		{"it is told for an hour", []given{used("c/n/sda1", minutes(2*gib, 1, 61))}, diskUse{2, 2}, diskUse{2, 2}, unknown},
		{"it is told beyond the window", []given{used("c/n/sda1", minutes(gib, -60, 200))}, diskUse{2, 1}, diskUse{1, 1}, diskUse{1, 1}},
		{"its node is named by its address", []given{
			{signal: signals.NodeAddress, key: "c/n/10.0.0.1", points: minutes(1, 1, 121)}, used("c/10.0.0.1:10250/sda1", grows),
		}, diskUse{6, 4}, diskUse{2, 2}, diskUse{4, 4}},
		{"of an unknown node", []given{used("c/x/sda1", grows)}, unknown, unknown, unknown},
	} {
		for _, resolution := range []time.Duration{0, time.Minute} {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				series := append([]given{{signal: signals.NodeDisk, key: "c/n/sda1", points: minutes(10*gib, 1, 121)}}, tt.series...)
				var got []diskUse
				for _, step := range []time.Duration{0, time.Hour} {
					for _, s := range buildGiven(t, allocation.Query{Resolution: resolution, Step: step}, series) {
						got = append(got, diskUses(s, "n")...)
					}
				}
				want := []diskUse{tt.whole, tt.first, tt.later}
				if !slices.EqualFunc(got, want, func(a, b diskUse) bool { return math.Abs(a.used-b.used) < 1e-9 && math.Abs(a.most-b.most) < 1e-9 }) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// TestUseOfReplacedDisks checks that a node that is created again with the same name has another disk.
func TestUseOfReplacedDisks(t *testing.T) {
	for _, x := range replacedNodes {
		series := append(
			x.series(),
			given{signal: signals.NodeDisk, key: "c/m/sda1", points: minutes(10*gib, -5, 121)},
			given{signal: signals.NodeDiskUsed, key: "c/m/sda1", points: join(minutes(9*gib, -5, 52), minutes(gib, 53, 121))},
		)
		got := diskUses(buildGiven(t, allocation.Query{}, series)[0], "m")
		if len(got) != 2 || got[0].most != 9 || got[1].most != 1 || math.Abs(got[0].used-9*52/60.) > 0.2 || math.Abs(got[1].used-68/60.) > 0.05 {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestMemoryOfDisks checks that the use of disks takes memory for each set of each disk, but none for samples.
func TestMemoryOfDisks(t *testing.T) {
	const nodes, setUse = 1000, 24
	estimate := func(step time.Duration, samples int) (estimated, held int64) {
		q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(24 * time.Hour)}, Step: step}
		b, err := build.NewBuilder(t.Context(), q, 30*time.Second, flat{cpu: 1}, symbols, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := feed{t: t, b: b}
		day := sampled(clusterStart.Add(30*time.Second), 30*time.Second, repeat(1, 2880)...)
		var grows timeline.Points
		for i := range samples {
			grows.Append(clusterStart.Add(24*time.Hour/time.Duration(samples)*time.Duration(i+1)).UnixMilli(), float64(i))
		}
		for i := range nodes {
			f.add(signals.Series{Signal: signals.NodeInfo}, fmt.Sprintf("c/n%d/id-%d", i, i), day)
			f.add(signals.Series{Signal: signals.NodeDisk}, fmt.Sprintf("c/n%d/sda1", i), day)
		}
		estimated = b.Memory()
		if err := b.Resolve(); err != nil {
			t.Fatal(err)
		}
		before := heap()
		for i := range nodes {
			f.add(signals.Series{Signal: signals.NodeDiskUsed}, fmt.Sprintf("c/n%d/sda1", i), &grows)
		}
		held = heap() - before
		runtime.KeepAlive(b)
		return estimated, held
	}
	few, some := estimate(time.Hour, 288)
	one, _ := estimate(0, 288)
	many, all := estimate(time.Hour, 2880)
	if few-one < nodes*23*setUse || many != few {
		t.Errorf("%d bytes are estimated for a day, %d for its hours, %d where there are ten times as many samples", one, few, many)
	}
	t.Logf("%d disks: %d bytes are held after 288 samples each, %d after 2,880", nodes, some, all)
	if most := int64(nodes * (24*setUse + 512)); soak.On() && (some > most || all > most) {
		t.Errorf("%d bytes are held after 288 samples of each disk, %d after 2,880: want at most %d", some, all, most)
	}
}

// heap is the number of bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestUseIsWholeBytes checks that the highest use of a disk is the value of a sample.
func TestUseIsWholeBytes(t *testing.T) {
	for _, bytes := range []float64{22449086057, 3915202560, 7, 1e15 + 1} {
		series := []given{
			{signal: signals.NodeDisk, key: "c/n/sda1", points: minutes(1e15, 1, 121)},
			{signal: signals.NodeDiskUsed, key: "c/n/sda1", points: sampled(clusterStart.Add(time.Minute), 37*time.Second+3*time.Millisecond, 1, 2, 3, bytes-1, bytes)},
		}
		if got := buildGiven(t, allocation.Query{}, series)[0].Disks[0].UsedMax; got != bytes {
			t.Errorf("%v bytes, want %v", got, bytes)
		}
	}
}
