package build_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
)

// naiveVolume is a volume in cells [from, to), and the pods that mount its claim.
type naiveVolume struct {
	from, to        int
	capacity, price []float64 // GiB and price of one by cell
	claimed         bool
	pods            []int
}

// naiveBalancer is a load balancer in cells [from, to), and the pods behind it.
type naiveBalancer struct {
	from, to int
	price    []float64
	pods     []int
	behind   [][2]int // cells in which each pod is behind its service
}

// naiveAssets are what a plain cluster has besides nodes and containers.
type naiveAssets struct {
	volumes   []naiveVolume
	balancers []naiveBalancer
	sent      [][]float64 // GiB to the internet by pod and cell since it began; nil for none
	sides     [][2]int    // when a second container of each pod runs, in cells since it began; the same twice for never
}

func (a *naiveAssets) randomAssets(rng *rand.Rand, cells, pods int) {
	life := func() (from, to int) {
		from = rng.IntN(cells)
		return from, from + 1 + rng.IntN(cells-from)
	}
	some := func() (out []int) {
		for i := range pods {
			if rng.IntN(3) == 0 {
				out = append(out, i)
			}
		}
		return out
	}
	for range rng.IntN(4) {
		v := naiveVolume{claimed: rng.IntN(4) > 0}
		v.from, v.to = life()
		v.capacity, v.price = levels(rng, v.to-v.from, 1, 100, 0.02), levels(rng, v.to-v.from, 0.001, 0.01, 0.02)
		if v.claimed {
			v.pods = some()
		}
		a.volumes = append(a.volumes, v)
	}
	for range rng.IntN(3) {
		l := naiveBalancer{pods: some()}
		l.from, l.to = life()
		l.price = levels(rng, l.to-l.from, 0.01, 0.1, 0.02)
		a.balancers = append(a.balancers, l)
	}
	for range pods {
		a.sides, a.sent = append(a.sides, [2]int{}), append(a.sent, nil)
	}
}

// randomPods fills in what depends on how long the pods run.
func (c *naiveCluster) randomPods(rng *rand.Rand) {
	for i := range c.containers {
		life := c.containers[i].to - c.containers[i].from
		if rng.IntN(3) == 0 {
			from := rng.IntN(life)
			c.sides[i] = [2]int{from, from + 1 + rng.IntN(life-from)}
		}
		if rng.IntN(2) == 0 {
			c.sent[i] = levels(rng, life, 0, 3, 0.5)
		}
	}
	for i := range c.balancers {
		l := &c.balancers[i]
		for _, p := range l.pods {
			l.behind = append(l.behind, c.randomTurn(rng, &c.containers[p]))
		}
	}
}

// randomTurn is when a pod is behind a service: all the time, or for a part of it. What is less than three cells apart is one moment.
func (c *naiveCluster) randomTurn(rng *rand.Rand, x *naiveContainer) [2]int {
	from := (x.from + rng.IntN(x.to-x.from)) / 3 * 3
	to := from + 3 + rng.IntN(x.to-x.from)/3*3
	if rng.IntN(2) == 0 || from-x.from < 3 {
		from = x.from
	}
	if rng.IntN(2) == 0 || x.to-to < 3 {
		to = x.to
	}
	return [2]int{from, to}
}

// feedAssets gives everything but traffic.
func (c *naiveCluster) feedAssets(f feed, at func(int) time.Time) {
	give := func(signal signals.Signal, key string, from int, values []float64) {
		f.add(signals.Series{Signal: signal}, key, sampled(at(from), time.Minute, values...))
	}
	for i := range c.volumes {
		v := &c.volumes[i]
		name := fmt.Sprintf("v%d", i)
		bytes := slices.Clone(v.capacity)
		for k := range bytes {
			bytes[k] *= gib
		}
		give(signals.VolumeCapacity, "c/"+name, v.from, bytes)
		give(signals.VolumePrice, "c/"+name, v.from, v.price)
		if v.claimed {
			give(signals.VolumeClaim, "c/ns/claim-"+name+"/"+name, v.from, repeat(1, v.to-v.from))
		}
		for _, p := range v.pods {
			x := &c.containers[p]
			give(signals.PodMount, "c/ns/"+x.pod+"/uid-"+x.pod+"/claim-"+name+"/", x.from, repeat(1, x.to-x.from))
		}
	}
	for i := range c.balancers {
		l := &c.balancers[i]
		name := fmt.Sprintf("lb%d", i)
		give(signals.Balancer, "c/ns/"+name, l.from, repeat(1, l.to-l.from))
		give(signals.BalancerPrice, "c/ns/"+name+"/", l.from, l.price)
		give(signals.SliceService, "c/ns/"+name+"-x/"+name, 0, repeat(1, c.cells))
		for k, p := range l.pods {
			turn := l.behind[k]
			give(signals.SliceEndpoint, "c/ns/"+name+"-x//"+c.containers[p].pod, turn[0], repeat(1, turn[1]-turn[0]))
		}
	}
	for i, side := range c.sides {
		if x := &c.containers[i]; side[0] < side[1] {
			key := "c/ns/" + x.pod + "/uid-" + x.pod + "/side"
			give(signals.ContainerRunning, key+"/", x.from+side[0], repeat(1, side[1]-side[0]))
			give(signals.ContainerStarted, key, x.from+side[0], repeat(float64(at(x.from+side[0]-1).Unix()), side[1]-side[0]))
		}
	}
	give(signals.InternetEgressPrice, "c", 0, c.egressPrice())
}

// egressPrice is that of a GiB by cell: it rises once.
func (c *naiveCluster) egressPrice() []float64 {
	return append(repeat(0.1, c.cells/2), repeat(0.3, c.cells-c.cells/2)...)
}

// feedTraffic gives the counters of what pods send, by name alone.
func (c *naiveCluster) feedTraffic(f feed, at func(int) time.Time) {
	for i, sent := range c.sent {
		if sent == nil {
			continue
		}
		x := &c.containers[i]
		counter, sum := make([]float64, len(sent)), 0.0
		for k, v := range sent {
			sum += v * gib
			counter[k] = sum
		}
		f.add(signals.Series{Signal: signals.PodEgress}, "c/ns/"+x.pod+"//true/false/false//i", sampled(at(x.from), time.Minute, counter...))
	}
}

// running are the containers of a pod that run in a cell.
func (c *naiveCluster) running(pod, cell int) (out []string) {
	x := &c.containers[pod]
	if cell < x.from || cell >= x.to {
		return nil
	}
	out = []string{x.pod + "/main"}
	if side := c.sides[pod]; cell-x.from >= side[0] && cell-x.from < side[1] {
		out = append(out, x.pod+"/side")
	}
	return out
}

// bearing is the cell whose pods bear a volume's cost of a cell: itself, or the last one before a moment of up to five cells between pods.
func (c *naiveCluster) bearing(v *naiveVolume, cell int) int {
	runs := func(cell int) bool {
		return slices.ContainsFunc(v.pods, func(p int) bool { return c.running(p, cell) != nil })
	}
	before, after := cell, cell
	for before >= v.from && !runs(before) {
		before--
	}
	for after < v.to && !runs(after) {
		after++
	}
	if before < v.from || after == v.to || after-before-1 > 5 {
		return cell
	}
	return before
}

// assetCosts computes, minute by minute, what each container is charged of volumes, load balancers and traffic, by the words of
// SEMANTICS §4.
func (c *naiveCluster) assetCosts() map[string][3]float64 {
	out := map[string][3]float64{}
	charge := func(kind int, cost float64, containers []string) {
		for _, name := range containers {
			sums := out[name]
			sums[kind] += cost / float64(len(containers))
			out[name] = sums
		}
	}
	divide := func(kind int, cost float64, pods []int, cell int, nobody string) {
		var running [][]string
		for _, p := range pods {
			if r := c.running(p, cell); r != nil {
				running = append(running, r)
			}
		}
		for _, containers := range running {
			charge(kind, cost/float64(len(running)), containers)
		}
		if len(running) == 0 {
			charge(kind, cost, []string{nobody})
		}
	}
	for i := range c.volumes {
		v := &c.volumes[i]
		nobody := "__unmounted__/__unmounted__"
		if v.claimed {
			nobody = "ns-unmounted-pvcs/__unmounted__"
		}
		for cell := v.from; cell < v.to; cell++ {
			divide(0, v.capacity[cell-v.from]*v.price[cell-v.from]/60, v.pods, c.bearing(v, cell), nobody)
		}
	}
	for i := range c.balancers {
		l := &c.balancers[i]
		for cell := l.from; cell < l.to; cell++ {
			var pods []int
			for k, p := range l.pods {
				if cell >= l.behind[k][0] && cell < l.behind[k][1] {
					pods = append(pods, p)
				}
			}
			divide(1, l.price[cell-l.from]/60, pods, cell, "__unallocated__/__unallocated__")
		}
	}
	price := c.egressPrice()
	for p, sent := range c.sent {
		for k, v := range sent {
			cell := c.containers[p].from + k
			charge(2, v*price[cell], c.running(p, cell))
		}
	}
	return out
}

// compareAssets compares sets with the model.
func (c *naiveCluster) compareAssets(t *testing.T, where string, sets []*allocation.Set) {
	t.Helper()
	got := map[string][3]float64{}
	for _, s := range sets {
		for row := range s.Len() {
			name := s.Text(allocation.Pod, row) + "/" + s.Text(allocation.Container, row)
			sums := got[name]
			for k, column := range [...]allocation.Column{allocation.PVCost, allocation.LoadBalancerCost, allocation.NetworkInternetCost} {
				sums[k] += s.Value(column, row)
			}
			got[name] = sums
		}
	}
	want := c.assetCosts()
	for name, sums := range got {
		for k, g := range sums {
			if w := want[name][k]; math.Abs(g-w) > 1e-9*math.Max(w, 1e-3) {
				t.Fatalf("%s: %s is charged %v of %s, want %v", where, name, g, [...]string{"volumes", "load balancers", "traffic"}[k], w)
			}
		}
	}
	for name, sums := range want {
		if _, ok := got[name]; !ok && sums != ([3]float64{}) {
			t.Fatalf("%s: no row of %s: %v", where, name, sums)
		}
	}
}
