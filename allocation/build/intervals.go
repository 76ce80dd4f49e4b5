package build

import "github.com/promcost/promcost/allocation/timeline"

// intersection is when both are.
func intersection(all timeline.Intervals, seen timeline.Steps) (out timeline.Intervals) {
	for _, x := range seen {
		out = append(out, all.Clip(x.From, x.To)...)
	}
	return out
}

// appendIntervals appends the intervals of steps.
func appendIntervals(dst timeline.Intervals, steps timeline.Steps) timeline.Intervals {
	for _, x := range steps {
		dst = append(dst, timeline.Interval{From: x.From, To: x.To})
	}
	return dst
}

// outside are the intervals of s that lie outside of mask for more than a lookback.
func outside(s, mask timeline.Intervals) timeline.Intervals {
	var out timeline.Intervals
	for _, x := range s {
		for _, free := range timeline.Complement(mask, x.From, x.To) {
			if free.To-free.From > timeline.Lookback {
				out = append(out, x)
				break
			}
		}
	}
	return out
}

// presence is 1 where s has any value.
func presence(s timeline.Steps) timeline.Steps {
	out := make(timeline.Steps, 0, len(s))
	for _, x := range s {
		out = append(out, timeline.Step{From: x.From, To: x.To, V: 1})
	}
	return out
}
