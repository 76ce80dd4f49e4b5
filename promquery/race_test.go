//go:build race

package promquery_test

import "time"

// With the race detector all takes ten times as long: fewer hours are computed, on fewer grids, and fewer outages looked at.
const (
	aloneHours = 4
	borders    = 1
	silenced   = 16
)

// grids are the resolutions that most tests compute at.
func grids() []time.Duration { return []time.Duration{time.Minute} }

// shardings are in how many shards TestShards computes.
func shardings() []int { return []int{3} }
