package allocation_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
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

func (halfFilter) Bind(*allocation.Set) (func(int) bool, error) {
	return func(row int) bool { return row&1 == 0 }, nil
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		s := benchSet(n)
		for _, bc := range []struct {
			name      string
			aggregate string
			o         allocation.Options
		}{
			{"namespace", "namespace", allocation.Options{Idle: true}},
			{"namespace-filtered", "namespace", allocation.Options{Idle: true, Filter: halfFilter{}}},
			{"namespace-label-controller", "namespace,label:app,controller", allocation.Options{Idle: true}},
			{"container", "", allocation.Options{Idle: true}},
			{"namespace-shared", "namespace", allocation.Options{
				ShareIdle: allocation.Weighted, SharedBreakdown: true,
				Share: []allocation.Share{{Name: "ns-0", Filter: inNamespace("ns-0")}, {Name: "ns-1", Filter: inNamespace("ns-1")}},
			}},
			{"namespace-everything", "namespace", allocation.Options{
				ShareIdle: allocation.Weighted, IdleByNode: true, ShareTenancy: true, Reconcile: true, SharedCost: 100, ShareSplit: allocation.Even,
				Share: []allocation.Share{{Name: "ns-0", Filter: inNamespace("ns-0")}}, Filter: halfFilter{}, Proportions: true,
			}},
		} {
			bc.o.Aggregate = keys(b, bc.aggregate)
			b.Run(fmt.Sprintf("rows=%d/by=%s", n, bc.name), func(b *testing.B) {
				b.ReportAllocs()
				rows := 1
				for b.Loop() {
					out, err := allocation.Apply([]*allocation.Set{s}, bc.o)
					if err != nil {
						b.Fatal(err)
					}
					rows = max(1, out[0].Len())
				}
				b.ReportMetric(float64(testing.AllocsPerRun(1, func() { _, _ = allocation.Apply([]*allocation.Set{s}, bc.o) }))/float64(rows), "allocs/result")
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
				if err := s.Check(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
