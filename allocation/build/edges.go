package build

import (
	"slices"
	"unsafe"

	"github.com/promcost/promcost/allocation/timeline"
)

// sortedEdges sorts instants and drops repeats.
func sortedEdges(edges []int64) []int64 {
	slices.Sort(edges)
	return slices.Compact(edges)
}

// within are the edges strictly inside run; the slice shares memory with edges and must not be appended to in place.
func within(edges []int64, run timeline.Interval) []int64 {
	i, _ := slices.BinarySearch(edges, run.From+1)
	j, _ := slices.BinarySearch(edges, run.To)
	return slices.Clone(edges[i:j])
}

// lastSight is when sights show last that something ran, how long that lasts, and whether they do.
func lastSight(sights timeline.Steps) (at, lasts int64, ok bool) {
	for _, x := range slices.Backward(sights) {
		if x.V != 0 {
			return x.To, int64(x.V), true
		}
	}
	return 0, 0, false
}

// scaled is s times factor.
func scaled(s timeline.Steps, factor float64) timeline.Steps {
	out := slices.Clone(s)
	for i := range out {
		out[i].V *= factor
	}
	return out
}

// stepMemory is what step functions take.
func stepMemory(of ...timeline.Steps) int64 {
	n := 0
	for _, s := range of {
		n += cap(s)
	}
	return int64(n) * int64(unsafe.Sizeof(timeline.Step{}))
}
