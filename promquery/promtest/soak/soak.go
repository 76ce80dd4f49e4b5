// Package soak gives test binaries the flag -soak. `make test` runs a sample of the tests that are slow because they repeat; with
// the flag a package's tests run all of it, and measure time and memory. Only tests import it.
package soak

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

var (
	on       = flag.Bool("soak", false, "run all of what tests run a sample of, and measure time and memory")
	duration = flag.Duration("soak.duration", 0, "how long tests go on that can go on for any time; 0 is a fixed number of rounds")
)

// On reports whether the flag is given.
func On() bool { return *on }

// Duration is how long a test goes on that can go on for any time: 0 is once through.
func Duration() time.Duration { return *duration }

// Of is some, or all if the flag is given.
func Of[T any](some, all T) T {
	if *on {
		return all
	}
	return some
}

// Main runs the tests of a package and returns the exit code. It collects garbage less often, in programs that the tests start too, which
// saves a third of their CPU time; but not with -soak or in benchmarks, which measure memory.
func Main(m *testing.M) int {
	flag.Parse()
	if !*on && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(garbagePercent)
		_ = os.Setenv("GOGC", strconv.Itoa(garbagePercent))
	}
	return m.Run()
}

// garbagePercent is how much garbage there may be, in percent of the live memory; Go allows 100.
const garbagePercent = 400
