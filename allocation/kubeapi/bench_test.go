package kubeapi_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// BenchmarkSelect lists 100,000 allocations by selectors that select one or none: what remains is what selecting takes.
func BenchmarkSelect(b *testing.B) {
	const objects = 100_000
	f := newFake()
	f.pods = many(objects)
	r := newAPI(b, f, kubeapi.Config{MaxMemory: 4 << 30}).resources["allocations"]
	if _, err := r.Get(in(b, ""), "none", nil); err == nil { // reads them all
		b.Fatal("found none")
	}
	for _, bm := range []struct{ name, field, label string }{
		{"field", "spec.node=none", ""},
		{"fields", "spec.controller=web,spec.controllerKind=deployment,spec.node=none", ""},
		{"not", "spec.controller!=web", ""},
		{"label", "", "app=none"},
		{"labels", "", "tier=front,app in (a,b,c)"},
		{"both", "spec.controller=web", "app=none"},
		{"name", "metadata.name=web-000001", ""},
	} {
		b.Run(bm.name, func(b *testing.B) {
			o := options(b, bm.field, bm.label)
			ctx := in(b, "")
			b.ReportAllocs()
			for b.Loop() {
				list, err := r.List(ctx, o)
				if err != nil || meta.LenList(list) > 1 {
					b.Fatal(err, meta.LenList(list))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/objects, "ns/object")
		})
	}
}

// BenchmarkList makes objects of 10,000 allocations, and a table of them.
func BenchmarkList(b *testing.B) {
	f := newFake()
	f.pods = many(10_000)
	r := newAPI(b, f, kubeapi.Config{MaxMemory: 4 << 30}).resources["allocations"]
	b.ReportAllocs()
	for b.Loop() {
		ctx, sent := context.WithCancel(in(b, ""))
		list, err := r.List(ctx, nil)
		if err == nil {
			_, err = r.ConvertToTable(ctx, list, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
		sent()
	}
}
