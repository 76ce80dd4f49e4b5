package allocation_test

import (
	"flag"
	"time"
)

var soak = flag.Bool("soak", false, "run all of what tests run a sample of, and measure time and memory")

// soaked is some of what a test runs, or all of it with -soak.
func soaked[T any](some, all T) T {
	if *soak {
		return all
	}
	return some
}

// randomSeed is that of random cases: always the same, or with -soak another one each time.
func randomSeed() uint64 { return soaked(1, uint64(time.Now().UnixNano())) }
