package remote

import (
	"math"

	"github.com/promcost/promcost/promquery"
)

// betterRaw reports whether to ask for raw samples of a selector with a grid: servers give them at less cost than they evaluate a
// function at each point. They have to be as good, which they are of series that get no staleness markers, as they do not show any, and
// no more than the points: the lookback of such series is two scrape intervals.
func betterRaw(sel *promquery.Request) bool {
	return sel.Grid.Step > 0 && 2*sel.Grid.Step <= sel.Grid.Lookback
}

// onGrid appends to dst what last_over_time shows of raw samples on the grid of a piece: the last one within the lookback, whose start is
// excluded, as from Prometheus 3 on. Samples that are NaN are passed over: VictoriaMetrics writes staleness markers like that.
func onGrid(dst, samples []point, p piece, lookback int64) []point {
	last := point{t: math.MinInt64}
	for at := p.start; at <= p.end; at += p.step {
		for ; len(samples) > 0 && samples[0].t <= at; samples = samples[1:] {
			if s := samples[0]; s.t > last.t && !math.IsNaN(s.v) {
				last = s
			}
		}
		if last.t > at-lookback {
			dst = append(dst, point{at, last.v})
		}
	}
	return dst
}
