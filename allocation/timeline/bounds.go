package timeline

import (
	"math"
	"time"
)

// Bounds are the documented error bounds of running time counted on a grid: a pod that ran for d is counted, at
// resolution r, between lower·d and upper·d. A lower bound of -1 says that the pod may be missed altogether.
//
//	lower(d, r) = (⌈d/r⌉-1)·r / d     (-1 where that is 0)
//	upper(d, r) = ⌈d/r⌉·r / d
//
// Both are rounded half-up to two digits, as in the table of the Kubecost Allocation API. d and r must be positive;
// otherwise both are NaN.
func Bounds(d, r time.Duration) (lower, upper float64) {
	if d <= 0 || r <= 0 {
		return math.NaN(), math.NaN()
	}
	cells := (int64(d) + int64(r) - 1) / int64(r)
	lower, upper = -1, hundredths(cells, d, r)
	if cells > 1 {
		lower = hundredths(cells-1, d, r)
	}
	return lower, upper
}

// hundredths is cells·r/d rounded half-up to two digits.
func hundredths(cells int64, d, r time.Duration) float64 {
	return math.Floor(float64(cells)*float64(r)/float64(d)*100+0.5) / 100
}

// CountBounds are the bounds of n cells counted where the true duration is not known: it lies between n-1 and n+1
// cells. upper is NaN (unknown) where n is 1 or less.
func CountBounds(n float64) (lower, upper float64) {
	if n <= 0 {
		return math.NaN(), math.NaN()
	}
	lower, upper = n/(n+1), math.NaN()
	if n > 1 {
		upper = n / (n - 1)
	}
	return lower, upper
}
