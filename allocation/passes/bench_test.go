package passes_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// benchSet is a set of n containers on n/50 nodes in n/200 namespaces, with labels of their own.
func benchSet(n int) *allocation.Set {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	s := allocation.NewSet(allocation.Window{Start: testStart, End: testStart.Add(time.Hour)}, allocation.NewDict())
	for i := range n {
		app := "app-" + strconv.Itoa(i/10)
		r := allocation.Row{Start: testStart, End: testStart.Add(time.Hour), Labels: map[string]string{"app": app, "pod_template_hash": strconv.Itoa(i / 10), "team": "t" + strconv.Itoa(i%7)}}
		r.Text = [allocation.Services]string{
			"cluster-one", "node-" + strconv.Itoa(i%(1+n/50)), "ns-" + strconv.Itoa(i/200), app + "-" + strconv.Itoa(i), "uid-" + strconv.Itoa(i), "main", "deployment", app, "aws:///eu-1/i-" + strconv.Itoa(i%(1+n/50)),
		}
		for c := range r.Values {
			r.Values[c] = rng.Float64()
		}
		s.Append(&r)
	}
	for i := range 1 + n/50 {
		name := "node-" + strconv.Itoa(i)
		s.Nodes = append(s.Nodes, allocation.Node{
			Cluster: "cluster-one", Name: name, Start: testStart, End: testStart.Add(time.Hour),
			Cost: [allocation.NumResources]float64{60, 60, 60}, Idle: [allocation.NumResources]float64{9, 9, 9}, Adjustment: [allocation.NumResources]float64{-1, -1, -1},
		})
		s.Disks = append(s.Disks, allocation.Disk{Cluster: "cluster-one", Name: name, Local: true, Start: testStart, End: testStart.Add(time.Hour), Cost: 1})
	}
	return s
}

// halfFilter selects every other row.
type halfFilter struct{}

func (halfFilter) Needs() *allocation.Projection { return allocation.OfRows(nil) }

func (halfFilter) Bind(*allocation.Set) (func(int) bool, error) {
	return func(row int) bool { return row&1 == 0 }, nil
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		s := benchSet(n)
		for _, bc := range []struct {
			name      string
			aggregate string
			o         passes.Options
		}{
			{"namespace", "namespace", passes.Options{Idle: true}},
			{"namespace-filtered", "namespace", passes.Options{Idle: true, Filter: halfFilter{}}},
			{"namespace-label-controller", "namespace,label:app,controller", passes.Options{Idle: true}},
			{"container", "", passes.Options{Idle: true}},
			{"namespace-shared", "namespace", passes.Options{
				ShareIdle: passes.Weighted, SharedBreakdown: true,
				Share: []passes.Share{{Name: "ns-0", Filter: inNamespace("ns-0")}, {Name: "ns-1", Filter: inNamespace("ns-1")}},
			}},
			{"namespace-everything", "namespace", passes.Options{
				ShareIdle: passes.Weighted, IdleByNode: true, ShareTenancy: true, SharedCost: 100, ShareSplit: passes.Even,
				Share: []passes.Share{{Name: "ns-0", Filter: inNamespace("ns-0")}}, Filter: halfFilter{}, Proportions: true,
			}},
		} {
			bc.o.Aggregate = keys(b, bc.aggregate)
			b.Run(fmt.Sprintf("rows=%d/by=%s", n, bc.name), func(b *testing.B) {
				b.ReportAllocs()
				rows := 1
				for b.Loop() {
					out, err := passes.Apply([]*allocation.Set{s}, bc.o)
					if err != nil {
						b.Fatal(err)
					}
					rows = max(1, out[0].Len())
				}
				b.ReportMetric(float64(testing.AllocsPerRun(1, func() { _, _ = passes.Apply([]*allocation.Set{s}, bc.o) }))/float64(rows), "allocs/result")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
			})
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		s := randomModels(rand.New(rand.NewPCG(1, 1)), 1, n)[0].set(allocation.NewDict())
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := passes.Check(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchFrame is an hour of 10,000 containers over dict, in their order; most run all of it. All properties are deferred but the kinds and
// names of controllers.
func benchFrame(rng *rand.Rand, dict *allocation.Dict, start time.Time) *allocation.Frame {
	f := &allocation.Frame{}
	add := func(p allocation.Property, id allocation.ID) { f.IDs[p] = append(f.IDs[p], id) }
	for i := range 10_000 {
		for range 1 + rng.IntN(100)/99 {
			app := "app-" + strconv.Itoa(i/10)
			begin := start
			if rng.IntN(50) == 0 {
				begin = start.Add(time.Duration(rng.IntN(3600)) * time.Second)
			}
			f.Special = append(f.Special, allocation.Workload)
			f.Start, f.End = append(f.Start, begin.UnixMilli()), append(f.End, start.Add(time.Hour).UnixMilli())
			node := strconv.Itoa(rng.IntN(100))
			for p, text := range []string{"cluster-one", "node-" + node, "ns-" + strconv.Itoa(i/200), app + "-" + strconv.Itoa(rng.IntN(1000)), "uid-" + strconv.Itoa(rng.IntN(1000)), "main", "deployment", app, "i-" + node} {
				add(allocation.Property(p), dict.Add(text))
			}
			labels := map[string]string{"app": app, "team": "t" + strconv.Itoa(i/200%7)}
			add(allocation.Labels, dict.AddMap(labels))
			add(allocation.NamespaceLabels, dict.AddMap(map[string]string{"env": "prod"}))
		}
	}
	for _, p := range []allocation.Property{allocation.Cluster, allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container, allocation.ProviderID, allocation.Labels, allocation.NamespaceLabels} {
		f.Deferred[p], f.IDs[p] = deferredIDs{ids: f.IDs[p]}, nil
	}
	for c := range allocation.NumColumns {
		if c%3 > 0 {
			continue // all 0
		}
		values := make([]float64, len(f.Special))
		for i := range values {
			values[i] = rng.Float64()
		}
		f.Values[c] = values
	}
	return f
}

// BenchmarkAccumulation sums two days of hours by day as the ledger reads them: eight at a time, over a dictionary of their own.
func BenchmarkAccumulation(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var batches [][]*allocation.Set
	for hour := range 48 {
		at := testStart.Add(time.Duration(hour) * time.Hour)
		if hour%8 == 0 {
			batches = append(batches, nil)
		}
		batch := &batches[len(batches)-1]
		dict := allocation.NewDict()
		if len(*batch) > 0 {
			dict = (*batch)[0].Dict()
		}
		s := allocation.NewSet(allocation.Window{Start: at, End: at.Add(time.Hour)}, dict)
		if err := s.AppendFrame(benchFrame(rng, dict, at)); err != nil {
			b.Fatal(err)
		}
		*batch = append(*batch, s)
	}
	for _, bc := range []struct {
		name string
		o    passes.Options
	}{
		{"controller-a-day", passes.Options{Aggregate: keys(b, "controller"), Accumulate: allocation.Day}},
		{"kind", passes.Options{Aggregate: keys(b, "controllerKind"), Accumulate: allocation.All}},
		{"controller-each", passes.Options{Aggregate: keys(b, "controller")}},
		{"controller-filtered", passes.Options{Aggregate: keys(b, "controller"), Accumulate: allocation.All, Filter: benchFilter{}}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sum := passes.NewAccumulation(bc.o, 1<<14)
				for _, batch := range batches {
					out, err := sum.Apply(batch)
					if err != nil {
						b.Fatal(err)
					}
					for _, s := range out {
						sum.Add(s)
					}
				}
				if len(sum.Sets()) == 0 {
					b.Fatal("there are no sets")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/48, "µs/set")
		})
	}
}

// benchFilter selects rows that lie side by side.
type benchFilter struct{}

func (benchFilter) Needs() *allocation.Projection {
	return allocation.OfRows([]allocation.Property{allocation.Controller})
}

func (benchFilter) Bind(s *allocation.Set) (func(int) bool, error) {
	want, _ := s.Dict().Find("app-77")
	ids := idsOf(s, allocation.Controller)
	return func(row int) bool { return ids[row] == want }, nil
}

// BenchmarkMerge merges the hours of a day of 10,000 containers, as the recorder does when it rolls up a day.
func BenchmarkMerge(b *testing.B) {
	rng, dict := rand.New(rand.NewPCG(1, 1)), allocation.NewDict()
	day := allocation.Window{Start: testStart, End: testStart.Add(24 * time.Hour)}
	var sets []*allocation.Set
	for hour := range 24 {
		at := testStart.Add(time.Duration(hour) * time.Hour)
		f := benchFrame(rng, dict, at)
		for p, deferred := range f.Deferred {
			if deferred != nil {
				f.IDs[p], f.Deferred[p] = deferred.(deferredIDs).ids, nil
			}
		}
		s := allocation.NewSet(allocation.Window{Start: at, End: at.Add(time.Hour)}, dict)
		if err := s.AppendFrame(f); err != nil {
			b.Fatal(err)
		}
		s, err := passes.Merge(s.Window, []*allocation.Set{s}) // in the order in which sets are stored
		if err != nil {
			b.Fatal(err)
		}
		sets = append(sets, s)
	}
	for b.Loop() {
		if _, err := passes.Merge(day, sets); err != nil {
			b.Fatal(err)
		}
	}
}
