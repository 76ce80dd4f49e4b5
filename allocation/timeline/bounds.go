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

// ServedBounds returns the error bounds of a duration d that was counted at a resolution. On a grid they are those of Bounds.
// In exact mode (resolution 0) they are those of a run whose start and end nobody reported: half a scrape interval more or
// less at each end, rounded outwards to three decimals. lower is -1 if the whole of d may be wrong; both are NaN if d or the
// scrape interval is not positive.
func ServedBounds(d, resolution, scrape time.Duration) (lower, upper float64) {
	if resolution > 0 {
		return Bounds(d, resolution)
	}
	if d <= 0 || scrape <= 0 {
		return math.NaN(), math.NaN()
	}
	off := float64(scrape) / float64(d)
	lower, upper = -1, math.Ceil((1+off)*1000-rounding)/1000
	if off < 1 {
		lower = math.Floor((1-off)*1000+rounding) / 1000
	}
	return lower, upper
}

// rounding is the floating-point error of a number with three decimals, times 1000.
const rounding = 1e-6
