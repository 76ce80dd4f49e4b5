//go:build race

package promquery_test

// With the race detector all takes ten times as long: fewer hours are computed, and fewer outages looked at.
const (
	aloneHours = 4
	borders    = 1
	silenced   = 16
)
