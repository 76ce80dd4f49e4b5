//go:build race

package filter_test

// manyRows are fewer under the race detector, with which each takes ten times as long.
const manyRows = 10_000
