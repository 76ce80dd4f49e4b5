package build_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestBoundsOfRunningTime checks the shortest and the longest true running time that the data allow, in minutes, and the error
// bounds that follow. The window has two hours, scrapes are a minute apart, and so are the points of the grid. Another pod of the
// case runs all the time.
func TestBoundsOfRunningTime(t *testing.T) {
	unix := func(minute float64) float64 { return float64(clusterStart.Unix()) + minute*60 }
	running := func(from, to int) given {
		return given{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, from, to)}
	}
	started := func(minute float64, from, to int) given {
		return given{signal: signals.ContainerStarted, key: "c/ns/q/uid-q/main", points: minutes(unix(minute), from, to)}
	}
	ended := func(minute float64, from, to int) given {
		return given{signal: signals.PodCompleted, key: "c/ns/q/uid-q", points: minutes(unix(minute), from, to)}
	}
	gone := func(minute float64) given { // of the pod's info: shows nothing of its containers
		return given{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 31, int(minute))}
	}
	const second = 1. / 60
	type bounds struct{ Counted, Least, Most, Lower, Upper float64 }
	null := math.NaN()
	for _, tt := range []struct {
		name        string
		series      []given
		exact, grid bounds
	}{
		{
			name: "edges on the borders of the window add nothing", series: []given{running(-4, 126)},
			exact: bounds{120, 120, 120, 1, 1}, grid: bounds{120, 120, 120, 1, 1},
		},
		{
			name: "a reported start adds a second", series: []given{gone(126), running(61, 126), started(60.5, 61, 126)},
			exact: bounds{59.5, 59.5 - second, 59.5, 1, 1.001}, grid: bounds{60, 59.5 - second, 59.5, 1.008, 1.009},
		},
		{
			name: "an unreported start a scrape, on the grid a point more", series: []given{gone(126), running(61, 126)},
			exact: bounds{59.5, 59, 60, 0.991, 1.009}, grid: bounds{60, 59, 61, 0.983, 1.017},
		},
		{
			name: "an unreported end, too; on the grid two scrapes and a point, for what it sees may be as old", series: []given{gone(51), running(31, 51)},
			exact: bounds{20, 19, 21, 0.952, 1.053}, grid: bounds{20, 17, 22, 0.909, 1.177},
		},
		{
			name: "reported edges", series: []given{gone(51), running(31, 51), started(30.5, 31, 51), ended(50.25, 51, 60)},
			exact: bounds{19.75, 19.75 - second, 19.75 + second, 0.999, 1.001}, grid: bounds{20, 19.75 - second, 19.75 + second, 1.011, 1.014},
		},
		{
			name: "one sample could have been missed", series: []given{gone(32), running(31, 32)},
			exact: bounds{1, 0, 2, -1, null}, grid: bounds{1, 0, 3, -1, null},
		},
		{
			name: "what is shorter than the resolution could have been missed", series: []given{gone(32), running(31, 32), started(30.5, 31, 32), ended(31.25, 32, 40)},
			exact: bounds{0.75, 0.75 - second, 0.75 + second, 0.978, 1.023}, grid: bounds{1, 0.75 - second, 0.75 + second, -1, 1.364},
		},
	} {
		for name, resolution := range map[string]time.Duration{"grid": time.Minute, "exact": 0} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				want := tt.grid
				if resolution == 0 {
					want = tt.exact
				}
				set := buildGiven(t, allocation.Query{Resolution: resolution, After: 5 * time.Minute}, tt.series)[0]
				for row := range set.Len() {
					if set.Text(allocation.Pod, row) != "q" {
						continue
					}
					minutes := func(c allocation.Column) float64 { return set.Value(c, row) / 60 }
					got := bounds{Counted: minutes(allocation.RunningSeconds), Least: minutes(allocation.LeastSeconds), Most: minutes(allocation.MostSeconds)}
					got.Lower, got.Upper, _ = fields.ErrorBounds(set, row)
					if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-4), cmpopts.EquateNaNs()); d != "" {
						t.Error(d)
					}
				}
			})
		}
	}
}

// TestBoundsOfOneContainer checks that the bounds of a container that may have started before its window do not exceed the window.
func TestBoundsOfOneContainer(t *testing.T) {
	late := &timeline.Points{} // scraped every minute, 40 seconds after the full one
	for at := range 126 {
		late.Append(clusterStart.Add(time.Duration(at)*time.Minute+40*time.Second).UnixMilli(), 1)
	}
	set := buildGiven(t, allocation.Query{After: 5 * time.Minute}, []given{{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: late}})[0]
	for row := range set.Len() {
		if set.Text(allocation.Pod, row) != "q" {
			continue
		}
		lower, upper, ok := fields.ErrorBounds(set, row)
		if counted := set.Value(allocation.RunningSeconds, row); !ok || lower != math.Floor(counted/7200*1000)/1000 || upper < 1 {
			t.Errorf("%.0f s are counted, bounds are %v and %v", counted, lower, upper)
		}
		if most := set.Value(allocation.MostSeconds, row); most <= 7200 {
			t.Errorf("%.0f s are possible, want more than the window has: sets add up", most)
		}
	}
}

// TestBoundsAtOutages checks that an edge in an outage adds the whole outage, and that a bridged outage adds nothing if the same start
// is reported on both sides.
func TestBoundsAtOutages(t *testing.T) {
	unix := float64(clusterStart.Add(-time.Hour).Unix())
	seen := func(key string, parts ...[2]int) given {
		x := given{signal: signals.ContainerRunning, key: key}
		for _, p := range parts {
			if x.points == nil {
				x.points = minutes(1, p[0], p[1])
			} else {
				x.points = join(x.points, minutes(1, p[0], p[1]))
			}
		}
		return x
	}
	inputs := caseSignals()
	delete(inputs, "running")
	delete(inputs, "started")
	for name, v := range map[string]float64{"node": 1, "pod": 1, "capacity": 4} {
		inputs[name] = join(minutes(v, -4, 31), minutes(v, 61, 126))
	}
	set := buildCase(t, true, nil, inputs, nil, []given{
		seen("c/ns/p/uid/main/", [2]int{-4, 31}, [2]int{61, 126}), // all of the kind is absent for half an hour
		seen("c/ns/same/u1/main/", [2]int{-4, 31}, [2]int{61, 126}),
		{signal: signals.ContainerStarted, key: "c/ns/same/u1/main", points: join(minutes(unix, -4, 31), minutes(unix, 61, 126))},
		seen("c/ns/ended/u2/main/", [2]int{-4, 31}),
		seen("c/ns/began/u3/main/", [2]int{61, 126}),
	}...)
	type bounds struct{ Counted, Least, Most float64 }
	want := map[string]bounds{
		"p":     {120, 89, 120},  // it may have ended and started again
		"same":  {120, 120, 120}, // it has not
		"ended": {45.5, 30, 61},  // halfway, or at any time of it
		"began": {59.5, 59, 90},  // half a scrape before, or at any time of it
	}
	got := map[string]bounds{}
	for row := range set.Len() {
		minutes := func(c allocation.Column) float64 { return set.Value(c, row) / 60 }
		got[set.Text(allocation.Pod, row)] = bounds{minutes(allocation.RunningSeconds), minutes(allocation.LeastSeconds), minutes(allocation.MostSeconds)}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); d != "" {
		t.Error(d)
	}
}

// TestBoundsAtShortOutages checks that an edge adds the whole outage even if the outage has no staleness marker and is shorter than a
// sample is held.
func TestBoundsAtShortOutages(t *testing.T) {
	restarted := func(v float64) *timeline.Points { // there are no samples at the minutes 31 to 33
		return sampled(clusterStart.Add(-4*time.Minute), time.Minute, slices.Concat(repeat(v, 35), repeat(math.NaN(), 3), repeat(v, 92))...)
	}
	inputs := caseSignals()
	for name, v := range map[string]float64{"node": 1, "pod": 1, "capacity": 4, "running": 1, "started": float64(clusterStart.Add(-time.Hour).Unix())} {
		inputs[name] = restarted(v)
	}
	ended := &timeline.Points{}
	for at := -4; at < 31; at++ {
		ended.Append(clusterStart.Add(time.Duration(at)*time.Minute).UnixMilli(), 1)
	}
	set := buildCase(t, true, nil, inputs, nil,
		given{signal: signals.ContainerRunning, key: "c/ns/ended/u2/main/", points: ended},
		given{signal: signals.ContainerRunning, key: "c/ns/began/u3/main/", points: minutes(1, 34, 126)})
	for pod, want := range map[string][3]float64{
		"ended": {32, 30, 34},   // halfway, or at any time of it
		"began": {86.5, 86, 90}, // half a scrape before, or at any time of it
	} {
		for row := range set.Len() {
			if set.Text(allocation.Pod, row) != pod {
				continue
			}
			var got [3]float64
			for i, c := range []allocation.Column{allocation.RunningSeconds, allocation.LeastSeconds, allocation.MostSeconds} {
				got[i] = set.Value(c, row) / 60
			}
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); d != "" {
				t.Errorf("%s (-want +got): %s", pod, d)
			}
		}
	}
}

// TestGridBoundsAtOutages checks bounds on a grid, with Prometheus down from minute 31 to 60. A container that ran on is bridged, and an
// edge adds the whole outage, although another container's staleness marker comes after it.
func TestGridBoundsAtOutages(t *testing.T) {
	seen := func(pod string, parts ...*timeline.Points) given {
		return given{signal: signals.ContainerRunning, key: "c/ns/" + pod + "/u-" + pod + "/main/", points: join(parts...)}
	}
	unmarked := func(v float64, from, to int) *timeline.Points { // as minutes, but nothing tells that they end
		out := &timeline.Points{}
		for at := from; at < to; at++ {
			out.Append(clusterStart.Add(time.Duration(at)*time.Minute).UnixMilli(), v)
		}
		return out
	}
	inputs := caseSignals()
	delete(inputs, "running")
	delete(inputs, "started")
	for name, v := range map[string]float64{"node": 1, "pod": 1, "capacity": 4} {
		inputs[name] = join(unmarked(v, -4, 31), unmarked(v, 61, 126))
	}
	late := unmarked(0, -4, 31)
	late.Append(clusterStart.Add(61*time.Minute).UnixMilli(), stale)
	set := buildCase(t, false, nil, inputs, nil,
		seen("ran", unmarked(1, -4, 31), unmarked(1, 61, 126)),
		seen("over", late),
		seen("ended", unmarked(1, -4, 31)),
		seen("began", unmarked(1, 61, 126)),
	)
	type bounds struct{ Counted, Least, Most float64 }
	want := map[string]bounds{
		"ran":   {120, 89, 120}, // it may have ended and started again; that it ran on after the window is not known
		"ended": {31, 29, 61},   // what is seen last may be two scrapes old
		"began": {60, 57, 92},   // so may what is seen last before the outage, of targets that are a scrape apart
	}
	got := map[string]bounds{}
	for row := range set.Len() {
		minutes := func(c allocation.Column) float64 { return set.Value(c, row) / 60 }
		got[set.Text(allocation.Pod, row)] = bounds{minutes(allocation.RunningSeconds), minutes(allocation.LeastSeconds), minutes(allocation.MostSeconds)}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); d != "" {
		t.Error(d)
	}
}

// TestBoundsOfSets checks that the sums of the least and the most running time over sets are bounds, also beyond the sets that count a run.
func TestBoundsOfSets(t *testing.T) {
	list := []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, 41, 60)},
		{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, 41, 60)}, // ends between 59 and 60: counted until 59.5
		{signal: signals.PodInfo, key: "c/ns/r/uid-r/n/ip3/Job/j", points: minutes(1, 61, 80)},
		{signal: signals.ContainerRunning, key: "c/ns/r/uid-r/main/", points: minutes(1, 61, 80)}, // begins between 60 and 61
	}
	for name, resolution := range map[string]time.Duration{"grid": 5 * time.Minute, "exact": 0} {
		t.Run(name, func(t *testing.T) {
			sums := func(step time.Duration) map[string][2]float64 {
				out := map[string][2]float64{}
				for _, s := range buildGiven(t, allocation.Query{Resolution: resolution, Step: step}, list) {
					for row := range s.Len() {
						x := out[s.Text(allocation.Pod, row)]
						out[s.Text(allocation.Pod, row)] = [2]float64{x[0] + s.Value(allocation.LeastSeconds, row), x[1] + s.Value(allocation.MostSeconds, row)}
					}
				}
				return out
			}
			if d := cmp.Diff(sums(0), sums(time.Hour), cmpopts.EquateApprox(0, 1e-6)); d != "" {
				t.Errorf("whole and by hours: %s", d)
			}
		})
	}
}
