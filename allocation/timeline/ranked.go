package timeline

import (
	"maps"
	"slices"
)

// Ranked holds the alternatives of one input for one subject, best first. Several subjects may share a Ranked if it has one alternative.
type Ranked []Steps

// Add merges steps into an alternative: duplicates count once, by their maximum.
func (r *Ranked) Add(rank int, steps Steps) { r.add(rank, steps, Max) }

func (r *Ranked) add(rank int, steps Steps, join func(a, b Steps) Steps) {
	n := max(len(*r), rank+1)
	*r = append(make(Ranked, 0, n), *r...)[:n] // another one, for others may share it
	(*r)[rank] = join((*r)[rank], steps)
}

// Best is the first alternative that has data, at each time.
func (r Ranked) Best() Steps {
	var out Steps
	for _, steps := range r {
		out = Overlay(out, steps)
	}
	return out
}

// Largest is the largest alternative, at each time.
func (r Ranked) Largest() Steps {
	var out Steps
	for _, steps := range r {
		out = Max(out, steps)
	}
	return out
}

// RankedBy are the alternatives of several things.
type RankedBy[K comparable] map[K]Ranked

// Add merges steps into an alternative of one thing.
func (m RankedBy[K]) Add(of K, rank int, steps Steps) {
	r := m[of]
	r.Add(rank, steps)
	m[of] = r
}

// Sum adds up all things, in the order of compare, each times its worth. An alternative counts only where no better alternative has
// data of any thing.
func (m RankedBy[K]) Sum(compare func(x, y K) int, worth func(K) float64) Steps {
	var sum Ranked
	for _, of := range slices.SortedFunc(maps.Keys(m), compare) {
		for rank, steps := range m[of] {
			for len(sum) <= rank {
				sum = append(sum, nil)
			}
			sum[rank] = Sum(sum[rank], Scaled(steps, worth(of)))
		}
	}
	return sum.Best()
}
