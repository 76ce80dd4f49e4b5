package build

import "github.com/promcost/promcost/allocation/timeline"

// ranked holds the alternatives of one input for one subject, best first.
type ranked []timeline.Steps

// add merges steps into an alternative: duplicates count once, by their maximum.
func (r *ranked) add(rank int, steps timeline.Steps) {
	for len(*r) <= rank {
		*r = append(*r, nil)
	}
	(*r)[rank] = timeline.Max((*r)[rank], steps)
}

// best is the first alternative that has data, at each time.
func (r ranked) best() timeline.Steps {
	var out timeline.Steps
	for _, steps := range r {
		out = timeline.Overlay(out, steps)
	}
	return out
}
