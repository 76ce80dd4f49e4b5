package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/timeline"
)

// scrape and cell are the distances of the demo's scrapes and of the points of a grid of 1m. In exact mode an end is seen up to a
// scrape late or early. On the grid it is up to a cell, and the last sample may be a scrape old.
const (
	scrape = 30 * time.Second
	cell   = time.Minute
)

// tolerance is how far figures may be from the truth: by a part of them and by lag, over the time that their row lived. Where
// bounded is set, the documented bounds of such a running time are allowed beside, on the grid.
type tolerance struct {
	prefixes      string // of the figures, by spaces
	exact, grid   float64
	exactLag, lag time.Duration
	bounded       bool
	level         bool          // it changes unseen while Prometheus does not run
	shortest      time.Duration // what the figure is about may be there for only so long of that life; 0 is all of it
}

// tolerances are the least errors that the demo's scrapes allow. The first one whose prefix fits a figure counts.
var tolerances = []tolerance{
	// Levels of use change unseen between two scrapes (points of the grid), and are held while a kubelet is down; of runs
	// of an hour that is 30s (90s). Nothing is charged by them but what exceeds a request.
	{prefixes: "cpuCoreUsage ramByteUsage", exact: 0.01, grid: 0.03, level: true},
	// The usage of GPUs is a gauge. In the demo's outages it is the value from before them (SEMANTICS §3), while that of CPU is
	// the increase of a counter. For the shortest runs that adds half a percent to the error of other gauges. Levels are 5 to 95
	// percent: where the mean is low, a change that is seen late weighs twice as much.
	{prefixes: "gpuUsage", exact: 0.02, grid: 0.04, level: true},
	// The starts and ends of containers with GPUs are exported to the second; they differ by milliseconds.
	{prefixes: "gpu", exact: 1e-5, bounded: true},
	// Claims and their pods are seen every 30s.
	{prefixes: "pv", exactLag: scrape, lag: cell, bounded: true},
	// A load balancer, which is there for five hours in the least, is charged half a scrape more or less at each end, and pods
	// that are being deleted may be for longer than they run: others bear less.
	{prefixes: "loadBalancerCost lbAllocations/", exactLag: 2 * scrape, lag: cell + scrape, bounded: true, shortest: 5 * time.Hour},
	// What an initialization container of a few seconds that nobody saw run had moved is its pod's others'. At the last
	// point of the grid, up to 60s before the end, a counter is as old as a scrape.
	{prefixes: "network", exact: 0.004, lag: cell + scrape},
	// The documented bounds are of running time and of requests.
	{prefixes: "minutes cpuCoreRequest ramByteRequest", exact: 0.005, bounded: true},
	// Runs end with a sample where nobody says when: up to 30s of an hour, less with its end known. Bursts above the request
	// that are narrower than a cell are averaged down, and counters are as old as a scrape.
	{exact: 0.005, lag: cell + scrape, bounded: true},
}

// assetTolerances are those of assets: each end of theirs is half a scrape off at most, or a cell.
var assetTolerances = []tolerance{
	// A kubelet tells of a volume while a pod mounts it, of the shortest for an hour.
	{prefixes: "byteHoursUsed breakdown/", exactLag: scrape, lag: 2 * cell, shortest: time.Hour, level: true},
	// Counters at the ends of the window are read up to a scrape before them, and levels change between two points.
	{prefixes: "cpuBreakdown/ ramBreakdown/", exactLag: scrape, lag: 2 * (cell + scrape), level: true},
	// Capacities and the like do not change; prices do, 30s late at most, which the overhead's cost weighs parts by.
	{prefixes: "overhead/OverheadCost", exact: 1e-5, grid: 1e-4},
	{prefixes: "overhead/ preemptible discount", exact: 1e-9, grid: 1e-9},
	{exactLag: scrape, lag: 2 * cell},
}

// check checks one figure of a row.
func check(all []tolerance, figure string, got float64, of *row, exact bool) error {
	want, life := of.figures[figure], of.life
	if math.Abs(got-want) <= of.slack[figure]+1e-15 {
		return nil
	}
	if want == 0 {
		return fmt.Errorf("got %g, want none", got)
	}
	fits := func(t tolerance) bool {
		return slices.ContainsFunc(strings.Split(t.prefixes, " "), func(p string) bool { return strings.HasPrefix(figure, p) })
	}
	t := all[slices.IndexFunc(all, fits)]
	over := life
	if t.shortest > 0 {
		over = min(life, t.shortest)
	}
	lower, upper := 1.0, 1.0
	allowed := t.exact + t.exactLag.Hours()/over.Hours()
	if !exact {
		allowed = t.grid + t.lag.Hours()/over.Hours()*float64(1+of.restarts)
		if t.bounded {
			lower, upper = timeline.Bounds(life, cell)
			allowed += 0.005 // they are rounded to two digits
		}
	}
	if t.level || !exact && of.ends {
		allowed += of.unseen.Hours() / over.Hours()
	}
	if ratio := got / want; ratio < lower-allowed-1e-12 || ratio > upper+allowed+1e-12 {
		return fmt.Errorf("got %g, want %g: %.6f is outside of %v and %v by more than %g", got, want, ratio, lower, upper, allowed)
	}
	return nil
}

// compareRow compares all that is true of a row with the answer's.
func compareRow(t *testing.T, name string, got, want *row, all []tolerance, exact bool) {
	t.Helper()
	for _, figure := range slices.Sorted(maps.Keys(want.figures)) {
		if err := check(all, figure, got.figures[figure], want, exact); err != nil {
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
	for _, figure := range sums {
		allowed := 0.001
		if !exact {
			allowed = want.cells(figure)
		}
		if g, w := got.sum(figure), want.sum(figure); math.Abs(g/w-1) > allowed {
			t.Errorf("%s of all rows: got %g, want %g: off by %.4f %%", figure, g, w, (g/w-1)*100)
		}
	}
}

// sums are the figures that are compared over all rows, also short ones, to 0.1 % if every sample is used: the errors of rows
// cancel. On the grid the error is up to a cell of each row.
var sums = []string{
	"cpuCost", "ramCost", "gpuCost", "pvCost", "pvByteHours", "networkCost", "networkCrossZoneCost", "networkCrossRegionCost",
	"networkInternetCost", "networkTransferBytes", "networkReceiveBytes", "loadBalancerCost", "totalCost",
}

// cells is how much of a sum falls into one cell of each row: nobody sees what ran between two points of the grid.
func (r rows) cells(figure string) float64 {
	sum := 0.0
	for _, x := range r {
		sum += x.figures[figure] * min(1, cell.Hours()/max(x.life, cell).Hours())
	}
	return sum / r.sum(figure)
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

// compareAnswers checks that two ways of reading the same samples give the same figures, except for those with a prefix of but.
func compareAnswers(t *testing.T, got, want rows, but ...string) {
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
			if slices.ContainsFunc(but, func(prefix string) bool { return strings.HasPrefix(figure, prefix) }) {
				continue
			}
			if math.Abs(g.figures[figure]-v) > 1e-9*math.Abs(v)+1e-12 {
				t.Errorf("%s: %s: got %v, want %v", name, figure, g.figures[figure], v)
			}
		}
		if !maps.Equal(g.texts, w.texts) {
			t.Errorf("%s: got %v, want %v", name, g.texts, w.texts)
		}
	}
}
