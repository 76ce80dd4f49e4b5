package promquery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// hoursOf are the hours of a window, each computed for itself, all with one query.
func hoursOf(t *testing.T, src promquery.Source, q allocation.Query) []*allocation.Set {
	t.Helper()
	cfg := config
	q.Step, q.Alone = time.Hour, true
	sets, err := promquery.NewEngine(src, cfg).Compute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// TestAlone checks that an hour is the same to the last bit, warnings included, whichever hours are computed with it.
func TestAlone(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	window := allocation.Window{Start: c.Start().Add(-time.Hour), End: c.Start().Add(soak.Of[time.Duration](3, 10) * time.Hour)} // the first hour is before all data
	hours := int(window.Duration() / time.Hour)
	for name, src := range map[string]promquery.Source{
		"as it is":    db,
		"one worker":  without{Source: db},
		"usage alone": forgetful{db, nil, []string{"kube_pod_container_status_running", "kube_pod_container_info", "kube_pod_init_container_status_running"}},
		"no prices":   without{Source: db, metrics: []string{"node_cpu_hourly_cost", "node_ram_hourly_cost"}},
	} {
		for _, q := range []allocation.Query{{After: 5 * time.Minute}, {Resolution: time.Minute, After: 5 * time.Minute}, {Resolution: 7 * time.Minute}, {Shard: allocation.Shard{Index: 1, Of: 2}}} {
			t.Run(fmt.Sprintf("%s/%s %v", name, allocation.ResolutionText(q.Resolution), q.Shard), func(t *testing.T) {
				q.Window = window
				after := q.After
				together := hoursOf(t, src, q)
				if len(together) != hours {
					t.Fatalf("%d sets of %d hours", len(together), hours)
				}
				for i, s := range together {
					q.Window, q.After, q.Alone = s.Window, min(allocation.Evidence, after+window.End.Sub(s.Window.End)), true
					cfg := config
					own, err := promquery.NewEngine(src, cfg).Compute(t.Context(), q)
					if errors.Is(err, allocation.ErrNoData) && s.Empty() {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(own[0].Warnings, s.Warnings); diff != "" {
						t.Errorf("hour %d: warnings (-alone +together):\n%s", i, diff)
					}
					if !bytes.Equal(stored(t, own[0]), stored(t, s)) {
						t.Errorf("hour %d differs", i)
						compareShards(t, own[0], []*allocation.Set{s})
					}
				}
			})
		}
	}
}

// counting counts the questions that a source is asked, and the samples that it gives.
type counting struct {
	promquery.Source
	selects, samples int64
	warnAfter        int64
}

func (s *counting) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		stats, err := promtest.Select(ctx, s.Source, sels, yield)
		s.selects++
		s.samples += stats.Samples
		if s.warnAfter > 0 && s.selects > s.warnAfter {
			stats.Warnings = append(stats.Warnings, "something is missing")
		}
		return stats, err
	})
}

// checkCounts checks that the accounts of inputs add up to that of the source: everything read for all hours.
func checkCounts(t *testing.T, r *allocation.Reading) {
	t.Helper()
	read := map[string]int64{}
	for _, in := range r.Sources[0].Inputs {
		read[in.Input] = in.Samples
	}
	given := map[string]int64{}
	for _, in := range r.Inputs {
		for _, alt := range in.Alternatives {
			for _, cluster := range alt.Clusters {
				given[in.Name] += cluster.Samples
			}
		}
	}
	if len(given) < 20 {
		t.Errorf("%d inputs were found", len(given))
	}
	for name, n := range given {
		if n != read[name] {
			t.Errorf("%d samples of %s, %d were read", n, name, read[name])
		}
	}
}

// TestAloneReadsOnce compares what is read for hours that are computed one by one with what one computation of all of them reads.
func TestAloneReadsOnce(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-9 * time.Hour), End: c.End().Add(-time.Hour)}, After: time.Hour}
	whole, apart := &counting{Source: db}, &counting{Source: db}
	if _, err := promquery.NewEngine(whole, config).Compute(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	sets := hoursOf(t, apart, q)
	if apart.samples > whole.samples*105/100 || apart.selects > whole.selects+3 {
		t.Errorf("%d samples by %d questions, at once %d by %d", apart.samples, apart.selects, whole.samples, whole.selects)
	}
	checkCounts(t, sets[0].Reading)
	for _, s := range sets {
		if err := passes.Check(s); err != nil || s.Reading == nil || s.Incomplete {
			t.Errorf("%s: %v, reading %v, incomplete %v", s.Window.Start, err, s.Reading, s.Incomplete)
		}
	}
}

// holding records how much computations hold at most while it is read.
type holding struct {
	promquery.Source
	budget *memory.Budget
	most   int64
}

func (s *holding) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		return promtest.Select(ctx, s.Source, sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
			s.most = max(s.most, s.budget.Stats().Used)
			return yield(i, key, p)
		})
	})
}

// TestBackgroundLeavesMemory computes hours at once within a bound that they fill. Hours that nobody waits for leave half of it to
// others, and have the same results.
func TestBackgroundLeavesMemory(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-8 * time.Hour), End: c.End()}, Step: time.Hour, Alone: true}
	compute := func(ctx context.Context, bound int64) ([]*allocation.Set, int64) {
		src := &holding{Source: db, budget: memory.New(bound)}
		cfg := config
		cfg.Memory = src.budget
		sets, err := promquery.NewEngine(src, cfg).Compute(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return sets, src.most
	}
	_, most := compute(t.Context(), 1<<40)
	bound := most * 5 / 4
	waited, most := compute(t.Context(), bound)
	if most <= bound/2 {
		t.Fatalf("%d bytes held of %d: too few to tell", most, bound)
	}
	sets, most := compute(promquery.Background(t.Context()), bound)
	if most > bound/2 {
		t.Errorf("the background held %d bytes of %d", most, bound)
	}
	for i, s := range sets {
		if !bytes.Equal(stored(t, s), stored(t, waited[i])) {
			t.Errorf("hour %d differs", i)
		}
	}
}

// TestAloneFails has a source warn and fail in the middle of hours that are computed side by side.
func TestAloneFails(t *testing.T) {
	c, db := demoBlocks(t)
	q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}}
	want := hoursOf(t, db, q)
	got := hoursOf(t, &counting{Source: db, warnAfter: 6}, q)
	for i, s := range got { // each was computed once more, by itself
		if !s.Incomplete || !slices.Contains(s.Warnings, "something is missing") {
			t.Errorf("hour %d: incomplete %v, warnings %v", i, s.Incomplete, s.Warnings)
		}
		if s.Len() != want[i].Len() {
			t.Errorf("hour %d: %d rows, want %d", i, s.Len(), want[i].Len())
		}
	}
	q.Step, q.Alone = time.Hour, true
	cfg := config
	cfg.MaxSamples = 1000
	if _, err := promquery.NewEngine(db, cfg).Compute(t.Context(), q); !errors.Is(err, allocation.ErrTooMuch) {
		t.Errorf("got %v, want too much", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := promquery.NewEngine(db, config).Compute(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	cfg = config
	cfg.Memory = memory.New(4 << 20)
	if sets, err := promquery.NewEngine(db, cfg).Compute(t.Context(), q); err != nil || len(sets) != 4 {
		t.Errorf("with little memory: %d sets, %v", len(sets), err)
	}
}

// TestAloneIsWhole compares hours that are computed one by one with those of one computation of a day in which Prometheus restarts
// at the end of an hour: what ran through that did so in both.
func TestAloneIsWhole(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 3, 4, 20, 0, 0, time.UTC)
	_, db := newDemoBlocks(t, democluster.Config{End: end, Duration: 36 * time.Hour, Nodes: 4, Pods: 40})
	q := allocation.Query{Window: allocation.Window{Start: end.Truncate(24 * time.Hour).Add(-24 * time.Hour), End: end.Truncate(24 * time.Hour)}, After: 5 * time.Minute}
	alone := hoursOf(t, db, q)
	q.Step = time.Hour
	for i, whole := range compute(t, db, q) {
		if math.Abs(sumOf(whole, allocation.RunningSeconds)-sumOf(alone[i], allocation.RunningSeconds)) > 1e-3 || len(whole.Nodes) != len(alone[i].Nodes) {
			t.Errorf("hour %d: ran for %v s on %d nodes, in the day for %v s on %d", i, sumOf(alone[i], allocation.RunningSeconds), len(alone[i].Nodes), sumOf(whole, allocation.RunningSeconds), len(whole.Nodes))
		}
		for col, most := range map[allocation.Column]float64{
			allocation.Cost.Of(allocation.CPU): 1e-6, allocation.Cost.Of(allocation.RAM): 1e-6, allocation.PVCost: 1e-6,
			allocation.NetworkTransferBytes: 1e-4, // a pod's first counter in a window says less than one that was seen before
		} {
			if got, want := sumOf(alone[i], col), sumOf(whole, col); math.Abs(got-want) > most*want {
				t.Errorf("hour %d: %s is %v, in the day %v: %.1e", i, col, got, want, math.Abs(got-want)/want)
			}
		}
	}
}

func sumOf(s *allocation.Set, col allocation.Column) (sum float64) {
	for _, v := range column(s, col) {
		sum += v
	}
	return sum
}

// TestAloneOfServers is TestAlone with a running server, by both protocols, and with blocks before it.
func TestAloneOfServers(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	url := promtest.Start(t, dir, promtest.Config{})
	cut := c.End().Add(-150 * time.Minute).UnixMilli()
	window := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		server, err := remote.New(remote.Config{URL: url, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for name, src := range map[string]promquery.Source{
			"alone":  server,
			"joined": promquery.Join(openBlocks(t, dir), server, at(cut)),
		} {
			for _, resolution := range grids() {
				t.Run(fmt.Sprintf("%s/%s/%s", mode, name, allocation.ResolutionText(resolution)), func(t *testing.T) {
					q := allocation.Query{Window: window, Resolution: resolution}
					for i, s := range hoursOf(t, src, q) {
						q.Window, q.After = s.Window, min(allocation.Evidence, window.End.Sub(s.Window.End))
						own := compute(t, src, q)
						if !bytes.Equal(stored(t, own[0]), stored(t, s)) {
							t.Errorf("hour %d differs", i)
							compareShards(t, own[0], []*allocation.Set{s})
						}
					}
				})
			}
		}
	}
}

// column are the values of a column that was read.
func column(s *allocation.Set, c allocation.Column) []float64 {
	values, err := s.Column(c)
	if err != nil {
		panic(err)
	}
	return values
}
