package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
)

// tolerance is how far figures may be from the truth: exact where every sample is used. On the grid it is what the
// documented bounds of a row's running time allow, or grid where that is not 0, or lag of that time.
type tolerance struct {
	prefixes    string // of the figures, by spaces
	exact, grid float64
	lag         time.Duration
}

// tolerances are what the demo's scrapes, every 30s, allow at best. The first whose prefix fits a figure holds.
var tolerances = []tolerance{
	// Levels of use change unseen between two scrapes (points of the grid), and are held while a kubelet is down; of runs
	// of an hour that is 30s (90s). Nothing is charged by them but what exceeds a request.
	{prefixes: "cpuCoreUsage ramByteUsage gpuUsage", exact: 0.01, grid: 0.03},
	// Starts and ends of what has GPUs are reported to the second, but for milliseconds of theirs.
	{prefixes: "gpu", exact: 1e-5},
	// Claims and their pods are seen every 30s, of lives of an hour and more.
	{prefixes: "pv", exact: 0.0005},
	// A load balancer is seen up to 30s late, of five hours in the least, and pods that are being deleted may be for longer
	// than they run: others bear less.
	{prefixes: "loadBalancerCost lbAllocations/", exact: 0.002},
	// What an initialization container of a few seconds that nobody saw run had moved is its pod's others'. At the last
	// point of the grid, up to 60s before the end, a counter is as old as a scrape.
	{prefixes: "network", exact: 0.004, lag: 90 * time.Second},
	// Runs end with a sample where nobody says when: up to 30s of an hour, less with its end known.
	{exact: 0.005},
}

// assetTolerances are those of assets: they live for hours, and begin and end at most 30s from when they are seen to.
var assetTolerances = []tolerance{
	// A kubelet tells of a volume while a pod mounts it, of the shortest for an hour: 30s at each end are not seen.
	{prefixes: "byteHoursUsed breakdown/", exact: 0.01, grid: 0.01},
	// Counters at the ends of the window are read up to a scrape before them.
	{prefixes: "cpuBreakdown/ ramBreakdown/", exact: 0.0005, grid: 0.002},
	// Capacities and the like do not change; prices do, 30s late at most, which the overhead's cost weighs parts by.
	{prefixes: "overhead/OverheadCost", exact: 1e-5, grid: 1e-4},
	{prefixes: "overhead/ preemptible discount", exact: 1e-9, grid: 1e-9},
	{exact: 0.0003},
}

// check checks one figure.
func check(all []tolerance, figure string, got, want float64, life time.Duration, slack float64, exact bool) error {
	if math.Abs(got-want) <= slack+1e-15 {
		return nil
	}
	if want == 0 {
		return fmt.Errorf("got %g, want none", got)
	}
	fits := func(t tolerance) bool {
		return slices.ContainsFunc(strings.Split(t.prefixes, " "), func(p string) bool { return strings.HasPrefix(figure, p) })
	}
	t := all[slices.IndexFunc(all, fits)]
	ratio := got / want
	allowed := t.exact
	if !exact {
		allowed = cmp.Or(t.grid, t.lag.Hours()/life.Hours())
	}
	if allowed > 0 {
		if math.Abs(ratio-1) > allowed {
			return fmt.Errorf("got %g, want %g: off by %.4f %%, %g %% are allowed", got, want, (ratio-1)*100, allowed*100)
		}
		return nil
	}
	lower, upper := timeline.Bounds(life, time.Minute)
	if r := math.Floor(ratio*100+0.5) / 100; r < lower || r > upper {
		return fmt.Errorf("got %g, want %g: %.4f is outside of %v and %v", got, want, ratio, lower, upper)
	}
	return nil
}

// compareRow compares all that is true of a row with the answer's.
func compareRow(t *testing.T, name string, got, want *row, all []tolerance, exact bool) {
	t.Helper()
	for _, figure := range slices.Sorted(maps.Keys(want.figures)) {
		if err := check(all, figure, got.figures[figure], want.figures[figure], want.life, want.slack[figure], exact); err != nil {
			t.Errorf("%s: %s: %v", name, figure, err)
		}
	}
	for key, text := range want.texts {
		of := key[:strings.LastIndexByte(key, '/')+1]
		if _, there := got.figures[of+"cost"]; got.texts[key] != text && (there || !strings.HasPrefix(key, "pvs/")) {
			t.Errorf("%s: %s: got %q, want %q", name, key, got.texts[key], text)
		}
	}
	for figure, v := range got.figures {
		_, known := want.figures[figure]
		switch {
		case v == 0 || known:
		case strings.HasPrefix(figure, "pvs/"), strings.HasPrefix(figure, "lbAllocations/"), strings.HasPrefix(figure, "shared"),
			strings.HasSuffix(figure, "djustment"), strings.HasSuffix(figure, "CostIdle"), figure == "externalCost":
			t.Errorf("%s: %s: got %g, want none", name, figure, v)
		}
	}
}

// compareAllocations checks every container that ran for an hour or more and all rows of special names, that every job of
// five minutes is there, and that the sums are right.
func compareAllocations(t *testing.T, got, want rows, exact bool) {
	t.Helper()
	compared, jobs := 0, 0
	for name, w := range want {
		g, ok := got[name]
		switch {
		case ok && w.life >= time.Hour:
			compared++
			compareRow(t, name, g, w, tolerances, exact)
		case w.life >= time.Hour:
			t.Errorf("%s is missing: it lived for %s", name, w.life)
		case strings.Contains(name, "-5m-") && w.life >= 5*time.Minute:
			if jobs++; !ok {
				t.Errorf("%s is missing: it ran for %s", name, w.life)
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is not in the truth", name)
		}
	}
	if compared < 100 || jobs < 10 {
		t.Errorf("only %d containers of an hour and %d jobs of 5m compared: of %d rows", compared, jobs, len(want))
	}
	allowed := 0.005
	if exact {
		allowed = 0.001
	}
	for _, figure := range sums {
		if g, w := got.sum(figure), want.sum(figure); math.Abs(g/w-1) > allowed {
			t.Errorf("%s of all rows: got %g, want %g: off by %.4f %%", figure, g, w, (g/w-1)*100)
		}
	}
}

// sums are the figures that are compared over all rows, short ones among them, to 0.1 % where every sample is used: what
// one row has too much another has too little. On the grid they are to 0.5 %: nobody sees what ran between two points of it.
var sums = []string{
	"cpuCost", "ramCost", "gpuCost", "pvCost", "pvByteHours", "networkCost", "networkCrossZoneCost", "networkCrossRegionCost",
	"networkInternetCost", "networkTransferBytes", "networkReceiveBytes", "loadBalancerCost", "totalCost",
}

// compareAssets checks every asset.
func compareAssets(t *testing.T, got, want rows, exact bool) {
	t.Helper()
	kinds := map[string]int{}
	for name, w := range want {
		kind, _, _ := strings.Cut(name, "/")
		kinds[kind]++
		if got[name] == nil {
			t.Errorf("asset %s is missing", name)
			continue
		}
		compareRow(t, name, got[name], w, assetTolerances, exact)
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("asset %s is not in the truth", name)
		}
	}
	if len(kinds) != 6 {
		t.Errorf("only %v compared", kinds)
	}
}

// conserved are the costs of allocations, and the types of the assets that they add up to; of assets, those of the figure.
var conserved = []struct{ cost, types, figure string }{
	{"cpuCost", "Node", "cpuCost"},
	{"ramCost", "Node", "ramCost"},
	{"gpuCost", "Node", "gpuCost"},
	{"pvCost", "Disk", "totalCost"},
	{"loadBalancerCost", "LoadBalancer", "totalCost"},
	{"networkCost", "Network", "totalCost"},
	{"totalCost", "Node Disk LoadBalancer Network", "totalCost"},
}

// checkConserved checks that allocations, idle and what nobody takes add up to the assets.
func checkConserved(t *testing.T, allocations, assets rows) {
	t.Helper()
	for _, c := range conserved {
		got, want := allocations.sum(c.cost), 0.0
		for name, x := range assets {
			if kind, _, _ := strings.Cut(name, "/"); slices.Contains(strings.Split(c.types, " "), kind) {
				want += x.figures[c.figure]
			}
		}
		if math.Abs(got-want) > 1e-9*want || want <= 0 {
			t.Errorf("%s: allocations, idle and what nobody takes cost %v, the assets %v", c.cost, got, want)
		}
	}
}

// compareAnswers checks that two ways of reading the same samples give the same.
func compareAnswers(t *testing.T, got, want rows) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if g == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		for figure, v := range w.figures {
			if math.Abs(g.figures[figure]-v) > 1e-9*math.Abs(v)+1e-12 {
				t.Errorf("%s: %s: got %v, want %v", name, figure, g.figures[figure], v)
			}
		}
		if !maps.Equal(g.texts, w.texts) {
			t.Errorf("%s: got %v, want %v", name, g.texts, w.texts)
		}
	}
}
