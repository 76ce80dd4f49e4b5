//go:build !race

package filter_test

// manyRows is how many rows huge filters are bound to.
const manyRows = 100_000
