package main

import (
	"bytes"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
)

// TestMemoryBudget sizes the budget and GOMEMLIMIT by the flag, else by the memory there is, and warns of little.
func TestMemoryBudget(t *testing.T) {
	machine := machineMemory()
	if machine < 128<<20 {
		t.Fatalf("the machine has %d bytes", machine)
	}
	for _, tt := range []struct {
		flag            string
		budget, gomem   int64
		warned, limited bool
	}{
		{"auto", memoryOf(machine), memoryOf(machine)*6/5 + 50<<20, memoryOf(machine) < 256<<20, false},
		{"1GB", 1 << 30, 1<<30*6/5 + 50<<20, false, false},
		{"255MB", 255 << 20, 255<<20*6/5 + 50<<20, true, false},
		{"0", 0, math.MaxInt64, false, false},
		{"1GB", 1 << 30, 10 << 30, false, true}, // GOMEMLIMIT was set
	} {
		t.Run(tt.flag, func(t *testing.T) {
			was := int64(math.MaxInt64)
			if tt.limited {
				was = tt.gomem
			}
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(was))
			before := debug.SetMemoryLimit(-1)
			f := &costFlags{}
			app := kingpin.New("test", "").Terminate(nil)
			addMemoryFlag(app, f)
			if _, err := app.Parse([]string{"--query.max-memory=" + tt.flag}); err != nil {
				t.Fatal(err)
			}
			var logged bytes.Buffer
			b, restore := f.budget(log.NewLogfmtLogger(&logged))
			if got := debug.SetMemoryLimit(-1); b.Limit() != tt.budget || got != tt.gomem {
				t.Errorf("budget %d, GOMEMLIMIT %d, want %d and %d", b.Limit(), got, tt.budget, tt.gomem)
			}
			if got := strings.Contains(logged.String(), "raise --query.max-memory"); got != tt.warned {
				t.Errorf("warned %v: %s", got, &logged)
			}
			if err := restore(); err != nil || debug.SetMemoryLimit(-1) != before {
				t.Error("GOMEMLIMIT stays")
			}
		})
	}
	for limit, want := range map[int64]int64{0: 2 << 30, 64 << 20: 32 << 20, 1 << 30: (1<<30 - 100<<20) * 2 / 3} {
		if got := memoryOf(limit); got != want {
			t.Errorf("of %d bytes the budget has %d, want %d", limit, got, want)
		}
	}
}

// TestGarbage sees to it that the program has less garbage than usual, unless GOGC says how much.
func TestGarbage(t *testing.T) {
	for given, want := range map[int]int{100: garbagePercent, 200: 200, -1: -1} {
		before := debug.SetGCPercent(given)
		run(t.Context(), []string{"--version"}, io.Discard, io.Discard)
		if got := debug.SetGCPercent(before); got != want {
			t.Errorf("GOGC=%d becomes %d, want %d", given, got, want)
		}
	}
}
