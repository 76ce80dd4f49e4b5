package remote

import (
	"math"

	"github.com/promcost/promcost/promquery"
)

// betterRaw reports whether to ask for raw samples in place of a grid: servers give them at less cost than they evaluate an expression
// at each point. That holds if they are no more than the points.
func betterRaw(grid *promquery.Grid) bool {
	return grid.Step > 0 && grid.Step <= grid.Interval && !grid.Times
}

// onGrid appends to dst what an instant shows of raw samples on the grid of a piece: the last one within the lookback, whose start is
// excluded, as from Prometheus 3 on. A staleness marker, or what VictoriaMetrics writes for it, ends the series, or else is passed over, as
// last_over_time does.
func onGrid(dst, samples []point, p piece, lookback int64, ends bool) []point {
	last := point{t: math.MinInt64}
	for at := p.start; at <= p.end; at += p.step {
		for ; len(samples) > 0 && samples[0].t <= at; samples = samples[1:] {
			s := samples[0]
			switch gone := math.IsNaN(s.v); {
			case s.t <= last.t, gone && !ends:
			case gone:
				last = point{s.t, math.NaN()}
			default:
				last = s
			}
		}
		if last.t > at-lookback && !math.IsNaN(last.v) {
			dst = append(dst, point{at, last.v})
		}
	}
	return dst
}

// shortest is the shortest distance of samples, 0 if there are fewer than two.
func shortest(samples []point) (d int64) {
	for i := 1; i < len(samples); i++ {
		if x := samples[i].t - samples[i-1].t; x > 0 && (d == 0 || x < d) {
			d = x
		}
	}
	return d
}
