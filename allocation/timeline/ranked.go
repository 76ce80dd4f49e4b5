package timeline

// Ranked holds the alternatives of one input for one subject, best first.
type Ranked []Steps

// Add merges steps into an alternative: duplicates count once, by their maximum.
func (r *Ranked) Add(rank int, steps Steps) {
	for len(*r) <= rank {
		*r = append(*r, nil)
	}
	(*r)[rank] = Max((*r)[rank], steps)
}

// Best is the first alternative that has data, at each time.
func (r Ranked) Best() Steps {
	var out Steps
	for _, steps := range r {
		out = Overlay(out, steps)
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
