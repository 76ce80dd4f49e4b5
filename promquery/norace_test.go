//go:build !race

package promquery_test

import "time"

const (
	aloneHours = 11 // that TestAlone computes, the first of them before all data
	borders    = 3  // outages that TestOutagesAtBorders looks at
	silenced   = 1  // TestNothingIsSilent takes away each so-manieth metric
)

// grids are the resolutions that most tests compute at.
func grids() []time.Duration { return []time.Duration{0, time.Minute} }

// shardings are in how many shards TestShards computes.
func shardings() []int { return []int{2, 3} }
