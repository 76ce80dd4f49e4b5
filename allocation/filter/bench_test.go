package filter_test

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
)

const benchFilter = `namespace:"ns-3","ns-7"+label[app]!:"app-1"+(controllerKind:"deployment"|pod<~:"pod-1")`

func benchRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{
			cluster: "one", node: fmt.Sprintf("node-%d", i%200), namespace: fmt.Sprintf("ns-%d", i%50), kind: []string{"deployment", "job"}[i%2],
			controller: fmt.Sprintf("c-%d", i%5000), pod: fmt.Sprintf("pod-%d", i), container: "main",
			labels: map[string]string{"app": fmt.Sprintf("app-%d", i%300), "team": "t"},
		}
	}
	return rows
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := filter.Parse(`namespace:"web"+label[app]!:"redis"+controllerKind:"job"`); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		s := makeSet(benchRows(n))
		f, err := filter.Parse(benchFilter)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bound(f, s)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		rows := benchRows(n)
		f, err := filter.Parse(benchFilter)
		if err != nil {
			b.Fatal(err)
		}
		perRow := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row") }
		b.Run(fmt.Sprintf("bound/%d", n), func(b *testing.B) {
			match := bound(f, makeSet(rows))
			b.ReportAllocs()
			for b.Loop() {
				for i := range n {
					match(i)
				}
			}
			perRow(b)
		})
		b.Run(fmt.Sprintf("plain/%d", n), func(b *testing.B) {
			expr := benchExpr
			for b.Loop() {
				for i := range n {
					evaluate(expr, rows[i])
				}
			}
			perRow(b)
		})
	}
}

// benchExpr is benchFilter for the plain evaluator.
var benchExpr = filter.And{
	&filter.Comparison{Field: filter.Namespace, Values: []string{"ns-3", "ns-7"}},
	&filter.Comparison{Field: filter.Label, Key: "app", Op: filter.NotEqual, Values: []string{"app-1"}},
	filter.Or{
		&filter.Comparison{Field: filter.ControllerKind, Values: []string{"deployment"}},
		&filter.Comparison{Field: filter.Pod, Op: filter.Prefix, Values: []string{"pod-1"}},
	},
}

// BenchmarkAssets filters assets, whose values are strings without ids.
func BenchmarkAssets(b *testing.B) {
	const n = 10_000
	list := make([]allocation.Asset, n)
	for i := range list {
		list[i] = allocation.Asset{
			Type: allocation.AssetType(i % 3), Cluster: "one", Title: fmt.Sprintf("asset-%d", i), Category: "Compute",
			Labels: map[string]string{"pool": fmt.Sprintf("p%d", i%10), "zone": "a"},
		}
	}
	f, err := filter.ParseAssets(`assetType:"node","disk"+label[pool]!:"p1"+(cluster:"two"|name<~:"asset-1")`)
	if err != nil {
		b.Fatal(err)
	}
	match := f.BindAssets(nil)
	b.ReportAllocs()
	for b.Loop() {
		for i := range list {
			match(&list[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/asset")
}

// BenchmarkSaved filters an answer with 10,000 allocations.
func BenchmarkSaved(b *testing.B) {
	var body bytes.Buffer
	if err := encode.Allocations(&body, []*allocation.Set{makeSet(benchRows(10_000))}, encode.Options{}); err != nil {
		b.Fatal(err)
	}
	f, err := filter.Parse(benchFilter)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		if _, err := f.Saved(bytes.NewReader(body.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBindSelectors compiles selectors of Kubernetes for rows of 100,000 names and 300 maps of labels.
func BenchmarkBindSelectors(b *testing.B) {
	s := makeSet(benchRows(100_000))
	for _, text := range []string{"metadata.namespace=ns-3", "metadata.name!=x", "spec.controllerKind=job"} {
		e, err := filter.NewSelectable().Parse(filter.Allocations, text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				bound(filter.New(e), s)
			}
		})
	}
	e, err := filter.ParseLabelSelector("app in (app-1,app-2),team,!canary")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("labels", func(b *testing.B) {
		for b.Loop() {
			bound(filter.New(e), s)
		}
	})
}
