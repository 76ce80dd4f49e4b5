package costapi_test

import (
	"flag"
	"runtime/debug"
	"testing"
)

var soak = flag.Bool("soak", false, "run all of what tests run a sample of, and measure time and memory")

// soaked is some of what a test runs, or all of it with -soak.
func soaked[T any](some, all T) T {
	if *soak {
		return all
	}
	return some
}

// TestMain collects garbage less often, which halves the CPU time of tests that keep little. What measures memory is left alone.
func TestMain(m *testing.M) {
	flag.Parse()
	if !*soak && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}
