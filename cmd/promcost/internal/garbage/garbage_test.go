package garbage_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/promcost/promcost/cmd/promcost/internal/garbage"
)

// TestUse verifies that garbage is collected less often in use only, and as ever once there is more live memory.
func TestUse(t *testing.T) {
	const least = 256 << 20
	c := garbage.New(least)
	runtime.GC()
	first, second := c.Use(), c.Use()
	if got, want := percent(), least*100/live(); got < want/2 {
		t.Errorf("in use GOGC is %d, not about %d", got, want)
	}
	first()
	first() // once more says nothing of the other user
	kept := make([]byte, 2*least)
	for percent() != 100 { // the runtime says when it likes that it has collected garbage
		runtime.GC()
	}
	runtime.KeepAlive(kept)
	for percent() == 100 {
		runtime.GC()
	}
	second()
	if got := percent(); got != 100 {
		t.Errorf("at rest GOGC is %d", got)
	}
}

// TestGiven verifies that another GOGC than the usual one stays, such as one that the environment has.
func TestGiven(t *testing.T) {
	const given = 50
	defer debug.SetGCPercent(debug.SetGCPercent(given))
	done := garbage.New(1 << 30).Use()
	if got := percent(); got != given {
		t.Errorf("in use GOGC is %d, not %d", got, given)
	}
	if done(); percent() != given {
		t.Errorf("at rest GOGC is %d, not %d", percent(), given)
	}
}

func percent() uint64 { return read("/gc/gogc:percent") }

func live() uint64 { return read("/gc/heap/live:bytes") }

func read(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
