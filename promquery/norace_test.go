//go:build !race

package promquery_test

// aloneHours is how many hours TestAlone computes, the first of them before all data.
const aloneHours = 11
