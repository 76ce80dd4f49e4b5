package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/parquet"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

var parquetWindow = allocation.Window{Start: time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)}

// randomSet is a set of n rows and assets with values in every field, sound or not.
func randomSet(rng *rand.Rand, n int) *allocation.Set {
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	s.Resolution, s.Warnings = time.Minute, []string{"a warning", "of two"}
	for i := range n {
		s.Append(randomRow(rng, s.Dict(), i))
	}
	for i := range rng.IntN(5) {
		node := allocation.Node{
			Cluster: "c1", Name: fmt.Sprint("n", i), ProviderID: "aws:///eu-1/i-" + strconv.Itoa(i), InstanceType: "m5", Region: "eu", Zone: "a", Arch: "arm64",
			Pool: "p", Spot: i%2 == 0, Start: parquetWindow.Start, End: parquetWindow.End.Add(-time.Millisecond), RunningSeconds: rng.Float64(),
			Discount: rng.Float64(), CPUBreakdown: allocation.Breakdown{Idle: 0.1, Other: 0.2, System: 0.3, User: 0.4},
			RAMBreakdown: allocation.Breakdown{Idle: 0.4, Other: 0.3, System: 0.2, User: 0.1},
		}
		if i > 0 {
			node.Created = parquetWindow.Start.Add(-time.Duration(i) * time.Second)
			node.Labels = map[string]string{"zone": "a", "x": ""}
		}
		for r := range allocation.NumResources {
			node.Hours[r], node.Cost[r], node.Idle[r], node.Adjustment[r], node.Overhead[r] = rng.Float64(), rng.Float64(), rng.Float64(), -rng.Float64(), rng.Float64()
			node.PriceSource[r], node.Listed[r] = "sheet "+r.String(), rng.Float64()
		}
		s.Nodes = append(s.Nodes, node)
		s.Disks = append(s.Disks, allocation.Disk{
			Cluster: "c1", Name: fmt.Sprint("pv", i), ProviderID: "vol", Local: i%2 == 1, StorageClass: "gp3", ClaimNamespace: "shop", ClaimName: "data",
			Labels: map[string]string{"k": "v"}, Start: parquetWindow.Start, End: parquetWindow.End, ByteHours: rng.Float64(), UsedByteHours: math.NaN(),
			UsedMax: float64(i), Cost: rng.Float64(), Adjustment: rng.Float64(), PriceSource: "metric",
		})
		s.Balancers = append(s.Balancers, allocation.LoadBalancer{
			Cluster: "c1", Namespace: "web", Service: fmt.Sprint("s", i), IP: "10.0.0.1", ProviderID: "lb", Private: i%2 == 0,
			Start: parquetWindow.Start, End: parquetWindow.End, Hours: 1, Cost: rng.Float64(), Adjustment: rng.Float64(), PriceSource: "sheet",
		})
		s.Residuals = append(s.Residuals, allocation.Residual{Cluster: "c1", Resource: allocation.Resource(i % 3), Cost: rng.Float64(), Overcommit: rng.Float64()})
	}
	s.Networks = []allocation.Network{{Cluster: "c1", Start: parquetWindow.Start, End: parquetWindow.End, CrossZone: 1, CrossRegion: 2, Internet: 3, Adjustment: 4, Price: [3]float64{0.01, 0.02, 0.12}, PriceSource: [3]string{"metric", "", "sheet"}}}
	s.Management = []allocation.Management{{Cluster: "c1", Provisioner: "EKS", Start: parquetWindow.Start, End: parquetWindow.End, Cost: 1, Adjustment: 2, PriceSource: "sheet"}}
	return s
}

func randomRow(rng *rand.Rand, d *allocation.Dict, i int) *allocation.Row {
	r := &allocation.Row{
		Special: []allocation.Special{allocation.Workload, allocation.Workload, allocation.Unmounted, allocation.Unallocated}[rng.IntN(4)],
		Start:   parquetWindow.Start.Add(time.Duration(rng.IntN(1000)) * time.Second), End: parquetWindow.End,
		Labels: map[string]string{}, Annotations: map[string]string{},
	}
	if i%3 == 0 {
		r.GPU = allocation.GPUDevice{Device: "nvidia0", Model: fmt.Sprint("T", i%2), UUID: "GPU-1"}
	}
	for p := range r.Text {
		if rng.IntN(5) > 0 {
			r.Text[p] = fmt.Sprintf("%s-%d", allocation.Property(p), rng.IntN(1+i))
		}
	}
	for k := range rng.IntN(4) {
		r.Services = append(r.Services, fmt.Sprint("svc", k, rng.IntN(3)))
		r.Labels[fmt.Sprint("label", k)] = strconv.Itoa(rng.IntN(3))
		r.Annotations[fmt.Sprint("annotation", k)] = "ünïcode\x00\"" + strconv.Itoa(rng.IntN(1000))
	}
	if rng.IntN(2) == 0 {
		r.NSLabels, r.NSAnnotations = map[string]string{"ns": "x"}, map[string]string{"owner": ""}
	}
	for k := range rng.IntN(3) {
		r.Volumes = append(r.Volumes, allocation.VolumeShare{Key: d.Add(fmt.Sprint("pv", k)), ProviderID: d.Add("vol"), ByteHours: rng.Float64(), Cost: rng.Float64(), Adjustment: rng.Float64()})
		r.LoadBalancers = append(r.LoadBalancers, allocation.LoadBalancerShare{
			Key: d.Add(fmt.Sprint("lb", k)), Service: d.Add("web/x"), IP: d.Add("10.0.0.1"), Private: k == 1, Hours: rng.Float64(), Cost: rng.Float64(), Adjustment: rng.Float64(),
		})
	}
	for of := range r.Levels {
		for k := range rng.IntN(4) {
			r.Levels[of] = append(r.Levels[of], allocation.Level{Bucket: allocation.BucketAt(rng.IntN(300) + 300*k), Millis: 1 + rng.Int64N(1<<40)})
		}
	}
	unknown := unknownColumns()
	for c := range r.Values {
		if slices.Contains(unknown, allocation.Column(c)) { // which the oldest files do not have
			r.Values[c] = float64(i * c % 3)
			continue
		}
		switch rng.IntN(3) {
		case 0:
			r.Values[c] = rng.NormFloat64() * 1e9
		case 1:
			r.Values[c] = float64(rng.IntN(3))
		}
	}
	if rng.IntN(3) == 0 {
		r.Values[allocation.MostSeconds] = math.NaN()
	}
	return r
}

// unknownColumns are the columns for unknown usage.
func unknownColumns() (list []allocation.Column) {
	for r := range allocation.NumResources {
		list = append(list, allocation.UnknownSeconds.Of(r), allocation.UnknownRequestHours.Of(r))
	}
	return list
}

// resolvedRow is a row with its ids resolved.
type resolvedRow struct {
	Special    allocation.Special
	Single     bool
	Start, End time.Time
	Properties map[string]any
	Values     map[string]float64 // by the name of the column
	Volumes    []string
	Balancers  []string
	Levels     [len(allocation.LevelResources)][]allocation.Level
}

// resolvedSet is a set with its ids resolved.
type resolvedSet struct {
	Window     allocation.Window
	Resolution time.Duration
	Warnings   []string
	Rows       []resolvedRow
	Nodes      []allocation.Node
	Disks      []allocation.Disk
	Balancers  []allocation.LoadBalancer
	Networks   []allocation.Network
	Management []allocation.Management
	Residuals  []allocation.Residual
}

// resolvedSetOf is all that a set has, for comparison.
func resolvedSetOf(s *allocation.Set) resolvedSet {
	list := make([]resolvedRow, s.Len())
	d := s.Dict()
	for row := range list {
		r := resolvedRow{Special: s.Special(row), Single: s.Single(row), Start: s.Start(row), End: s.End(row), Properties: map[string]any{}, Values: map[string]float64{}}
		for p := range allocation.NumProperties {
			id := idsOf(s, p)[row]
			switch {
			case p.IsMap():
				m := map[string]string{}
				for _, pair := range d.Map(id) {
					m[d.Text(pair.Key)] = d.Text(pair.Value)
				}
				r.Properties[p.String()] = m
			case p.IsList():
				var l []string
				for _, x := range d.List(id) {
					l = append(l, d.Text(x))
				}
				r.Properties[p.String()] = l
			default:
				r.Properties[p.String()] = d.Text(id)
			}
		}
		for c := range allocation.NumColumns {
			r.Values[c.String()] = s.Value(c, row)
		}
		for _, v := range s.Volumes(row) {
			r.Volumes = append(r.Volumes, fmt.Sprint(d.Text(v.Key), d.Text(v.ProviderID), v.ByteHours, v.Cost, v.Adjustment))
		}
		for _, l := range s.LoadBalancerShares(row) {
			r.Balancers = append(r.Balancers, fmt.Sprint(d.Text(l.Key), d.Text(l.Service), d.Text(l.IP), l.Private, l.Hours, l.Cost, l.Adjustment))
		}
		for _, of := range allocation.LevelResources {
			if levels := s.Levels(of, row); len(levels) > 0 {
				r.Levels[of] = levels
			}
		}
		list[row] = r
	}
	return resolvedSet{s.Window, s.Resolution, s.Warnings, list, s.Nodes, s.Disks, s.Balancers, s.Networks, s.Management, s.Residuals}
}

// files are the rows and the assets of a set.
func files(t testing.TB, s *allocation.Set) (rows, assets []byte) {
	t.Helper()
	var out [2]bytes.Buffer
	for i, kind := range [...]parquet.Kind{parquet.Allocations, parquet.Assets} {
		if _, err := parquet.Write(&out[i], s, parquet.Footer{Kind: kind, Zone: "UTC", Complete: true, Shard: 1, Shards: 1}); err != nil {
			t.Fatal(err)
		}
	}
	return out[0].Bytes(), out[1].Bytes()
}

// readBack is the set that files are of.
func readBack(p *allocation.Projection, list ...[]byte) (*allocation.Set, error) {
	var s *allocation.Set
	for _, data := range list {
		f, err := new(parquet.Readers).Open(data, nil)
		if err != nil {
			return nil, err
		}
		if s == nil {
			s = allocation.NewSet(f.Footer.Window, allocation.NewDict())
			s.Resolution, s.Warnings = f.Footer.Resolution, f.Footer.Warnings
		}
		d, err := f.Decode(p)
		if err != nil {
			return nil, err
		}
		if err := d.AppendTo(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func TestParquetRoundTrip(t *testing.T) {
	for seed := range soak.Of[uint64](12, 30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := randomSet(rng, int(seed*5))
		rows, assets := files(t, s)
		got, err := readBack(nil, rows, assets)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(resolvedSetOf(s), resolvedSetOf(got), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: -want +got\n%s", seed, diff)
		}
		again, assetsAgain := files(t, got)
		if !bytes.Equal(again, rows) || !bytes.Equal(assetsAgain, assets) {
			t.Errorf("seed %d: what was read back is written as other bytes", seed)
		}
	}
}

// TestParquetManyPages reads columns that do not fit into one page, and dictionaries with indices of every width.
func TestParquetManyPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	for i := range 70_000 {
		r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End, Services: []string{"a", "b"}[:i%3%2]}
		r.Text[allocation.Pod], r.Text[allocation.Namespace] = fmt.Sprintf("pod-%x", i*2654435761), strconv.Itoa(i/9000)
		r.Values[allocation.PVCost], r.Values[allocation.MostSeconds] = rng.Float64(), []float64{rng.Float64(), math.NaN()}[i%2]
		for width := range 16 {
			r.Values[width] = float64(rng.IntN(1 << width))
		}
		s.Append(&r)
	}
	rows, _ := files(t, s)
	got, err := readBack(nil, rows)
	if err != nil {
		t.Fatal(err)
	}
	for c := range allocation.NumColumns {
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !slices.EqualFunc(column(s, c), column(got, c), same) {
			t.Fatalf("%s differs", c)
		}
	}
	for p := range allocation.NumProperties {
		for row := range s.Len() {
			if !p.IsMap() && !p.IsList() && s.Text(p, row) != got.Text(p, row) {
				t.Fatalf("%s of row %d is %q, not %q", p, row, got.Text(p, row), s.Text(p, row))
			}
		}
	}
}

func TestParquetProjection(t *testing.T) {
	s := randomSet(rand.New(rand.NewPCG(3, 1)), 50)
	rows, _ := files(t, s)
	cost := allocation.Cost.Of(allocation.CPU)
	got, err := readBack(&allocation.Projection{Properties: []allocation.Property{allocation.Namespace}, Columns: []allocation.Column{cost}}, rows)
	if err != nil {
		t.Fatal(err)
	}
	for row := range s.Len() {
		if got.Text(allocation.Namespace, row) != s.Text(allocation.Namespace, row) || got.Value(cost, row) != s.Value(cost, row) {
			t.Errorf("row %d: what was asked for differs", row)
		}
		if got.Start(row) != s.Start(row) {
			t.Errorf("row %d has not its times", row)
		}
	}
	for name, look := range map[string]func() error{
		"column":         func() error { _, err := got.Column(allocation.PVCost); return err },
		"property":       func() error { _, err := got.IDs(allocation.Pod); return err },
		"columns":        func() error { return got.Require(allocation.OfRows(nil, cost, allocation.PVCost)) },
		"properties":     func() error { return got.Require(allocation.OfRows([]allocation.Property{allocation.Labels})) },
		"volumes":        func() error { return got.Require(&allocation.Projection{Volumes: true}) },
		"load balancers": func() error { return got.Require(&allocation.Projection{Balancers: true}) },
		"levels":         func() error { return got.Require(&allocation.Projection{Levels: true}) },
		"everything":     func() error { return got.Require(nil) },
		"check":          func() error { return passes.Check(got) },
		"a format":       func() error { return encode.CSV(io.Discard, got, encode.Options{}) },
		"a file":         func() error { return parquet.NewStream(io.Discard).Rows(got) },
	} {
		if err := look(); !errors.Is(err, allocation.ErrUnread) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, look := range map[string]func(){
		"text": func() { got.Text(allocation.Pod, 0) }, "value": func() { got.Value(allocation.PVCost, 0) }, "list": func() { got.List(allocation.Services, 0) },
		"map": func() { got.Pairs(allocation.Labels, 0) }, "volumes": func() { got.Volumes(0) }, "load balancers": func() { got.LoadBalancerShares(0) },
		"levels": func() { got.Levels(allocation.CPU, 0) },
	} {
		if !panics(look) {
			t.Errorf("%s of a row was not read, and is there", name)
		}
	}
}

// panics reports whether f does.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestParquetZeros checks that columns that are 0 in all rows are read as such, whatever the same memory held before.
func TestParquetZeros(t *testing.T) {
	s := allocation.NewSet(parquetWindow, allocation.NewDict())
	for range 3000 {
		r := allocation.Row{Start: parquetWindow.Start, End: parquetWindow.End}
		r.Values[allocation.PVCost] = 1
		s.Append(&r)
	}
	rows, _ := files(t, s)
	p, readers := &allocation.Projection{}, &parquet.Readers{}
	for c := range allocation.NumColumns {
		p.Columns = append(p.Columns, c)
	}
	for range 2 {
		f, err := readers.Open(rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		got := allocation.NewSet(parquetWindow, allocation.NewDict())
		if err := d.AppendTo(got); err != nil {
			t.Fatal(err)
		}
		for _, field := range fields.All() {
			if field.Name == "sharedCost" && !field.Zero(got) || field.Name == "pvCost" && field.Zero(got) {
				t.Errorf("%s: known to be 0: %v", field.Name, field.Zero(got))
			}
		}
		if got.Value(allocation.PVCost, 7) != 1 {
			t.Errorf("got %g", got.Value(allocation.PVCost, 7))
		}
	}
}

// TestParquetRefuses checks which files are refused.
func TestParquetRefuses(t *testing.T) {
	s := randomSet(rand.New(rand.NewPCG(3, 1)), 5)
	rows, _ := files(t, s)
	aggregated, err := passes.Apply([]*allocation.Set{s}, passes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made, _ := files(t, aggregated[0])
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "open Parquet file"},
		"text":       {[]byte(strings.Repeat("no Parquet\n", 100)), "open Parquet file"},
		"cut":        {rows[:len(rows)-9], "open Parquet file"},
		"newer":      {bytes.Replace(rows, []byte(`{"version":1,`), []byte(`{"version":9,`), 1), "written by a newer version of promcost: its schema has version 9, at most 1 is known: upgrade"},
		"kind":       {bytes.Replace(rows, []byte(`"kind":"allocations"`), []byte(`"kind":"allocatiXns"`), 1), `kind "allocatiXns" is not known`},
		"other's":    {bytes.ReplaceAll(rows, []byte("promcost"), []byte("promcXst")), "promcost has not written it"},
		"aggregated": {made, "its rows were aggregated"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readBack(nil, tc.data); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
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

// idsOf are the ids of a property that was read.
func idsOf(s *allocation.Set, p allocation.Property) []allocation.ID {
	ids, err := s.IDs(p)
	if err != nil {
		panic(err)
	}
	return ids
}
