package timeline

import (
	"slices"
	"unsafe"
)

// SortedEdges sorts instants and drops repeats.
func SortedEdges(edges []int64) []int64 {
	slices.Sort(edges)
	return slices.Compact(edges)
}

// EdgesInside are the edges strictly inside run, in a slice of their own.
func EdgesInside(edges []int64, run Interval) []int64 {
	i, _ := slices.BinarySearch(edges, run.From+1)
	j, _ := slices.BinarySearch(edges, run.To)
	return slices.Clone(edges[i:j])
}

// LastSight is when sights show last that something ran, how long that lasts, and whether they do.
func LastSight(sights Steps) (at, lasts int64, ok bool) {
	for _, x := range slices.Backward(sights) {
		if x.V != 0 {
			return x.To, int64(x.V), true
		}
	}
	return 0, 0, false
}

// Scaled is s with its values times factor.
func Scaled(s Steps, factor float64) Steps {
	out := slices.Clone(s)
	for i := range out {
		out[i].V *= factor
	}
	return out
}

// Bytes is how many bytes the alternatives take.
func (r Ranked) Bytes() int64 {
	return int64(cap(r))*int64(unsafe.Sizeof(Steps{})) + StepBytes(r...)
}

// StepBytes is how many bytes step functions take.
func StepBytes(of ...Steps) int64 {
	n := 0
	for _, s := range of {
		n += cap(s)
	}
	return int64(n) * int64(unsafe.Sizeof(Step{}))
}
