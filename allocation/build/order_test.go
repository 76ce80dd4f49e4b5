package build_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// TestOrderOfPods adds series of many pods, each signal in an order of its own, some of pods that are new by then. Each row has the
// request and the usage of its own pod.
func TestOrderOfPods(t *testing.T) {
	t.Parallel()
	const many, seed = 200, 7
	rng := rand.New(rand.NewPCG(seed, 0))
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	q := allocation.Query{Window: allocation.Window{Start: end.Add(-time.Hour), End: end}}
	b, err := build.NewBuilder(t.Context(), q, time.Minute, pricing.Default(), symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	from := b.Sampling().LoadStart()
	scrapes := int((end.Add(time.Hour).UnixMilli() - from) / 60_000)
	pods := rng.Perm(many)
	add := func(series signals.Series, more []string, value func(pod int) float64) {
		t.Helper()
		if rng.IntN(2) == 0 {
			pods = rng.Perm(many)
		}
		for i, pod := range pods {
			if series.Signal == signals.ContainerRunning && i%10 == 0 {
				continue // others show these first
			}
			key := []signals.Symbol{symbols.Of("c"), symbols.Of("n"), symbols.Of(fmt.Sprint("pod-", pod)), symbols.Of(fmt.Sprint("uid-", pod)), symbols.Of("main")}
			for _, text := range more {
				key = append(key, symbols.Of(text))
			}
			var p timeline.Points
			if series.Signal == signals.ContainerUse {
				for k := range scrapes {
					p.Append(from+int64(k)*60_000, value(pod)*60*float64(k))
				}
			} else {
				p.AppendRun(from, 60_000, scrapes, value(pod))
			}
			if err := b.Add(series, key, &p); err != nil {
				t.Fatal(err)
			}
		}
	}
	of := func(pod int) float64 { return float64(pod%40+1) / 10 }
	for range 4 { // what is missing of running containers comes with another round
		add(signals.Series{Signal: signals.ContainerRunning}, []string{""}, func(int) float64 { return 1 })
		add(signals.Series{Signal: signals.ContainerRequest, Resource: allocation.CPU}, nil, of)
	}
	if err := b.Resolve(); err != nil {
		t.Fatal(err)
	}
	add(signals.Series{Signal: signals.ContainerUse, Resource: allocation.CPU}, []string{"", "s"}, func(pod int) float64 { return 2 * of(pod) })
	if _, err := b.Finalize(); err != nil {
		t.Fatal(err)
	}
	sets, err := b.Sets()
	if err != nil {
		t.Fatal(err)
	}
	set := sets[0]
	if set.Len() != many {
		t.Fatalf("%d rows, want %d", set.Len(), many)
	}
	for row := range many {
		var pod int
		if _, err := fmt.Sscanf(set.Text(allocation.Pod, row), "pod-%d", &pod); err != nil {
			t.Fatal(err)
		}
		request, usage := set.Value(allocation.RequestHours.Of(allocation.CPU), row), set.Value(allocation.UsageHours.Of(allocation.CPU), row)
		if math.Abs(request-of(pod)) > 1e-9 || math.Abs(usage-2*of(pod)) > 1e-9 {
			t.Errorf("pod %d: request %g and usage %g core-hours, want %g and %g", pod, request, usage, of(pod), 2*of(pod))
		}
	}
	if !set.AllZero(allocation.UsageHours.Of(allocation.GPU)) || set.AllZero(allocation.UsageHours.Of(allocation.CPU)) {
		t.Error("a column without values has memory of its own")
	}
}
