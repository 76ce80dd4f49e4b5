package passes_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// deferredIDs gives ids to its values when they are needed.
type deferredIDs struct {
	ids []allocation.ID
	err error
}

func (l deferredIDs) Common(_ *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
	for row, g := range group {
		if !differ[g] {
			differ[g] = l.ids[row] != l.ids[first[g]]
		}
	}
	for g, row := range first {
		if row >= 0 && !differ[g] {
			ids[g] = l.ids[row]
		}
	}
	return l.err
}

func (l deferredIDs) Latest(_ *allocation.Dict, group []int32, ids []allocation.ID) error {
	for row, g := range group {
		if l.ids[row] != 0 {
			ids[g] = l.ids[row]
		}
	}
	return l.err
}

// randomFrame is a frame of random rows.
func randomFrame(r *rand.Rand, dict *allocation.Dict, n int) (whole allocation.Frame) {
	base := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for range n {
		whole.Special = append(whole.Special, []allocation.Special{allocation.Workload, allocation.Workload, allocation.Workload, allocation.Unmounted}[r.IntN(4)])
		whole.Start, whole.End = append(whole.Start, base), append(whole.End, base+3600e3)
	}
	namespaces := make([]int, n) // in runs, as kept rows are
	for row := range namespaces {
		if row > 0 {
			namespaces[row] = namespaces[row-1] + r.IntN(20)/19
		}
	}
	for p := range allocation.NumProperties {
		if r.IntN(5) == 0 {
			continue // missing in all rows
		}
		ids := make([]allocation.ID, n)
		for row := range ids {
			text := string(rune('a' + r.IntN(3)))
			switch {
			case p == allocation.Namespace:
				ids[row] = dict.Add(string(rune('a' + namespaces[row]%26)))
			case r.IntN(9) == 0:
			case p.IsList():
				ids[row] = dict.AddList([]string{text})
			case p.IsMap():
				ids[row] = dict.AddMap(map[string]string{"k": text})
			default:
				ids[row] = dict.Add(text)
			}
		}
		whole.IDs[p] = ids
	}
	for c := range allocation.NumColumns {
		if r.IntN(3) == 0 {
			continue // all 0
		}
		values := make([]float64, n)
		for row := range values {
			values[row] = r.Float64()
		}
		whole.Values[c] = values
	}
	return whole
}

// idleNodes gives a set nodes that are idle for a part of the time, with an adjustment, and their disks.
func idleNodes(t *testing.T, s *allocation.Set, adjustment float64) *allocation.Set {
	t.Helper()
	bill := map[allocation.AssetKey]float64{}
	for _, name := range []string{"a", "b", "x"} {
		n := allocation.Node{Cluster: "a", Name: name, Start: s.Window.Start, End: s.Window.End}
		n.Idle[allocation.CPU], n.Idle[allocation.RAM] = 3, 4
		n.Cost[allocation.RAM] = 4 // so it takes all of the adjustment
		if adjustment != 0 {
			bill[allocation.AssetKey{Cluster: "a", Name: name}] = adjustment
		}
		s.Nodes = append(s.Nodes, n)
		s.Disks = append(s.Disks, allocation.Disk{Cluster: "a", Name: name, Local: true, Start: n.Start, End: n.End, Cost: 2}) // nobody runs on x
	}
	s, err := passes.Reconcile(s, passes.Adjustments{Nodes: bill})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func frameSet(t *testing.T, dict *allocation.Dict, frames ...allocation.Frame) *allocation.Set {
	t.Helper()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
	for i := range frames {
		if err := s.AppendFrame(&frames[i]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// bits are all contents of a set, with amounts to the last bit.
func bits(s *allocation.Set) []any {
	out := []any{s.Len()}
	for row := range s.Len() {
		out = append(out, s.Name(row), s.Special(row), s.Single(row), s.Minutes(row), math.Float64bits(s.TotalCost(row)))
		for c := range allocation.NumColumns {
			out = append(out, math.Float64bits(s.Value(c, row)))
		}
		for p := range allocation.NumProperties {
			out = append(out, idsOf(s, p)[row])
		}
	}
	return out
}

// randomOptions are options whose passes use most columns and properties of rows.
func randomOptions(t *testing.T, r *rand.Rand) passes.Options {
	t.Helper()
	o := passes.Options{
		Aggregate: keys(t, []string{"namespace", "namespace", "pod", "controller", "label:k", "all", "", "namespace,node"}[r.IntN(8)]), AggregatedMetadata: r.IntN(4) == 0,
		Accumulate: []allocation.Period{allocation.NoPeriod, allocation.All}[r.IntN(2)],
	}
	rare := func(set func()) {
		if r.IntN(8) == 0 {
			set()
		}
	}
	if o.Idle = r.IntN(2) == 0; o.Idle {
		o.IdleByNode = r.IntN(2) == 0
	}
	rare(func() { o.ShareIdle = passes.Weighted })
	if r.IntN(3) == 0 {
		o.Filter = inNamespace(string(rune('a' + r.IntN(3))))
	}
	rare(func() { o.Share = []passes.Share{{Name: "b", Filter: inNamespace("b")}} })
	rare(func() { o.SharedCost = 10 })
	rare(func() { o.ShareLoadBalancers, o.SharedBreakdown = true, true })
	o.ShareTenancy = r.IntN(2) == 0
	return o
}

// TestDeferred applies random options to sets with deferred properties and to sets without. The answers are the same to the last bit.
func TestDeferred(t *testing.T) {
	merges, filtered := 0, 0
	for seed := range soak.Of[uint64](150, 300) {
		r := rand.New(rand.NewPCG(seed, 3))
		dict := allocation.NewDict()
		whole := randomFrame(r, dict, 1+r.IntN(120))
		deferred := whole
		o := randomOptions(t, rand.New(rand.NewPCG(seed, 5))) // whatever columns there are
		if o.OnlyMerges() && !o.AggregatedMetadata && len(o.Aggregate) > 0 {
			merges++
			list := []allocation.Property{allocation.PodUID, allocation.Container, allocation.ProviderID, allocation.NamespaceLabels, allocation.NamespaceAnnotations, allocation.Services, allocation.Cluster, allocation.NodeName}
			if o.Filter != nil { // what rows are named by
				filtered++
				list = append(list, allocation.Pod, allocation.ControllerKind, allocation.Controller, allocation.Labels)
			}
			for _, p := range list {
				if deferred.IDs[p] != nil {
					deferred.Deferred[p], deferred.IDs[p] = deferredIDs{ids: deferred.IDs[p]}, nil
				}
			}
		}
		frames := [][]allocation.Frame{{whole, whole}, {deferred, deferred}}
		if r.IntN(3) > 0 {
			frames = [][]allocation.Frame{{whole}, {deferred}}
		}
		adjustment := []float64{0, 0, 0, 5}[r.IntN(4)]
		want, got := idleNodes(t, frameSet(t, dict, frames[0]...), adjustment), idleNodes(t, frameSet(t, dict, frames[1]...), adjustment)
		for range 2 { // what is decoded once may be again
			before, err := passes.Apply([]*allocation.Set{want, want}, o)
			if err != nil {
				t.Fatal(err)
			}
			after, err := passes.Apply([]*allocation.Set{got, got}, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range before {
				if diff := cmp.Diff(bits(before[i]), bits(after[i])); diff != "" {
					t.Fatalf("seed %d: %+v: -whole +deferred\n%s", seed, o, diff)
				}
			}
		}
	}
	if merges < 50 || filtered < 20 {
		t.Errorf("%d options only merged rows, %d of them those of a filter", merges, filtered)
	}
}

// TestDeferredErrors checks the errors about properties that cannot be decoded.
func TestDeferredErrors(t *testing.T) {
	dict := allocation.NewDict()
	whole := randomFrame(rand.New(rand.NewPCG(1, 3)), dict, 30)
	broken := errors.New("it is broken")
	ids := whole
	ids.IDs[allocation.PodUID], ids.Deferred[allocation.PodUID] = nil, deferredIDs{ids: make([]allocation.ID, 30), err: broken}
	out, err := passes.Apply([]*allocation.Set{frameSet(t, dict, ids)}, passes.Options{Aggregate: keys(t, "namespace")})
	if !errors.Is(err, broken) || out != nil {
		t.Errorf("got %v and error %v", out, err)
	}
}

// TestOnlyMerges sets each option by itself. A new option has to be listed here.
func TestOnlyMerges(t *testing.T) {
	merges := []string{"Aggregate", "LabelValue", "Idle", "IdleByNode", "SplitIdle", "Filter", "EvenKeys", "Separator", "ShareSplit", "ShareTenancy", "SharedBreakdown", "Accumulate", "Zone", "AggregatedMetadata", "Stopped"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[passes.Options]()) {
		var o passes.Options
		switch v := reflect.ValueOf(&o).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(1)
		case reflect.Int:
			v.SetInt(1)
		case reflect.Uint8:
			v.SetUint(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		default:
			o.Filter, o.Zone = inNamespace("a"), time.UTC
		}
		if got, want := o.OnlyMerges(), slices.Contains(merges, field.Name); got != want {
			t.Errorf("%s: only merges: %v, want %v", field.Name, got, want)
		}
	}
}

// TestAddPairs checks that a map has the same id whether its strings or the ids of its strings are interned.
func TestAddPairs(t *testing.T) {
	dict := allocation.NewDict()
	want := dict.AddMap(map[string]string{"a": "1", "b": "2"})
	got := dict.AddPairs([]allocation.Pair{{Key: dict.Add("a"), Value: dict.Add("1")}, {Key: dict.Add("b"), Value: dict.Add("2")}})
	if got != want || dict.AddPairs(nil) != 0 {
		t.Errorf("got %d, want %d", got, want)
	}
}
