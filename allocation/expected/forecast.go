package expected

import (
	"math/rand/v2"
	"slices"
)

// Forecast is what a period will come to, in currency.
type Forecast struct {
	// Expected is what is closed of the period and the expected cost of what is left.
	Expected float64
	// Low and High are the 10th and the 90th percentile of what it comes to if each day that is left costs what one of the days does
	// that it is like. Where days are often cheap and seldom dear, Expected may be below Low.
	Low, High float64
}

// Percentiles of a Forecast, and how many draws they are of. The seed makes equal questions have equal answers.
const (
	Confidence   = 0.8 // of being between Low and High
	lowPercent   = 10
	draws        = 200
	seed, stream = 11, 28
)

// Period returns what a period comes to of which closed has been spent. left has, for each day that is left, the costs of the days that it is
// like. ok is false if one of them is like none.
func Period(closed float64, left [][]float64) (f Forecast, ok bool) {
	f.Expected = closed
	for _, like := range left {
		c, ok := Of(like)
		if !ok {
			return Forecast{}, false
		}
		f.Expected += c.Expected
	}
	rng := rand.New(rand.NewPCG(seed, stream))
	sums := make([]float64, draws)
	for i := range sums {
		sums[i] = closed
		for _, like := range left {
			sums[i] += like[rng.IntN(len(like))]
		}
	}
	slices.Sort(sums)
	f.Low, f.High = sums[draws*lowPercent/100], sums[draws-1-draws*lowPercent/100]
	return f, true
}
