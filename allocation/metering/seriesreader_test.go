package metering_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// readerSet is an hour with few names. Some are missing, and some are the literal names that stand for missing ones.
func readerSet(rng *rand.Rand, dict *allocation.Dict, infinite bool) *allocation.Set {
	start := time.Date(2026, 3, 1, rng.IntN(24), 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, dict)
	pick := func(names ...string) string { return names[rng.IntN(len(names))] }
	for range rng.IntN(40) {
		r := &allocation.Row{Special: []allocation.Special{allocation.Workload, allocation.Workload, allocation.Workload, allocation.Idle, allocation.Unmounted, allocation.Unallocated}[rng.IntN(6)]}
		for p, text := range map[allocation.Property]string{
			allocation.Cluster: pick("", "c1", "c2"), allocation.Namespace: pick("", "a", "b", allocation.UnallocatedName, allocation.UnmountedName, "\xff"),
			allocation.ControllerKind: pick("", "deployment"), allocation.Controller: pick("", "web", "\uFFFD", "\xff"),
			allocation.Pod: pick("p1", "p2"), allocation.Container: pick("m1", "m2"), allocation.NodeName: pick("", "n1"),
		} {
			r.Text[p] = text
		}
		for c := range allocation.NumColumns {
			if rng.IntN(3) == 0 {
				r.Values[c] = rng.ExpFloat64()
			}
		}
		if infinite && rng.IntN(50) == 0 {
			r.Values[allocation.Cost.Of(allocation.CPU)] = math.Inf(1)
		}
		s.Append(r)
	}
	for i := range rng.IntN(3) {
		n := allocation.Node{Cluster: pick("c1", ""), Name: fmt.Sprint("n", i)}
		n.Hours[0], n.Cost[0], n.Idle[0] = 1, rng.Float64(), rng.Float64()
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// A reader returns the same values as Emit, to the last bit, for the series asked for; and their sums.
func TestSeriesReaderIsEmit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, subject := range metering.Subjects() {
		for _, family := range subject.Families() {
			for range 40 {
				var o metering.SeriesOptions
				if rng.IntN(3) > 0 {
					o.Keep = make([]func(string) bool, len(family.Labels))
					for l := range o.Keep {
						if rng.IntN(3) == 0 {
							o.Keep[l] = func(v string) bool { return !strings.ContainsAny(v, "1g") }
						}
					}
				}
				if family.Adds() && rng.IntN(2) == 0 {
					o.Summed = true
					for l := range family.Labels {
						if rng.IntN(3) == 0 {
							o.By = append(o.By, l)
						}
					}
				}
				reader := subject.Reader(&family, o)
				dict := allocation.NewDict()
				for i := range 5 {
					if i == 3 {
						dict = allocation.NewDict()
					}
					set := readerSet(rng, dict, !o.Summed)
					want := emitted(&subject, &family, set, o)
					got := map[string]float64{}
					reader.Read(set, func(series int, v float64) {
						key := strings.Join(reader.Labels(series), ",")
						if _, ok := got[key]; ok && !o.Summed {
							t.Errorf("%s emits %s twice", family.Name, key)
						}
						got[key] += v
					})
					if diff := cmp.Diff(shown(want, o.Summed), shown(got, o.Summed)); diff != "" {
						t.Fatalf("%s by %v (-want +got):\n%s", family.Name, o.By, diff)
					}
				}
			}
		}
	}
}

// emitted has the kept series of Emit for a set, summed.
func emitted(s *metering.Subject, f *metering.Family, set *allocation.Set, o metering.SeriesOptions) map[string]float64 {
	out := map[string]float64{}
	f.Emit(s.Totals(set), func(_ int, labels []string, v float64) {
		for l, keep := range o.Keep {
			if keep != nil && !keep(labels[l]) {
				return
			}
		}
		by := labels
		if o.Summed {
			by = nil
			for _, l := range o.By {
				by = append(by, labels[l])
			}
		}
		out[strings.Join(by, ",")] += v
	})
	return out
}

// shown has values to the last bit, or for sums, rounded.
func shown(values map[string]float64, rounded bool) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if rounded {
			list = append(list, fmt.Sprintf("%s %.12g", key, values[key]))
			continue
		}
		list = append(list, fmt.Sprintf("%s %x", key, values[key]))
	}
	return list
}

// Columns outside of a reader's projection make no difference.
func TestSeriesReaderProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, subject := range metering.Subjects() {
		for _, family := range subject.Families() {
			reader := subject.Reader(&family, metering.SeriesOptions{})
			p := reader.Projection()
			if p == nil {
				continue
			}
			set := readerSet(rng, allocation.NewDict(), false)
			narrow := allocation.NewSet(set.Window, set.Dict())
			narrow.Nodes = set.Nodes
			for row := range set.Len() {
				r := &allocation.Row{Special: set.Special(row)}
				for _, x := range p.Properties {
					r.Text[x] = set.Text(x, row)
				}
				for _, c := range p.Columns {
					r.Values[c] = set.Value(c, row)
				}
				narrow.Append(r)
			}
			read := func(set *allocation.Set) []string {
				got := map[string]float64{}
				reader.Read(set, func(series int, v float64) { got[strings.Join(reader.Labels(series), ",")] = v })
				return shown(got, false)
			}
			if diff := cmp.Diff(read(set), read(narrow)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", family.Name, diff)
			}
		}
	}
}
