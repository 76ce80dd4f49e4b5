package timeline

import "math"

// Cell is a stretch (From, To] and the usage in it: the increase of a counter, or value × seconds of a gauge.
type Cell struct {
	From, To int64
	Amount   float64
	// Held means that no sample lies within the cell: the sample before still counts, or an increase over more than a
	// lookback is spread over it.
	Held bool
	// Parts is how many of a Joiner's parts the cell was joined of, from At on; 0 if it was not.
	At, Parts int32
}

// Rate is the amount per millisecond, 0 of an empty cell.
func (c *Cell) Rate() float64 {
	if c.From < c.To {
		return c.Amount / float64(c.To-c.From)
	}
	return 0
}

// Unborn is the From of a counter's first cell: its amount was used since the counter began at 0, which the points
// do not show.
const Unborn = math.MinInt64

// Forever is the end of a stretch without end.
const Forever = math.MaxInt64

// HeldTail is the index of the first cell that a server may have made up by its lookback: the last cells, if they have the same
// rate up to the end of the series, for no longer than a lookback.
func HeldTail(cells []Cell, lookback int64) int {
	i := len(cells) - 1
	if i < 0 {
		return 0
	}
	last := &cells[i]
	for ; i > 0; i-- {
		if x := &cells[i]; last.To-x.From > lookback || x.Rate() != last.Rate() {
			break
		}
	}
	return i + 1
}

// Level is a gauge of whole numbers over some time.
type Level struct {
	Sum     float64 // its integral over seconds
	Seconds float64 // in which it was seen
	Most    float64 // its highest value
}

// Add adds parts, whose amounts are integrals over seconds.
func (l *Level) Add(parts []Part) {
	for k := range parts {
		x := &parts[k]
		seconds := float64(x.To-x.From) / 1000
		l.Sum += x.Amount
		l.Seconds += seconds
		l.Most = max(l.Most, math.Round(x.Amount/seconds))
	}
}
