package mcp

import (
	"math"
	"strconv"
)

// leastError is the relative error that money has at least: beyond four digits nobody reads on.
const leastError = 5e-4

// money is an amount of money rounded to what its error justifies: to the power of ten below it.
type money struct {
	value    float64
	decimals int // may be negative
}

// rounded rounds an amount with a relative error.
func rounded(v, relative float64) money {
	if v == 0 || v-v != 0 {
		return money{}
	}
	uncertain := math.Abs(v) * max(relative, leastError)
	decimals := -int(math.Floor(math.Log10(uncertain)))
	return to(v, decimals)
}

// to rounds to a number of decimals.
func to(v float64, decimals int) money {
	if decimals > 15 { // nothing is that small
		decimals = 15
	}
	scale := math.Pow10(decimals)
	if r := math.Round(v*scale) / scale; r-r == 0 {
		v = r
	}
	return money{v, decimals}
}

// MarshalJSON implements json.Marshaler: the number has no digits that rounding has left behind.
func (m money) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, m.value, 'f', max(m.decimals, 0), 64), nil
}

// bounds are the factors between which counted amounts lie relative to the true ones.
type bounds struct {
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// relative is how far a cost may be off, as a part of it. A bound that is not known counts as the whole cost.
func (b *bounds) relative() float64 {
	if b == nil {
		return 0
	}
	worst := 0.0
	for _, factor := range [...]*float64{b.Lower, b.Upper} {
		if factor == nil || *factor <= 0 {
			return 1
		}
		worst = max(worst, math.Abs(1 - 1 / *factor))
	}
	return min(worst, 1)
}
