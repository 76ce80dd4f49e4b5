package promquery_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/savings"
	"github.com/promcost/promcost/promquery/democluster"
)

// replay is a made-up cluster as it was computed for three days.
type replay struct {
	window allocation.Window
	sets   []*allocation.Set // of hours
	truth  *democluster.Truth
	// cost is what containers of controllers cost, by resource, and idle is what nobody was allocated of both.
	cost map[democluster.ContainerOf][2]float64
	idle float64
}

// replayInterval is how often the cluster is scraped.
const replayInterval = 2 * time.Minute

// newReplay computes the cluster with the requests that it has, or with others.
func newReplay(t *testing.T, requests map[democluster.ContainerOf]democluster.Requested) *replay {
	t.Helper()
	c, db := newDemoBlocks(t, democluster.Config{
		Nodes: 4, Pods: 45, Duration: 73 * time.Hour, End: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), ScrapeInterval: replayInterval, Requests: requests,
	})
	x := &replay{window: allocation.Window{Start: c.End().Add(-72 * time.Hour), End: c.End()}, cost: map[democluster.ContainerOf][2]float64{}}
	x.sets, x.truth = compute(t, db, allocation.Query{Window: x.window, Step: time.Hour, Only: withLevels()}), c.Truth(x.window.Start, x.window.End)
	for _, s := range x.sets {
		for row := range s.Len() {
			text := func(p allocation.Property) string { return s.Text(p, row) }
			of := democluster.ContainerOf{Namespace: text(allocation.Namespace), ControllerKind: text(allocation.ControllerKind), Controller: text(allocation.Controller), Container: text(allocation.Container)}
			cost := x.cost[of]
			for r := range cost {
				cost[r] += s.Value(allocation.Cost.Of(allocation.Resource(r)), row)
			}
			x.cost[of] = cost
		}
	}
	all, err := passes.Apply(x.sets, passes.Options{Idle: true, Accumulate: allocation.All})
	if err != nil {
		t.Fatal(err)
	}
	for row := range all[0].Len() {
		if all[0].Special(row) == allocation.Idle {
			x.idle += all[0].Value(allocation.Cost.Of(allocation.CPU), row) + all[0].Value(allocation.Cost.Of(allocation.RAM), row)
		}
	}
	return x
}

// recommended is a recommendation for a container, with what it is to save over the window, by resource.
type recommended struct {
	requests [2]savings.Sized
	today    [2]float64 // what it requests
	saves    [2]float64
	known    bool // its usage is known in nearly all of its time, and so the saving
}

// recommend recommends requests by a preset. Savings of a month become those of the window.
func (x *replay) recommend(t *testing.T, preset string) map[democluster.ContainerOf]recommended {
	t.Helper()
	p, err := savings.PresetNamed(preset)
	if err != nil {
		t.Fatal(err)
	}
	u, err := savings.Collect(func(yield func(*allocation.Set, error) bool) {
		for _, s := range x.sets {
			if !yield(s, nil) {
				return
			}
		}
	}, savings.Options{Window: x.window}.For(p))
	if err != nil {
		t.Fatal(err)
	}
	covered, out := u.HoursCovered(x.window.End), map[democluster.ContainerOf]recommended{}
	for _, r := range savings.Recommend(u, p, covered) {
		to := recommended{requests: [2]savings.Sized{allocation.CPU: r.CPU, allocation.RAM: r.RAM}, today: r.Request, known: min(r.KnownHours[0], r.KnownHours[1]) > 0.95*r.RunningHours}
		for k, s := range to.requests {
			if s.Known() {
				to.saves[k] = s.Saving * covered / coverage.MonthHours
			}
		}
		out[democluster.ContainerOf{Namespace: r.Namespace, ControllerKind: r.ControllerKind, Controller: r.Controller, Container: r.Name}] = to
	}
	return out
}

// usedAbove returns the part of the time in which a container used more than a request, and how much of the time lies within a scrape of a
// change of usage, where samples show something between.
func usedAbove(truth *democluster.Truth, of democluster.ContainerOf, r allocation.Resource, request float64) (above, blurred float64) {
	seconds := 0.0
	for i := range truth.Containers {
		x := &truth.Containers[i]
		if of != (democluster.ContainerOf{Namespace: x.Namespace, ControllerKind: x.ControllerKind, Controller: x.Controller, Container: x.Container}) {
			continue
		}
		for k := range x.Used {
			length := x.Used[k].Length.Seconds()
			seconds, blurred = seconds+length, blurred+replayInterval.Seconds()
			if used(&x.Used[k], r) > request {
				above += length
			}
		}
	}
	return above / seconds, blurred / seconds
}

// TestRecommendationsApplied recommends requests for the containers of a cluster, replays the same cluster with all of them, those that are higher than
// before too, and holds what happens against what was promised. Usage is above a request no more often than stated: by what containers really
// used, the half of a bucket above it and the times of changes left out; the same holds of requests of today. What was promised in sum is the difference of costs within 1 %, also of what is saved and
// of what costs more alone, and becomes idle; of each container whose usage is known it is right to 1 % of its cost. What has no recommendation costs as much as before.
func TestRecommendationsApplied(t *testing.T) {
	t.Parallel()
	before := newReplay(t, nil)
	for _, preset := range []string{savings.DefaultPreset, "krr"} {
		t.Run(preset, func(t *testing.T) {
			list, requests := before.recommend(t, preset), map[democluster.ContainerOf]democluster.Requested{}
			for of, to := range list {
				q := democluster.Requested{}
				for k, into := range []*float64{&q.Cores, &q.Bytes} {
					if to.requests[k].Known() {
						*into = to.requests[k].Request
					}
				}
				if q != (democluster.Requested{}) {
					requests[of] = q
				}
			}
			if len(requests) < 30 || len(requests) == len(list) {
				t.Fatalf("%d of %d containers have a recommendation, want many, and not all", len(requests), len(list))
			}
			after := newReplay(t, requests)
			before.compareCosts(t, after, list)
			before.compareExceedance(t, list)
		})
	}
}

// compareCosts compares what recommendations promised with what costs are by them.
func (x *replay) compareCosts(t *testing.T, after *replay, list map[democluster.ContainerOf]recommended) {
	t.Helper()
	var promised, saved [2]float64 // what costs less, and what costs more
	for of, was := range x.cost {
		to, is := list[of], after.cost[of]
		for k, promise := range to.saves {
			side := 0
			if promise < 0 {
				side = 1
			}
			got := was[k] - is[k]
			promised[side], saved[side] = promised[side]+promise, saved[side]+got
			if to.known && math.Abs(got-promise) > 0.01*max(was[k], is[k]) {
				t.Errorf("%v: %s saves %v, %v was promised", of, allocation.Resource(k), got, promise)
			}
			if !to.requests[k].Known() && got != 0 {
				t.Errorf("%v: %s has no recommendation and costs %v less", of, allocation.Resource(k), got)
			}
		}
	}
	for name, pair := range map[string][2]float64{
		"saved": {promised[0], saved[0]}, "more": {promised[1], saved[1]}, "sum": {promised[0] + promised[1], saved[0] + saved[1]}, "idle": {promised[0] + promised[1], after.idle - x.idle},
	} {
		t.Logf("%s: %.4f promised, %.4f seen: %+.2f %%", name, pair[0], pair[1], 100*(pair[1]/pair[0]-1))
		if math.Abs(pair[1]/pair[0]-1) > 0.01 {
			t.Errorf("%s: %v was promised and is %v", name, pair[0], pair[1])
		}
	}
}

// compareExceedance compares how often usage is above recommended requests, and above those of today, with what was stated.
func (x *replay) compareExceedance(t *testing.T, list map[democluster.ContainerOf]recommended) {
	t.Helper()
	for name, of := range map[string]func(to recommended, k int) (request, stated float64){
		"the recommended request": func(to recommended, k int) (request, stated float64) {
			return to.requests[k].Request, to.requests[k].Exceedance
		},
		"today's request": func(to recommended, k int) (request, stated float64) { return to.today[k], to.requests[k].Today },
	} {
		containers, above, stated := 0.0, 0.0, 0.0
		for which, to := range list {
			for k := range to.requests {
				if !to.requests[k].Known() || !to.known {
					continue
				}
				r := allocation.Resource(k)
				request, says := of(to, k)
				least, blurred := usedAbove(x.truth, which, r, request*(1+bucketError))
				most, _ := usedAbove(x.truth, which, r, request*(1-bucketError))
				if says < least-blurred || says > most+blurred {
					t.Errorf("%v: %s is above %v in %v to %v of the time, %v was stated", which, r, request, least, most, says)
				}
				if r == allocation.CPU {
					exactly, _ := usedAbove(x.truth, which, r, request)
					containers, above, stated = containers+1, above+exactly, stated+says
				}
			}
		}
		t.Logf("CPU of %v containers is above %s in %.2f %% of the time, %.2f %% was stated", containers, name, 100*above/containers, 100*stated/containers)
	}
}
