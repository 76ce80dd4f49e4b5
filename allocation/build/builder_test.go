package build_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// flat prices every node alike.
type flat struct {
	defaultItems
	cpu, ram, gpu float64
}

func (f flat) Node(rates.NodeAttributes, time.Time) rates.NodeRates {
	return rates.NodeRates{Price: [allocation.NumResources]float64{f.cpu, f.ram, f.gpu}, Source: "test", Default: true}
}

// stale is Prometheus' staleness marker.
var stale = math.Float64frombits(0x7ff0000000000002)

// feed gives builders series written as text.
type feed struct {
	t *testing.T
	b *build.Builder
	// only, where not nil, is the time whose samples are given, both ends included.
	only *build.Span
}

// symbols are those of the keys that tests give to builders.
var symbols = signals.NewSymbols()

// add gives the points of one series; key is the signal's key, joined with slashes, or with bars where it has any.
func (f feed) add(s signals.Series, key string, p *timeline.Points) {
	f.t.Helper()
	var syms []signals.Symbol
	separator := "/"
	if strings.Contains(key, "|") {
		separator = "|"
	}
	for x := range strings.SplitSeq(key, separator) {
		syms = append(syms, symbols.Of(x))
	}
	if f.only != nil {
		whole := p
		p = &timeline.Points{}
		for at, v := range whole.All() {
			if at >= f.only.Start && at <= f.only.End {
				p.Append(at, v)
			}
		}
		if p.Len() == 0 {
			return
		}
	}
	if err := f.b.Add(s, syms, p); err != nil && !errors.Is(err, allocation.ErrTooMuch) && !errors.Is(err, errStopped) { // then the builder stops
		f.t.Fatalf("add %v %s: %v", s, key, err)
	}
}

// sampled makes points of values a minute apart from the first on; NaN leaves a sample out, and a staleness marker ends the
// series.
func sampled(first time.Time, step time.Duration, values ...float64) *timeline.Points {
	p := &timeline.Points{}
	for i, v := range values {
		if at := first.Add(time.Duration(i) * step); v == v {
			p.Append(at.UnixMilli(), v)
		}
	}
	p.Append(first.Add(time.Duration(len(values))*step).UnixMilli(), stale)
	return p
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

const gib = 1 << 30

// naiveNode is a node of a plain cluster: one value a cell, cells [from, to) of its life.
type naiveNode struct {
	name            string
	from, to        int
	capacity, price [2][]float64 // CPU, RAM by cell
}

// naiveContainer runs in cells [from, to) of a plain cluster, on a node.
type naiveContainer struct {
	pod           string
	node          int // -1: on no known node
	from, to      int
	request, used [2][]float64 // by cell since from; used nil: no usage series
	usedCells     int          // how many cells the usage series lasts; it is held for an hour
	shown         int          // how usage is shown, see feedUsage
	cut           int          // where, in cells since from
}

// How a container's usage is shown.
const (
	shownOnce    = iota
	shownHoled   // by two replicas, each with a hole that the other does not have
	shownRestart // by the series of two container ids, without a staleness marker between them
)

// naiveCluster says, minute by minute, what everything is: the slow, obvious model that the builder is compared with.
type naiveCluster struct {
	cells      int
	nodes      []naiveNode
	containers []naiveContainer
	naiveAssets
}

var clusterStart = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

func (c *naiveCluster) window() allocation.Window {
	return allocation.Window{Start: clusterStart, End: clusterStart.Add(time.Duration(c.cells) * time.Minute)}
}

func levels(rng *rand.Rand, n int, low, high float64, changes float64) []float64 {
	out := make([]float64, n)
	v := low + rng.Float64()*(high-low)
	for i := range out {
		if rng.Float64() < changes {
			v = low + rng.Float64()*(high-low)
		}
		out[i] = v
	}
	return out
}

func randomPlain(rng *rand.Rand) *naiveCluster {
	c := &naiveCluster{cells: 20 + rng.IntN(100)}
	if rng.IntN(20) == 0 {
		c.cells *= 15 // a day: what is read again comes in several spans
	}
	for i := range 1 + rng.IntN(3) {
		n := naiveNode{name: fmt.Sprintf("n%d", i), to: c.cells}
		if rng.IntN(3) == 0 {
			n.from = rng.IntN(c.cells / 2)
		}
		if rng.IntN(3) == 0 {
			n.to = n.from + 1 + rng.IntN(c.cells-n.from)
		}
		life := n.to - n.from
		n.capacity = [2][]float64{levels(rng, life, 2, 8, 0.01), levels(rng, life, 8*gib, 32*gib, 0.01)}
		n.price = [2][]float64{levels(rng, life, 0.01, 0.05, 0.02), levels(rng, life, 0.001, 0.006, 0.02)}
		c.nodes = append(c.nodes, n)
	}
	for i := range rng.IntN(12) {
		k := rng.IntN(len(c.nodes))
		n := &c.nodes[k]
		x := naiveContainer{pod: fmt.Sprintf("p%d", i), node: k, from: n.from + rng.IntN(n.to-n.from)}
		x.to = x.from + 1 + rng.IntN(n.to-x.from)
		life := x.to - x.from
		x.request = [2][]float64{levels(rng, life, 0, 2, 0.02), levels(rng, life, 0, 8*gib, 0.02)}
		if rng.IntN(4) == 0 {
			x.request = [2][]float64{repeat(0, life), repeat(0, life)}
		}
		if rng.IntN(5) > 0 {
			x.used = [2][]float64{levels(rng, life, 0, 4, 0.3), levels(rng, life, 0, 12*gib, 0.3)}
			x.usedCells = life
			if rng.IntN(4) == 0 {
				x.usedCells = 1 + rng.IntN(life)
			}
			if x.usedCells > 40 {
				x.shown, x.cut = rng.IntN(3), 5+rng.IntN(10)
			}
		}
		c.containers = append(c.containers, x)
	}
	c.randomAssets(rng, c.cells, len(c.containers))
	c.randomPods(rng)
	return c
}

// build computes the cluster's sets with the builder, from samples on the minute.
func (c *naiveCluster) build(t *testing.T, step time.Duration) []*allocation.Set {
	t.Helper()
	sets, err := c.compute(t.Context(), t, allocation.Query{Window: c.window(), Step: step, Resolution: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// compute computes the sets of a query of the cluster, until ctx ends, within a budget.
func (c *naiveCluster) compute(ctx context.Context, t *testing.T, q allocation.Query, budget build.Budget) ([]*allocation.Set, error) {
	t.Helper()
	b, err := build.NewBuilder(ctx, q, time.Minute, flat{}, symbols, budget)
	if err != nil {
		return nil, err
	}
	f := feed{t: t, b: b}
	at := func(cell int) time.Time { return clusterStart.Add(time.Duration(cell+1) * time.Minute) }
	for i := range c.nodes {
		n := &c.nodes[i]
		f.add(signals.Series{Signal: signals.NodeInfo}, "c/"+n.name+"/i-"+n.name, sampled(at(n.from), time.Minute, repeat(1, n.to-n.from)...))
		for r := range n.capacity {
			res := allocation.Resource(r)
			f.add(signals.Series{Signal: signals.NodeCapacity, Resource: res}, "c/"+n.name, sampled(at(n.from), time.Minute, n.capacity[r]...))
			f.add(signals.Series{Signal: signals.NodePrice, Resource: res}, "c/"+n.name+"/m5/eu/amd64/i-"+n.name, sampled(at(n.from), time.Minute, n.price[r]...))
		}
	}
	for i := range c.containers {
		x := &c.containers[i]
		key := "c/ns/" + x.pod + "/uid-" + x.pod
		life := x.to - x.from
		f.add(signals.Series{Signal: signals.PodInfo}, key+"/"+c.nodes[x.node].name+"/10.0.0.1/ReplicaSet/rs", sampled(at(x.from), time.Minute, repeat(1, life)...))
		f.add(signals.Series{Signal: signals.ContainerRunning}, key+"/main/", sampled(at(x.from), time.Minute, repeat(1, life)...))
		starts := repeat(float64(at(x.from-1).Unix()), life)
		if x.shown == shownRestart { // reported a minute late
			copy(starts[x.cut+1:], repeat(float64(at(x.from+x.cut-1).Unix()), life))
		}
		f.add(signals.Series{Signal: signals.ContainerStarted}, key+"/main", sampled(at(x.from), time.Minute, starts...))
		for r := range x.request {
			f.add(signals.Series{Signal: signals.ContainerRequest, Resource: allocation.Resource(r)}, key+"/main", sampled(at(x.from), time.Minute, x.request[r]...))
		}
	}
	c.feedAssets(f, at)
	if err := b.Resolve(); err != nil {
		return nil, err
	}
	c.feedUsage(f, at)
	c.feedTraffic(f, at)
	again, err := b.Finalize()
	if err != nil {
		return nil, err
	}
	if len(again) > 0 {
		for _, span := range again {
			b.Revisit(span.Span)
			f.only = &build.Span{Start: span.Start - b.Sampling().Start + b.Sampling().LoadStart(), End: span.End}
			c.feedUsage(f, at)
		}
		if again, err = b.Finalize(); again != nil {
			t.Fatalf("second Finalize: %v, %v", again, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Sets()
}

// feedUsage gives the usage of all containers, those of replicas and of several ids in any order.
func (c *naiveCluster) feedUsage(f feed, at func(int) time.Time) {
	for i := range c.containers {
		x := &c.containers[i]
		if x.used[0] == nil {
			continue
		}
		key := "c/ns/" + x.pod + "/uid-" + x.pod + "/main//"
		give := func(id string, from, to int, hole func(int) bool) {
			counter, level, sum := []float64{}, []float64{}, 0.0
			for k := from; k < to; k++ {
				sum += x.used[0][k] * 60
				v, m := sum, x.used[1][k]
				if hole(k) {
					v, m = math.NaN(), math.NaN()
				}
				counter, level = append(counter, v), append(level, m)
			}
			cpu, ram := sampled(at(x.from+from), time.Minute, counter...), sampled(at(x.from+from), time.Minute, level...)
			if x.shown == shownRestart && to < x.usedCells {
				cpu, ram = unmarked(cpu), unmarked(ram)
			}
			f.add(signals.Series{Signal: signals.ContainerUse, Resource: allocation.CPU}, key+id, cpu)
			f.add(signals.Series{Signal: signals.ContainerLevel, Resource: allocation.RAM}, key+id, ram)
		}
		nowhere := func(int) bool { return false }
		parts := []func(){func() { give("a", 0, x.usedCells, nowhere) }}
		switch x.shown {
		case shownHoled:
			parts = []func(){
				func() { give("a", 0, x.usedCells, func(k int) bool { return k >= x.cut && k < x.cut+9 }) },
				func() { give("b", 0, x.usedCells, func(k int) bool { return k >= x.cut+12 && k < x.cut+20 }) },
			}
		case shownRestart:
			parts = []func(){
				func() { give("a", 0, x.cut, nowhere) },
				func() { give("b", x.cut, x.usedCells, nowhere) },
			}
		}
		if i%2 == 1 {
			slices.Reverse(parts)
		}
		for _, part := range parts {
			part()
		}
	}
}

// unmarked is p without the staleness marker at its end.
func unmarked(p *timeline.Points) *timeline.Points {
	out := &timeline.Points{}
	for at, v := range p.All() {
		if !timeline.IsStale(v) {
			out.Append(at, v)
		}
	}
	return out
}

// costs computes every container's cost minute by minute, by the words of SEMANTICS §3 to §5.
func (c *naiveCluster) costs() (hours, cost map[string][2]float64) {
	hours, cost = map[string][2]float64{}, map[string][2]float64{}
	for r := range 2 {
		for cell := range c.cells {
			for k := range c.nodes {
				c.cell(r, cell, k, hours, cost)
			}
		}
	}
	return hours, cost
}

// cell adds one minute of one node and resource.
func (c *naiveCluster) cell(r, cell, k int, hours, cost map[string][2]float64) {
	n := &c.nodes[k]
	if cell < n.from || cell >= n.to {
		return
	}
	requests, bursts := 0.0, 0.0
	request, burst := map[string]float64{}, map[string]float64{}
	for i := range c.containers {
		x := &c.containers[i]
		if x.node != k || cell < x.from || cell >= x.to {
			continue
		}
		q, u := x.request[r][cell-x.from], 0.0
		if x.used[0] != nil && cell-x.from < x.usedCells+60 { // for longer, what was used last says nothing
			u = x.used[r][min(cell-x.from, x.usedCells-1)]
		}
		request[x.pod], burst[x.pod] = q, math.Max(0, u-q)
		requests, bursts = requests+q, bursts+burst[x.pod]
	}
	capacity, price := n.capacity[r][cell-n.from], n.price[r][cell-n.from]
	onRequest, onBurst := 1.0, 1.0
	if requests+bursts > capacity {
		onBurst = 0
		if requests > capacity {
			onRequest = capacity / requests
		} else {
			onBurst = (capacity - requests) / bursts
		}
	}
	unit := allocation.Resource(r).PerPriceUnit()
	for pod := range request {
		h, m := hours[pod], cost[pod]
		h[r] += (request[pod] + burst[pod]) / 60
		m[r] += onRequest * (request[pod] + onBurst*burst[pod]) / 60 * price / unit
		hours[pod], cost[pod] = h, m
	}
}

// TestBuilderAgainstModel compares the builder with the plain model on random clusters: bursts, nodes allocated beyond
// their capacity, price and capacity changes, nodes that come and go, usage that ends early, any division into sets.
func TestBuilderAgainstModel(t *testing.T) {
	seed := randomSeed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	overcommitted := 0
	for i := range 300 {
		c := randomPlain(rng)
		hours, cost := c.costs()
		for _, step := range []time.Duration{0, 25 * time.Minute, time.Duration(1+rng.IntN(90)) * time.Minute} {
			where := fmt.Sprintf("cluster %d, step %s", i, step)
			gotHours, gotCost := map[string][2]float64{}, map[string][2]float64{}
			sets := c.build(t, step)
			for _, s := range sets {
				if err := errors.Join(passes.Check(s), conserved(s)); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				for _, x := range s.Residuals {
					if x.Overcommit > 0 {
						overcommitted++
					}
				}
				for row := range s.Len() {
					if s.Special(row) != allocation.Workload {
						continue
					}
					pod := s.Text(allocation.Pod, row)
					h, m := gotHours[pod], gotCost[pod]
					for r := range h {
						h[r] += s.Value(allocation.Hours.Of(allocation.Resource(r)), row)
						m[r] += s.Value(allocation.Cost.Of(allocation.Resource(r)), row)
					}
					gotHours[pod], gotCost[pod] = h, m
				}
			}
			compareModel(t, where+", hours", gotHours, hours)
			compareModel(t, where+", cost", gotCost, cost)
			c.compareAssets(t, where, sets)
		}
	}
	if overcommitted == 0 {
		t.Error("no cluster was ever overcommitted: the test does not see that case")
	}
}

func compareModel(t *testing.T, where string, got, want map[string][2]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d pods, want %d", where, len(got), len(want))
	}
	for pod := range want {
		for r := range 2 {
			if g, w := got[pod][r], want[pod][r]; math.Abs(g-w) > 1e-9*math.Max(math.Abs(w), 1e-6) {
				t.Fatalf("%s: pod %s %s: got %g, want %g", where, pod, allocation.Resource(r), g, w)
			}
		}
	}
}
