package promquery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// bounded is what is counted of something, and how long it ran at the least and at the most, in seconds.
type bounded struct{ counted, least, most float64 }

// holds reports whether a true running time lies within the bounds.
func (x bounded) holds(truth float64) bool {
	const slack = 0.001
	return truth >= x.least-slack && truth <= x.most+slack
}

// boundsOf adds up what is counted by the name of rows, over all sets.
func boundsOf(sets []*allocation.Set, name func(s *allocation.Set, row int) string) map[string]bounded {
	out := map[string]bounded{}
	for _, s := range sets {
		for row := range s.Len() {
			if s.Special(row) == allocation.Workload {
				x := out[name(s, row)]
				x.counted += s.Value(allocation.RunningSeconds, row)
				x.least += s.Value(allocation.LeastSeconds, row)
				x.most += s.Value(allocation.MostSeconds, row)
				out[name(s, row)] = x
			}
		}
	}
	return out
}

// instanceOf names the container of a row, as containerName does that of a truth.
func instanceOf(s *allocation.Set, row int) string {
	return strings.Join([]string{s.Text(allocation.Namespace, row), s.Text(allocation.Pod, row), s.Text(allocation.PodUID, row), s.Text(allocation.Container, row)}, "/")
}

func containerName(x *democluster.ContainerTruth) string {
	return strings.Join([]string{x.Namespace, x.Pod, x.UID, x.Container}, "/")
}

// aggregates are ways to sum containers: the keys of rows, and the same of a truth.
var aggregates = map[string]func(x *democluster.ContainerTruth) string{
	"namespace":     func(x *democluster.ContainerTruth) string { return x.Namespace },
	"namespace,pod": func(x *democluster.ContainerTruth) string { return x.Namespace + "/" + x.Pod },
}

// ways are the ways to ask how long containers ran: what they compute at, and whether from a history.
var ways = []struct {
	name   string
	q      allocation.Query
	stored bool
}{
	{name: "1m", q: allocation.Query{Resolution: time.Minute}},
	{name: "5m", q: allocation.Query{Resolution: 5 * time.Minute}},
	{name: "1h", q: allocation.Query{Resolution: time.Hour}},
	{name: "exact"},
	{name: "exact, by hours", q: allocation.Query{Step: time.Hour, Alone: true}},
	{name: "from history", stored: true},
}

// boundsCheck compares the true running times of a demo cluster's containers in a window with the bounds of the computed ones.
type boundsCheck struct {
	where   string
	cluster *democluster.Cluster
	truth   *democluster.Truth
	step    time.Duration // the resolution, 0 for exact
	end     time.Time     // of the window
	scrape  time.Duration
	tally   *boundsTally
}

// boundsTally counts what was compared.
type boundsTally struct {
	distinct                  map[string]bool
	compared, summed, outside int
	missing                   map[string][]string // names by query and cause
}

// TestBoundsHoldTheTruth compares what the demo's containers truly ran for with the least and the most that answers allow: short
// jobs, outages, a crash loop, windows that are cut at any second, scrapes of 30 and of 60 seconds, on grids and with every sample, in
// one set, by hours that are computed each by itself, and from hours that a history kept and summed; of containers, and of their sums.
// What has no row is counted apart, with its cause, and named; every one has a cause.
func TestBoundsHoldTheTruth(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	seeds, duration, nodes, pods := soak.Of(1, 4), soak.Of(8*time.Hour, 48*time.Hour), soak.Of(4, 20), soak.Of(60, 400)
	tally := &boundsTally{distinct: map[string]bool{}, missing: map[string][]string{}}
	for seed := range seeds {
		for _, scrape := range []time.Duration{30 * time.Second, time.Minute} {
			c, db := newDemoBlocks(t, democluster.Config{End: end, Duration: duration, Nodes: nodes, Pods: pods, Seed: int64(seed + 1), ScrapeInterval: scrape})
			for _, w := range []allocation.Window{
				{Start: c.Start().Add(time.Hour), End: c.End().Add(-time.Hour)},
				{Start: c.Start().Add(time.Hour + 1234*time.Second), End: c.Start().Add(duration/2 + 17*time.Second)},
			} {
				x := boundsCheck{cluster: c, truth: c.Truth(w.Start, w.End), end: w.End, scrape: scrape, tally: tally}
				for _, way := range ways {
					x.step, x.where = way.q.Resolution, fmt.Sprintf("seed %d, scrapes of %s, %s, %s", seed+1, scrape, w.Start.Format(time.TimeOnly), way.name)
					way.q.Window, way.q.After = w, time.Hour
					x.compare(t, setsOf(t, db, way.q, way.stored, c.End()), way.name)
				}
			}
		}
	}
	t.Logf("%d containers, compared %d times and %d sums of them, %d outside of their bounds", len(tally.distinct), tally.compared, tally.summed, tally.outside)
	for _, why := range slices.Sorted(maps.Keys(tally.missing)) {
		names := tally.missing[why]
		t.Logf("without a row %s: %d: %s", why, len(names), strings.Join(names, " "))
	}
	if n := len(tally.distinct); n < soak.Of(400, 20_000) {
		t.Errorf("only %d containers were compared", n)
	}
}

// setsOf are the sets of a query, computed, or from a history that has the closed hours within its window.
func setsOf(t *testing.T, db *blocks.DB, q allocation.Query, stored bool, now time.Time) []*allocation.Set {
	t.Helper()
	if !stored {
		sets, err := promquery.NewEngine(db, config).Compute(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return sets
	}
	l := keeping(t, db, t.TempDir(), ledgertest.Options{Ledger: ledger.Options{Now: func() time.Time { return now }}})
	keptHours(t, l, q.Window)
	before := l.Stats().Computations
	set := only(t, l.Ledger, q)
	if n := l.Stats().Computations - before; n > 2 {
		t.Errorf("%d computations, although all but the ends of the window is kept", n)
	}
	return []*allocation.Set{set}
}

// compare compares the truth with the rows of sets, and of their sums.
func (x *boundsCheck) compare(t *testing.T, sets []*allocation.Set, way string) {
	t.Helper()
	got, truth, sums := boundsOf(sets, instanceOf), map[string]float64{}, map[string]map[string]float64{}
	of := map[string]*democluster.ContainerTruth{}
	for i := range x.truth.Containers {
		c := &x.truth.Containers[i]
		truth[containerName(c)] += c.RunningSeconds
		of[containerName(c)] = c
	}
	for key := range aggregates {
		sums[key] = map[string]float64{}
	}
	for _, name := range slices.Sorted(maps.Keys(truth)) {
		x.tally.distinct[fmt.Sprint(x.cluster.Start(), x.where[:30], name)] = true
		if _, ok := got[name]; !ok {
			why := fmt.Sprintf("%s: %s", way, x.cause(of[name]))
			x.tally.missing[why] = append(x.tally.missing[why], name)
			if strings.HasSuffix(why, unexplained) {
				t.Errorf("%s: %s ran for %.1f s, and has no row", x.where, name, truth[name])
			}
			continue
		}
		x.tally.compared++
		x.hold(t, name, got[name], truth[name])
		for key, group := range aggregates {
			sums[key][group(of[name])] += truth[name]
		}
	}
	for key := range aggregates {
		rows := boundsOf(aggregated(t, sets, key), func(s *allocation.Set, row int) string { return s.Name(row) })
		for _, name := range slices.Sorted(maps.Keys(sums[key])) {
			x.tally.summed++
			x.hold(t, key+" "+name, rows[name], sums[key][name])
		}
	}
}

// hold checks that the truth lies within the bounds.
func (x *boundsCheck) hold(t *testing.T, name string, got bounded, truth float64) {
	t.Helper()
	if got.holds(truth) {
		return
	}
	if x.tally.outside++; x.tally.outside <= 20 {
		t.Errorf("%s: %s ran for %.1f s, outside of %.1f and %.1f; %.1f are counted", x.where, name, truth, got.least, got.most, got.counted)
	}
}

// aggregated are sets in one, with rows summed by a key.
func aggregated(t *testing.T, sets []*allocation.Set, key string) []*allocation.Set {
	t.Helper()
	keys, err := allocation.ParseKeys(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := passes.Apply(passes.Join(sets), passes.Options{Aggregate: keys, Accumulate: allocation.All})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// seenAtPoint reports whether a point of the grid lies in a container's time after its first scrape and outside of outages.
func (x *boundsCheck) seenAtPoint(c *democluster.ContainerTruth) bool {
	for at := x.end.Add(-x.end.Sub(c.Start) / x.step * x.step); at.Before(c.End); at = at.Add(x.step) {
		down := slices.ContainsFunc(x.truth.Outages, func(o democluster.OutageTruth) bool {
			return (o.Job == "" || o.Job == "kube-state-metrics") && at.After(o.Start) && at.Before(o.End.Add(x.scrape))
		})
		if !down && at.Sub(c.Start) > x.scrape {
			return true
		}
	}
	return false
}

const unexplained = "for no known cause"

// cause is why a container has no row.
func (x *boundsCheck) cause(c *democluster.ContainerTruth) string {
	for _, o := range x.truth.Outages {
		if (o.Job == "" || o.Job == "kube-state-metrics") && !c.Start.Before(o.Start.Add(-x.scrape)) && !c.End.After(o.End.Add(x.scrape)) {
			return "it came and went around an outage"
		}
	}
	ran := time.Duration(c.RunningSeconds * float64(time.Second))
	switch {
	case x.step > 0 && ran < x.step:
		return "it ran for less than a cell of the grid"
	case x.step > 0 && !x.seenAtPoint(c):
		return "it was not scraped just before any point of the grid"
	case x.step == 0 && c.Init && ran < x.scrape:
		return "no scrape saw the init container"
	}
	return unexplained
}
