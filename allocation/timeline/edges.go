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

// NextEdge is the first of sorted edges after from, but not later than to.
func NextEdge(edges []int64, from, to int64) int64 {
	if i, _ := slices.BinarySearch(edges, from+1); i < len(edges) {
		return min(edges[i], to)
	}
	return to
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
