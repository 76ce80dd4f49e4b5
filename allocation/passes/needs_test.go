package passes_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// readOnly is what a projection reads of a frame.
func readOnly(f allocation.Frame, p *allocation.Projection) allocation.Frame {
	f.Read = p
	for x := range f.IDs {
		if !slices.Contains(p.Properties, allocation.Property(x)) {
			f.IDs[x] = nil
		}
	}
	for c := range f.Values {
		if !slices.Contains(p.Columns, allocation.Column(c)) {
			f.Values[c] = nil
		}
	}
	return f
}

// unchecked applies options to sets of random amounts, which do not add up.
func unchecked(t *testing.T, o passes.Options, sets ...*allocation.Set) []*allocation.Set {
	t.Helper()
	out, err := passes.Apply(sets, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFieldNeeds checks that fields use only what they declare, before and after rows are merged, and that a set that lacks it says so.
func TestFieldNeeds(t *testing.T) {
	for seed := range uint64(5) {
		r, dict := rand.New(rand.NewPCG(seed, 4)), allocation.NewDict()
		frame := randomFrame(r, dict, 1+r.IntN(40))
		whole, o := frameSet(t, dict, frame), passes.Options{Aggregate: keys(t, "namespace")}
		merged := unchecked(t, o, whole)[0]
		for _, f := range fields.All() {
			needs := f.Needs()
			narrow := frameSet(t, dict, readOnly(frame, needs))
			narrowMerged := unchecked(t, o, frameSet(t, dict, readOnly(frame, needs.Union(o.Needs()))))[0]
			for _, of := range [][2]*allocation.Set{{whole, narrow}, {merged, narrowMerged}} {
				if err := of[1].Require(needs); err != nil {
					t.Fatal(err)
				}
				for row := range of[0].Len() {
					if want, got := f.Value(of[0], row), f.Value(of[1], row); !equalOrNaN(want, got) {
						t.Errorf("seed %d: %s of row %d is %g, want %g", seed, f.Name, row, got, want)
					}
				}
			}
			for i := range needs.Columns {
				less := *needs
				less.Columns = slices.Delete(slices.Clone(needs.Columns), i, i+1)
				if err := frameSet(t, dict, readOnly(frame, &less)).Require(needs); !errors.Is(err, allocation.ErrUnread) {
					t.Errorf("%s without %s: %v", f.Name, needs.Columns[i], err)
				}
			}
		}
	}
}

// TestExternalNeeds checks that external allocations join sets of which only a part was read.
func TestExternalNeeds(t *testing.T) {
	r, dict := rand.New(rand.NewPCG(1, 5)), allocation.NewDict()
	frame := randomFrame(r, dict, 40)
	for _, aggregate := range []string{"namespace", "label:app", "controller,container", "service"} {
		o := passes.Options{Aggregate: keys(t, aggregate), External: true}
		needs := o.Needs().Union(allocation.OfRows(nil, allocation.MoneyColumns()...))
		var costs [2]map[string]float64
		for i, f := range []allocation.Frame{frame, readOnly(frame, needs)} {
			s := frameSet(t, dict, f)
			e := allocation.ExternalAllocation{Start: s.Window.Start, End: s.Window.End, Cost: 3, Labels: map[string]string{"app": "x"}}
			e.Text[allocation.Namespace] = "elsewhere"
			s.External = []allocation.ExternalAllocation{e}
			costs[i] = map[string]float64{}
			out := unchecked(t, o, s)[0]
			for row := range out.Len() {
				costs[i][out.Name(row)] = out.Value(allocation.ExternalCost, row)
			}
		}
		if diff := cmp.Diff(costs[0], costs[1]); diff != "" {
			t.Errorf("%s: -all is read, +what is needed\n%s", aggregate, diff)
		}
	}
}

// TestErrorBoundsNeeds checks the same for error bounds.
func TestErrorBoundsNeeds(t *testing.T) {
	r, dict := rand.New(rand.NewPCG(1, 4)), allocation.NewDict()
	frame := randomFrame(r, dict, 40)
	whole, narrow := frameSet(t, dict, frame), frameSet(t, dict, readOnly(frame, fields.ErrorBoundsNeeds()))
	for row := range whole.Len() {
		lower, upper, ok := fields.ErrorBounds(whole, row)
		gotLower, gotUpper, gotOK := fields.ErrorBounds(narrow, row)
		if !equalOrNaN(lower, gotLower) || !equalOrNaN(upper, gotUpper) || ok != gotOK {
			t.Errorf("row %d: %g to %g, want %g to %g", row, gotLower, gotUpper, lower, upper)
		}
	}
}

// TestOptionsNeeds applies random options to sets of which only the declared needs were read. No pass uses anything else, and costs are
// the same to the last bit.
func TestOptionsNeeds(t *testing.T) {
	for seed := range soak.Of[uint64](150, 1000) {
		r := rand.New(rand.NewPCG(seed, 6))
		dict := allocation.NewDict()
		frame, o := randomFrame(r, dict, 1+r.IntN(120)), randomOptions(t, r)
		adjustment := []float64{0, 0, 0, 5}[r.IntN(4)]
		var costs [2][]any
		for i, f := range []allocation.Frame{frame, readOnly(frame, o.Needs().Now().Union(passes.ReconcileNeeds()))} {
			s := idleNodes(t, frameSet(t, dict, f), adjustment)
			for _, s := range unchecked(t, o, s, s) {
				for row := range s.Len() {
					costs[i] = append(costs[i], s.Name(row), s.Special(row), s.Start(row), s.End(row), s.TotalCost(row))
					for _, part := range s.SharedParts(row) {
						costs[i] = append(costs[i], s.Dict().Text(part.Name), part.Cost)
					}
				}
			}
		}
		if diff := cmp.Diff(costs[0], costs[1]); diff != "" {
			t.Fatalf("seed %d: %+v: -whole +needs\n%s", seed, o, diff)
		}
	}
}

// TestUnreadKey names rows by a property that was not read.
func TestUnreadKey(t *testing.T) {
	dict := allocation.NewDict()
	frame := randomFrame(rand.New(rand.NewPCG(1, 4)), dict, 9)
	for _, key := range []string{"pod", "label:a", "controller", "team", "service"} {
		s := frameSet(t, dict, readOnly(frame, allocation.OfRows([]allocation.Property{allocation.Namespace})))
		if _, err := passes.Apply([]*allocation.Set{s}, passes.Options{Aggregate: keys(t, key)}); !errors.Is(err, allocation.ErrUnread) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func equalOrNaN(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
