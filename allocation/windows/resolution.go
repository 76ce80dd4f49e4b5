package windows

import "time"

// ResolutionFor is the longest divisor of an hour, in whole seconds, that exceeds neither most × shortest nor the window. It is 0,
// the exact mode, if there is none.
func ResolutionFor(most float64, shortest, window time.Duration) time.Duration {
	longest := most * shortest.Seconds() * (1 + 1e-12) // 0.07 × 300 s is a little below 21 s in floating point
	longest = min(longest, window.Seconds())
	for r := 3600; r > 0; r-- {
		if 3600%r == 0 && float64(r) <= longest {
			return time.Duration(r) * time.Second
		}
	}
	return 0
}
