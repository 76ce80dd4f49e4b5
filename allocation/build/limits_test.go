package build_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// errStopped ends computations of tests.
var errStopped = errors.New("stopped")

// busyCluster is a cluster with given numbers of nodes and pods, allocated beyond its capacity.
func busyCluster(nodes, pods int) *naiveCluster {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &naiveCluster{cells: 240}
	for i := range nodes {
		c.nodes = append(c.nodes, naiveNode{
			name: string(rune('a' + i)), to: c.cells,
			capacity: [2][]float64{repeat(1, c.cells), repeat(gib, c.cells)}, price: [2][]float64{repeat(0.02, c.cells), repeat(0.002, c.cells)},
		})
	}
	for i := range pods {
		c.containers = append(c.containers, naiveContainer{
			pod: "p" + string(rune('a'+i)), node: i % nodes, to: c.cells, usedCells: c.cells,
			request: [2][]float64{repeat(0.1, c.cells), repeat(gib/10, c.cells)},
			used:    [2][]float64{levels(rng, c.cells, 0, 2, 0.5), levels(rng, c.cells, 0, gib, 0.5)},
		})
	}
	c.randomAssets(rng, c.cells, pods)
	c.randomPods(rng)
	return c
}

// lookedAt is a context that counts how often it is asked whether it ended.
type lookedAt struct {
	context.Context
	look func() error
}

func (c lookedAt) Err() error { return c.look() }

// holding is a budget that is told how many bytes are held.
type holding func(bytes int64) error

func (h holding) Hold(bytes int64) error { return h(bytes) }

// TestStop stops a computation at each of its looks at the context. The computation must not look again, so it begins no further pod, node
// or set.
func TestStop(t *testing.T) {
	looks := func(nodes, pods int, step time.Duration, last int) (n int, err error) {
		c := busyCluster(nodes, pods)
		ctx := lookedAt{t.Context(), func() error {
			if n++; n > last {
				return errStopped
			}
			return nil
		}}
		_, err = c.compute(ctx, t, allocation.Query{Window: c.window(), Step: step, Resolution: time.Minute}, nil)
		return n, err
	}
	const all = 1 << 30
	total, err := looks(2, 10, time.Hour, all)
	if err != nil {
		t.Fatal(err)
	}
	for last := range total {
		if n, err := looks(2, 10, time.Hour, last); n != last+1 || !errors.Is(err, errStopped) {
			t.Fatalf("stopped at look %d of %d, it ends after %d with %v", last, total, n, err)
		}
	}
	for _, tt := range []struct {
		name        string
		nodes, pods int
		step        time.Duration
		least       int // looks for each that is more
		more        int
	}{
		{"pods", 2, 20, time.Hour, 10, 10},
		{"nodes", 10, 10, time.Hour, 10, 8},
		{"sets", 2, 10, 10 * time.Minute, 5, 20},
	} {
		if n, err := looks(tt.nodes, tt.pods, tt.step, all); err != nil || n < total+tt.least*tt.more {
			t.Errorf("%d more %s: %d looks in place of %d, %v", tt.more, tt.name, n, total, err)
		}
	}
}

// TestLongWindow computes a window of 50 years around four hours of data. It draws and allocates no more than for these hours, and the
// result is the same.
func TestLongWindow(t *testing.T) {
	c := busyCluster(4, 20)
	compute := func(q allocation.Query) (set *allocation.Set, drawn, allocated int64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sets, err := c.compute(t.Context(), t, q, holding(func(n int64) error {
			drawn = n
			return nil
		}))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return sets[len(sets)-1], drawn, int64(after.TotalAlloc - before.TotalAlloc)
	}
	for _, resolution := range []time.Duration{0, time.Minute} {
		q := allocation.Query{Window: c.window(), Resolution: resolution}
		want, drawn, allocated := compute(q)
		if drawn < 4*2*240*8 {
			t.Errorf("%s: %d bytes are drawn, less than the cells of the nodes", resolution, drawn)
		}
		q.Window.Start = q.Window.Start.AddDate(-50, 0, 0)
		got, moreDrawn, moreAllocated := compute(q)
		if moreDrawn != drawn || moreAllocated > allocated+1<<20 {
			t.Errorf("%s: %d bytes are drawn and %d allocated in place of %d and %d", resolution, moreDrawn, moreAllocated, drawn, allocated)
		}
		for _, col := range []allocation.Column{allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM), allocation.RunningSeconds, allocation.PVCost} {
			if diff := cmp.Diff(columnOf(want, col), columnOf(got, col)); diff != "" {
				t.Errorf("%s: %s -4h +50y:\n%s", resolution, col, diff)
			}
		}
	}
}

// TestDraw ends a computation whose memory is refused, at each place where it draws.
func TestDraw(t *testing.T) {
	c := busyCluster(3, 10)
	q := allocation.Query{Window: c.window(), Step: time.Hour, Resolution: time.Minute}
	draws := func(last int) (n int, err error) {
		_, err = c.compute(t.Context(), t, q, holding(func(int64) error {
			if n++; n > last {
				return allocation.ErrTooMuch
			}
			return nil
		}))
		return n, err
	}
	total, err := draws(1 << 30)
	if err != nil || total < 3*(2+4) {
		t.Fatalf("%d draws, %v: want one for each resource of a node, and each asset", total, err)
	}
	for last := range total {
		if n, err := draws(last); n != last+1 || !errors.Is(err, allocation.ErrTooMuch) {
			t.Fatalf("refused after %d draws of %d, it ends after %d with %v", last, total, n, err)
		}
	}
}

// TestApplyStops checks that the passes begin no further set after the request is canceled.
func TestApplyStops(t *testing.T) {
	c := busyCluster(2, 10)
	sets := c.build(t, 20*time.Minute)
	for last := range len(sets) {
		looks := 0
		_, err := passes.Apply(sets, passes.Options{Accumulate: allocation.All, Stopped: func() error {
			if looks++; looks > last {
				return errStopped
			}
			return nil
		}})
		if looks != last+1 || !errors.Is(err, errStopped) {
			t.Errorf("stopped before set %d, it ends after %d looks with %v", last, looks, err)
		}
	}
}

// columnOf is a column of a set with all columns.
func columnOf(s *allocation.Set, c allocation.Column) []float64 {
	values, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return values
}
