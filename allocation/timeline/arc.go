package timeline

import "slices"

// Arc is the length of the shortest arc of a circle of length around that holds all phases, at least one, which it sorts.
func Arc(phases []int64, around int64) int64 {
	slices.Sort(phases)
	widest := phases[0] + around - phases[len(phases)-1]
	for i := 1; i < len(phases); i++ {
		widest = max(widest, phases[i]-phases[i-1])
	}
	return around - widest
}
