package encode_test

import "flag"

var soak = flag.Bool("soak", false, "run all of what tests run a sample of, and measure time and memory")

// soaked is some of what a test runs, or all of it with -soak.
func soaked[T any](some, all T) T {
	if *soak {
		return all
	}
	return some
}
