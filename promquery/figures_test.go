package promquery_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation"
)

// figure names a number of a set: the row or asset that it is of, and the column.
type figure struct{ of, column string }

// figures are the numbers of sets by subject: sums over all sets, or maxima.
type figures struct{ sums, maxima map[figure]float64 }

func figuresOf(sets []*allocation.Set) figures {
	f := figures{map[figure]float64{}, map[figure]float64{}}
	for _, s := range sets {
		f.addRows(s)
		f.addAssets(s)
	}
	return f
}

func (f *figures) most(of, column string, v float64) {
	if v == v {
		f.maxima[figure{of, column}] = max(f.maxima[figure{of, column}], v)
	}
}

func (f *figures) add(of string, columns map[string]float64) {
	for column, v := range columns {
		if v == v { // NaN is not known
			f.sums[figure{of, column}] += v
		}
	}
}

func (f *figures) addRows(s *allocation.Set) {
	for row := range s.Len() {
		names := []string{"row"}
		for _, p := range []allocation.Property{allocation.NodeName, allocation.Namespace, allocation.Pod, allocation.PodUID, allocation.Container} {
			names = append(names, s.Text(p, row))
		}
		of := strings.Join(names, "/")
		for c := range allocation.NumColumns {
			switch v := s.Value(c, row); {
			case c == allocation.LeastSeconds || c == allocation.MostSeconds: // parts allow more near their borders
			case c.Maximum():
				f.most(of, c.String(), v)
			default:
				f.add(of, map[string]float64{c.String(): v})
			}
		}
	}
}

func (f *figures) addAssets(s *allocation.Set) {
	for _, n := range s.Nodes {
		of := "node " + n.Name
		f.add(of, map[string]float64{"seconds": n.RunningSeconds})
		for r := range allocation.NumResources {
			f.add(of, map[string]float64{r.String() + " hours": n.Hours[r], r.String() + " cost": n.Cost[r], r.String() + " idle": n.Idle[r]})
		}
		for name, x := range map[string]struct {
			allocation.Breakdown
			hours float64
		}{"cpu": {n.CPUBreakdown, n.Hours[allocation.CPU]}, "ram": {n.RAMBreakdown, n.Hours[allocation.RAM]}} {
			f.add(of, map[string]float64{name + " idle share": x.Idle * x.hours, name + " user share": x.User * x.hours, name + " system share": x.System * x.hours, name + " other share": x.Other * x.hours})
		}
	}
	for _, d := range s.Disks {
		of := fmt.Sprintf("disk %s %t", d.Name, d.Local)
		f.add(of, map[string]float64{"byte hours": d.ByteHours, "cost": d.Cost, "used byte hours": d.UsedByteHours})
		f.most(of, "used max", d.UsedMax)
	}
	for _, l := range s.Balancers {
		f.add("balancer "+l.Service, map[string]float64{"hours": l.Hours, "cost": l.Cost})
	}
	for _, n := range s.Networks {
		f.add("network "+n.Cluster, map[string]float64{"zone": n.CrossZone, "region": n.CrossRegion, "internet": n.Internet})
	}
	for _, m := range s.Management {
		f.add("management "+m.Cluster, map[string]float64{"cost": m.Cost})
	}
}

// shares end the names of what a node used its time and memory for, times its hours. A share is no sum but a ratio: what was used, of
// what was measured. Ratios times hours add up only where each part measures the same of its hours. Memory is measured where it was
// scraped, so less in the part with an outage; CPU time is counted between the last samples before the borders of a part, so up to a
// scrape of 30 s other than its hours. Where 30 s of the shortest part, of 20 minutes, are weighted otherwise
// and shares of parts differ by less than 0.1, that is at most 0.0025.
const shares = " share"

// slack is how far figures may be apart, of the larger one.
func slack(column string) float64 {
	if strings.HasSuffix(column, shares) {
		return 0.0025
	}
	return 1e-9
}

// compareFigures compares the numbers of a window with those of its parts, without the columns in but.
func compareFigures(t *testing.T, whole, parts figures, leftOut *regexp.Regexp) {
	t.Helper()
	said := map[string]int{}
	for _, x := range []struct {
		what        string
		whole, part map[figure]float64
	}{{"sum", whole.sums, parts.sums}, {"maximum", whole.maxima, parts.maxima}} {
		all := maps.Clone(x.whole)
		maps.Copy(all, x.part)
		largest := map[string]float64{}
		for name, v := range all {
			largest[name.column] = max(largest[name.column], math.Abs(v))
		}
		names := slices.SortedFunc(maps.Keys(all), func(a, b figure) int { return strings.Compare(a.column+a.of, b.column+b.of) })
		for _, name := range names {
			a, b := x.whole[name], x.part[name]
			if d := math.Abs(a - b); leftOut != nil && leftOut.MatchString(name.column) || d <= slack(name.column)*max(math.Abs(a), math.Abs(b)) || d <= 1e-9*largest[name.column] {
				continue
			}
			if said[name.column]++; said[name.column] <= 3 {
				t.Errorf("%s of %s: %s is %v, of the parts %v: %.1e", x.what, name.of, name.column, a, b, math.Abs(a-b)/max(math.Abs(a), math.Abs(b)))
			}
		}
	}
	for _, column := range slices.Sorted(maps.Keys(said)) {
		t.Errorf("%s: %d differ", column, said[column])
	}
}
