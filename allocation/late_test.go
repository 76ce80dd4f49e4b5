package allocation_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// lateValues are values that are decoded each time.
type lateValues struct {
	values []float64
	err    error
}

func (l lateValues) Values(dst []float64, from int) error {
	copy(dst, l.values[from:])
	return l.err
}

// lateIDs are ids that are given where they are needed.
type lateIDs struct {
	ids []allocation.ID
	err error
}

func (l lateIDs) Merge(_ *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
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

func (l lateIDs) Last(_ *allocation.Dict, group []int32, ids []allocation.ID) error {
	for row, g := range group {
		if l.ids[row] != 0 {
			ids[g] = l.ids[row]
		}
	}
	return l.err
}

// lateFrames are frames of the same random rows: one has all columns, the other some, and some properties, late.
func lateFrames(r *rand.Rand, dict *allocation.Dict, n int) (whole, late allocation.Frame) {
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
	late = whole
	for c, values := range late.Values {
		if values != nil && r.IntN(4) > 0 {
			late.Values[c], late.LateValues[c] = nil, lateValues{values: values}
		}
	}
	return whole, late
}

// idleNodes gives a set nodes some of whose time nobody was allocated, with an adjustment, and their disks.
func idleNodes(s *allocation.Set, adjustment float64) *allocation.Set {
	for _, name := range []string{"a", "b", "x"} {
		n := allocation.Node{Cluster: "a", Name: name, Start: s.Window.Start, End: s.Window.End}
		n.Idle[allocation.CPU], n.Idle[allocation.RAM] = 3, 4
		n.Adjustment[allocation.RAM] = adjustment
		s.Nodes = append(s.Nodes, n)
		s.Disks = append(s.Disks, allocation.Disk{Cluster: "a", Name: name, Local: true, Start: n.Start, End: n.End, Cost: 2}) // nobody runs on x
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

// bits are all that a set has, amounts to the last bit. singles leaves out the maxima of rows that are not Single.
func bits(s *allocation.Set, singles bool) []any {
	out := []any{s.Len()}
	maxima := []allocation.Column{allocation.UsageMax.Of(allocation.CPU), allocation.UsageMax.Of(allocation.RAM), allocation.UsageMax.Of(allocation.GPU)}
	for row := range s.Len() {
		out = append(out, s.Name(row), s.Special(row), s.Single(row), s.Minutes(row), math.Float64bits(s.TotalCost(row)))
		for c := range allocation.NumColumns {
			if !singles || s.Single(row) || !slices.Contains(maxima, c) {
				out = append(out, math.Float64bits(s.Value(c, row)))
			}
		}
		for p := range allocation.NumProperties {
			out = append(out, s.IDs(p)[row])
		}
	}
	return out
}

// TestLateValues applies random options to sets whose columns are decoded where they are needed, and to those that have them:
// whatever the passes look at, the answers are the same to the last bit.
func TestLateValues(t *testing.T) {
	merges, filtered := 0, 0
	for seed := range soak.Of[uint64](150, 300) {
		r := rand.New(rand.NewPCG(seed, 3))
		dict := allocation.NewDict()
		whole, late := lateFrames(r, dict, 1+r.IntN(120))
		o := allocation.Options{
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
		rare(func() { o.ShareIdle = allocation.Weighted })
		if r.IntN(3) == 0 {
			o.Filter = inNamespace(string(rune('a' + r.IntN(3))))
		}
		rare(func() { o.Share = []allocation.Share{{Name: "b", Filter: inNamespace("b")}} })
		rare(func() { o.SharedCost = 10 })
		rare(func() { o.ShareLoadBalancers, o.SharedBreakdown = true, true })
		o.ShareTenancy = r.IntN(2) == 0
		o.Reconcile = r.IntN(2) == 0
		if o.OnlyMerges() && !o.AggregatedMetadata && len(o.Aggregate) > 0 {
			merges++
			list := []allocation.Property{allocation.PodUID, allocation.Container, allocation.ProviderID, allocation.NamespaceLabels, allocation.NamespaceAnnotations, allocation.Services, allocation.Cluster, allocation.NodeName}
			if o.Filter != nil { // what rows are named by
				filtered++
				list = append(list, allocation.Pod, allocation.ControllerKind, allocation.Controller, allocation.Labels)
			}
			for _, p := range list {
				if late.IDs[p] != nil {
					late.Late[p], late.IDs[p] = lateIDs{ids: late.IDs[p]}, nil
				}
			}
		}
		frames := [][]allocation.Frame{{whole, whole}, {late, late}}
		if r.IntN(3) > 0 {
			frames = [][]allocation.Frame{{whole}, {late}}
		}
		single := o
		single.SingleMaxima = r.IntN(2) == 0
		adjustment := []float64{0, 0, 0, 5}[r.IntN(4)]
		want, got := idleNodes(frameSet(t, dict, frames[0]...), adjustment), idleNodes(frameSet(t, dict, frames[1]...), adjustment)
		for range 2 { // what is decoded once may be again
			before, err := allocation.Apply([]*allocation.Set{want, want}, o)
			if err != nil {
				t.Fatal(err)
			}
			after, err := allocation.Apply([]*allocation.Set{got, got}, single)
			if err != nil {
				t.Fatal(err)
			}
			for i := range before {
				if diff := cmp.Diff(bits(before[i], single.SingleMaxima), bits(after[i], single.SingleMaxima)); diff != "" {
					t.Fatalf("seed %d: %+v: -whole +late\n%s", seed, o, diff)
				}
			}
		}
		for c := range allocation.NumColumns {
			if diff := cmp.Diff(want.Column(c), got.Column(c)); diff != "" {
				t.Fatalf("seed %d: %s: -whole +late\n%s", seed, c, diff)
			}
		}
	}
	if merges < 50 || filtered < 20 {
		t.Errorf("%d options only merged rows, %d of them those of a filter", merges, filtered)
	}
}

// TestSingleMaxima sums hours some of whose results are one container in one hour alone: they keep their largest usage, whatever
// order the hours go through the passes in.
func TestSingleMaxima(t *testing.T) {
	most := allocation.UsageMax.Of(allocation.CPU)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		dict := allocation.NewDict()
		var wholes, lates []*allocation.Set
		for hour := range 1 + r.IntN(5) {
			n := 1 + r.IntN(200)
			start := testStart.Add(time.Duration(hour) * time.Hour)
			var whole allocation.Frame
			names, values := make([]allocation.ID, n), make([]float64, n)
			for row := range n {
				whole.Special = append(whole.Special, allocation.Workload)
				whole.Start, whole.End = append(whole.Start, start.UnixMilli()), append(whole.End, start.Add(time.Hour).UnixMilli())
				names[row], values[row] = dict.Add(string(rune('a'+r.IntN(1+r.IntN(20))))), 1+r.Float64()
			}
			whole.IDs[allocation.Controller] = names
			late := whole
			whole.Values[most], late.LateValues[most] = values, lateValues{values: values}
			for frame, sets := range map[*allocation.Frame]*[]*allocation.Set{&whole: &wholes, &late: &lates} {
				s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
				if err := s.AppendFrame(frame); err != nil {
					t.Fatal(err)
				}
				*sets = append(*sets, s)
			}
		}
		o := allocation.Options{Aggregate: keys(t, "controller"), Accumulate: allocation.All}
		want := apply(t, wholes, o)[0]
		o.SingleMaxima = true
		sum, passed := allocation.NewAccumulation(o, r.IntN(40)), make([][]*allocation.Set, len(lates))
		for _, k := range r.Perm(len(lates)) {
			var err error
			if passed[k], err = sum.Apply(lates[k : k+1]); err != nil {
				t.Fatal(err)
			}
		}
		for _, sets := range passed {
			sum.Add(sets[0])
		}
		got := sum.Sets()[0]
		for row := range want.Len() {
			if want.Single(row) && want.Value(most, row) != got.Value(most, row) || want.Single(row) != got.Single(row) {
				t.Errorf("seed %d: %s is %g, want %g", seed, want.Name(row), got.Value(most, row), want.Value(most, row))
			}
		}
	}
}

// TestLateErrors tells of what cannot be decoded: it is an error, or NaN where there is no place for one, never zeros.
func TestLateErrors(t *testing.T) {
	dict := allocation.NewDict()
	whole, _ := lateFrames(rand.New(rand.NewPCG(1, 3)), dict, 30)
	broken := errors.New("it is broken")
	values, ids := whole, whole
	cost := allocation.Cost.Of(allocation.CPU)
	values.Values[cost], values.LateValues[cost] = nil, lateValues{values: make([]float64, 30), err: broken}
	ids.IDs[allocation.PodUID], ids.Late[allocation.PodUID] = nil, lateIDs{ids: make([]allocation.ID, 30), err: broken}
	for _, tc := range []struct {
		name    string
		frame   allocation.Frame
		options allocation.Options
	}{
		{"values", values, allocation.Options{Aggregate: keys(t, "namespace")}},
		{"filtered", values, allocation.Options{Aggregate: keys(t, "namespace"), Filter: inNamespace("a")}},
		{"idle", values, allocation.Options{Idle: true}},
		{"check", values, allocation.Options{Check: true}},
		{"ids", ids, allocation.Options{Aggregate: keys(t, "namespace")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, err := allocation.Apply([]*allocation.Set{frameSet(t, dict, tc.frame)}, tc.options); !errors.Is(err, broken) || out != nil {
				t.Errorf("got %v and error %v", out, err)
			}
		})
	}
	s := frameSet(t, dict, values)
	if _, err := allocation.Merge(s.Window, []*allocation.Set{s}); !errors.Is(err, broken) {
		t.Errorf("merge: %v", err)
	}
	if of, err := s.OfCluster("a"); !errors.Is(err, broken) || of != nil {
		t.Errorf("of a cluster: %v", err)
	}
	if of, err := s.OfShard(allocation.Shard{Index: 1, Of: 2}); !errors.Is(err, broken) || of != nil {
		t.Errorf("of a shard: %v", err)
	}
	if err := s.Check(); !errors.Is(err, broken) {
		t.Errorf("check: %v", err)
	}
	if err := s.AppendFrame(&whole); !errors.Is(err, broken) {
		t.Errorf("append: %v", err)
	}
	want := slices.Repeat([]float64{math.NaN()}, 30)
	if diff := cmp.Diff(want, s.Column(cost), cmpopts.EquateNaNs()); diff != "" || !math.IsNaN(s.Value(cost, 3)) || !math.IsNaN(s.TotalCost(3)) {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestLateFields derives fields of columns that nobody has decoded: they are those of the same columns decoded.
func TestLateFields(t *testing.T) {
	for seed := range uint64(20) {
		dict := allocation.NewDict()
		r := rand.New(rand.NewPCG(seed, 4))
		wholeFrame, lateFrame := lateFrames(r, dict, 1+r.IntN(20))
		whole, late := frameSet(t, dict, wholeFrame), frameSet(t, dict, lateFrame)
		for _, f := range allocation.Fields() {
			if f.Zero(late) && !f.Zero(whole) {
				t.Errorf("seed %d: %s is taken for 0", seed, f.Name)
			}
			for row := range whole.Len() {
				if want, got := f.Value(whole, row), f.Value(late, row); !equal(want, got) {
					t.Errorf("seed %d: %s of row %d is %g, want %g", seed, f.Name, row, got, want)
				}
			}
		}
		for row := range whole.Len() {
			lower, upper, ok := whole.ErrorBounds(row)
			lateLower, lateUpper, lateOK := late.ErrorBounds(row)
			if diff := cmp.Diff([]any{lower, upper, ok}, []any{lateLower, lateUpper, lateOK}, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("seed %d: bounds of row %d: -whole +late\n%s", seed, row, diff)
			}
		}
	}
}

// TestOnlyMerges sets each option by itself: a new one has to be told apart here, too.
func TestOnlyMerges(t *testing.T) {
	merges := []string{"Aggregate", "LabelValue", "Idle", "IdleByNode", "SplitIdle", "Filter", "ShareSplit", "ShareTenancy", "SharedBreakdown", "Reconcile", "Accumulate", "Zone", "AggregatedMetadata", "SingleMaxima", "Stopped"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[allocation.Options]()) {
		var o allocation.Options
		switch v := reflect.ValueOf(&o).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(1)
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

// TestAddPairs interns a map by its strings and by their ids: it is the same.
func TestAddPairs(t *testing.T) {
	dict := allocation.NewDict()
	want := dict.AddMap(map[string]string{"a": "1", "b": "2"})
	got := dict.AddPairs([]allocation.Pair{{Key: dict.Add("a"), Value: dict.Add("1")}, {Key: dict.Add("b"), Value: dict.Add("2")}})
	if got != want || dict.AddPairs(nil) != 0 {
		t.Errorf("got %d, want %d", got, want)
	}
}
