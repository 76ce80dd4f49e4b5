// Package soak gives test binaries the flag -soak. `make test` runs a sample of what is slow by repetition; with the flag a package's
// tests run all of it, and measure time and memory. Only tests import it.
package soak

import (
	"flag"
	"runtime/debug"
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

// Of is some of what a test runs, or all of it where the flag is given.
func Of[T any](some, all T) T {
	if *on {
		return all
	}
	return some
}

// Main runs the tests of a package and returns the exit code. It lets garbage be collected less often, which saves much of the CPU
// time of tests that keep little; but not with -soak or in benchmarks, which measure memory.
func Main(m *testing.M) int {
	flag.Parse()
	if !*on && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	return m.Run()
}
