package promquery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/promtest"
)

// forgetful is a source in workers whose series lack some labels and metrics.
type forgetful struct {
	*blocks.DB
	labels, metrics []string
}

func (f forgetful) SelectParallel(ctx context.Context, sels []promquery.Selector, workers promquery.Workers) (promquery.Stats, error) {
	sels = slices.Clone(sels)
	for i := range sels {
		sels[i].Keep = slices.Clone(sels[i].Keep)
		for k, name := range sels[i].Keep {
			if slices.Contains(f.labels, name) {
				sels[i].Keep[k] = "hidden"
			}
		}
		if slices.Contains(f.metrics, sels[i].Metric) {
			sels[i].Metric = "hidden"
		}
	}
	return f.DB.SelectParallel(ctx, sels, workers)
}

// mixed is a source in workers that knows the ids of some series only.
type mixed struct{ *blocks.DB }

func (m mixed) SelectParallel(ctx context.Context, sels []promquery.Selector, workers promquery.Workers) (promquery.Stats, error) {
	hide := func(i int, key []promquery.Symbol) []promquery.Symbol {
		at := slices.Index(sels[i].Keep, "id")
		if at < 0 || crc32.ChecksumIEEE([]byte(key[at].Value()))%2 == 0 {
			return key
		}
		key = slices.Clone(key)
		key[at] = promquery.Symbol{}
		return key
	}
	given := workers
	workers.Yield = func(worker, i int, key []promquery.Symbol, p *timeline.Points) error {
		return given.Yield(worker, i, hide(i, key), p)
	}
	if given.Of != nil {
		workers.Of = func(i int, key []promquery.Symbol) int { return given.Of(i, hide(i, key)) }
	}
	return m.DB.SelectParallel(ctx, sels, workers)
}

// namesakes is a source in which all pods of a ReplicaSet have one name, wherever they run, and some series no ids.
func namesakes(t *testing.T, dir string) mixed {
	t.Helper()
	var list []promtest.Series
	seen := map[string]bool{}
	for _, s := range seriesOf(t, dir) {
		for i := 0; i+1 < len(s.Labels); i += 2 {
			if name := s.Labels[i+1]; s.Labels[i] == "pod" && strings.Count(name, "-") > 1 {
				s.Labels[i+1] = name[:strings.LastIndexByte(name, '-')]
			}
		}
		if text := strings.Join(s.Labels, "\x00"); !seen[text] {
			seen[text] = true
			list = append(list, s)
		}
	}
	twins := t.TempDir()
	promtest.WriteBlocks(t, twins, 2*time.Hour, list...)
	return mixed{openBlocks(t, twins)}
}

// TestParallel compares results to the last bit with any number of workers, also if series belong to no single container, or
// create one.
func TestParallel(t *testing.T) {
	c, dir := demoDir(t)
	db := openBlocks(t, dir)
	sources := map[string]promquery.Source{
		"as it is":    db,
		"namesakes":   namesakes(t, dir),
		"without ids": forgetful{db, []string{"id"}, nil},
		"usage alone": forgetful{db, nil, []string{"kube_pod_container_status_running", "kube_pod_container_info", "kube_pod_init_container_status_running"}},
	}
	for name, src := range sources {
		for _, resolution := range grids() {
			t.Run(fmt.Sprintf("%s/%s", name, allocation.ResolutionText(resolution)), func(t *testing.T) {
				q := allocation.Query{Window: allocation.Window{Start: c.Start().Add(time.Hour), End: c.End()}, Step: 3 * time.Hour, Resolution: resolution}
				var want []byte
				for _, n := range []int{1, 2, 3, 8} {
					cfg := config
					cfg.Parallel = n
					sets, err := promquery.NewEngine(src, cfg).Compute(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					if len(sets) < 3 || sets[0].Len() == 0 {
						t.Fatalf("got %d sets, want several with allocations", len(sets))
					}
					var got bytes.Buffer
					var lists []*assets.Set
					for _, s := range sets {
						lists = append(lists, assets.List(s, assets.Options{}))
					}
					if err := errors.Join(encode.Allocations(&got, sets, encode.Options{}), encode.Assets(&got, lists, encode.Options{})); err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = got.Bytes()
					} else if !bytes.Equal(got.Bytes(), want) {
						t.Errorf("%d workers: the sets differ from those of one", n)
					}
				}
			})
		}
	}
}

// workerOf spreads series over workers by the pod's name; those of pods of an odd length belong to all.
func workerOf(workers int) func(int, []promquery.Symbol) int {
	return func(_ int, key []promquery.Symbol) int {
		pod := "0" + key[0].Value()
		if len(pod)%2 == 0 {
			return workers
		}
		return int(pod[len(pod)-1]) % workers
	}
}

func TestSelectParallel(t *testing.T) {
	c, db := demoBlocks(t)
	var sels []promquery.Selector
	for _, metric := range []string{"container_memory_working_set_bytes", "kube_pod_info", "none_such", "container_cpu_usage_seconds_total"} {
		sels = append(sels, promquery.Selector{Metric: metric, Keep: []string{"pod", "container", "id"}, Start: c.Start().UnixMilli(), End: c.End().UnixMilli()})
	}
	const n = 3
	read := func() (given [n + 1][]string, stats promquery.Stats) {
		var busy [n]atomic.Bool
		of := workerOf(n)
		stats, err := db.SelectParallel(t.Context(), sels, promquery.Workers{
			N: n, Of: of,
			Yield: func(worker, i int, key []promquery.Symbol, p *timeline.Points) error {
				if want := of(i, key); worker != want {
					t.Errorf("series of pod %s: came in worker %d, want %d", key[0].Value(), worker, want)
				}
				for k := range busy {
					if worker == n && busy[k].Load() {
						t.Errorf("series of all workers came while worker %d was at work", k)
					}
				}
				if worker < n {
					if !busy[worker].CompareAndSwap(false, true) {
						t.Errorf("worker %d was called twice at a time", worker)
					}
					defer busy[worker].Store(false)
				}
				given[worker] = append(given[worker], fmt.Sprint(i, key[0].Value(), key[1].Value(), key[2].Value(), p.Len(), p.First(), p.Last()))
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return given, stats
	}
	first, stats := read()
	again, _ := read()
	if diff := cmp.Diff(again, first); diff != "" {
		t.Errorf("the order changed (-second +first):\n%s", diff)
	}
	var all, plain []string
	for _, worker := range first {
		if len(worker) == 0 {
			t.Error("a worker got no series")
		}
		all = append(all, worker...)
	}
	want, err := db.Select(t.Context(), sels, func(i int, key []promquery.Symbol, p *timeline.Points) error {
		plain = append(plain, fmt.Sprint(i, key[0].Value(), key[1].Value(), key[2].Value(), p.Len(), p.First(), p.Last()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	slices.Sort(plain)
	if diff := cmp.Diff(all, plain); diff != "" {
		t.Errorf("series in workers differ from those without (-workers +plain):\n%s", diff)
	}
	if diff := cmp.Diff(stats, want, cmpopts.IgnoreFields(promquery.Request{}, "Took")); diff != "" {
		t.Errorf("stats differ (-workers +plain):\n%s", diff)
	}
}

// TestWorkerErrors ends a Select by an error of one worker while the others are at work.
func TestWorkerErrors(t *testing.T) {
	c, db := demoBlocks(t)
	sel := promquery.Selector{Metric: "container_memory_working_set_bytes", Keep: []string{"pod"}, Start: c.Start().UnixMilli(), End: c.End().UnixMilli()}
	boom := errors.New("boom")
	const n = 3
	for bad := range n + 1 {
		t.Run(fmt.Sprintf("worker %d", bad), func(t *testing.T) {
			var mu sync.Mutex
			failed := 0
			_, err := db.SelectParallel(t.Context(), []promquery.Selector{sel, sel, sel}, promquery.Workers{
				N: n, Of: workerOf(n),
				Yield: func(worker, _ int, _ []promquery.Symbol, _ *timeline.Points) error {
					if worker != bad {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					failed++
					return boom
				},
			})
			if err != boom || failed != 1 { //nolint:errorlint // the contract says that it is returned unwrapped
				t.Errorf("got %v after %d calls, want the error itself after one", err, failed)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := db.SelectParallel(ctx, []promquery.Selector{sel, sel}, promquery.Workers{
		N: n, Of: workerOf(n),
		Yield: func(int, int, []promquery.Symbol, *timeline.Points) error { cancel(); return nil },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the request was canceled, want %v", err, context.Canceled)
	}
}
