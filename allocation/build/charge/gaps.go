package charge

import (
	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// appendSpread appends when a container ran and its usage was counted, but not seen, for more than a lookback.
func (c *containerUse) appendSpread(dst timeline.Intervals, s timeline.Sampling) timeline.Intervals {
	for r := range allocation.NumResources {
		for _, f := range c.covered[r] {
			if f.Soft && f.To-f.From > timeline.Lookback {
				dst = append(dst, c.Runs.Clip(max(f.From, s.Start), min(f.To, s.End))...)
			}
		}
	}
	return dst
}
