//go:build race

package promquery_test

// aloneHours are fewer under the race detector, with which each takes ten times as long.
const aloneHours = 4
