//go:build !race

package promquery_test

const (
	aloneHours = 11 // that TestAlone computes, the first of them before all data
	borders    = 3  // outages that TestOutagesAtBorders looks at
	silenced   = 1  // TestNothingIsSilent takes away each so-manieth metric
)
