package ledger_test

import (
	"flag"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often, which halves the CPU time of tests that keep little. What is measured is left alone.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}
