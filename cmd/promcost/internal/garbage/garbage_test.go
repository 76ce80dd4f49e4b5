package garbage_test

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/cmd/promcost/internal/garbage"
)

const least = 64 << 20

// collector is the one of this process.
var collector = sync.OnceValue(func() *garbage.Collector {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever the environment says
	return garbage.New(least)
})

// TestUse verifies that garbage of small heaps is collected less often in use only, and that of large ones more often.
func TestUse(t *testing.T) {
	c := collector()
	runtime.GC()
	first, second := c.Use(), c.Use()
	if got := read("/gc/gogc:percent"); got <= 200 {
		t.Errorf("in use GOGC is %d", got)
	}
	if got := read("/gc/heap/goal:bytes"); got < least || got > 2*least {
		t.Errorf("%d MB are live, and garbage is collected at %d MB", read("/gc/heap/live:bytes")>>20, got>>20)
	}
	first()
	first() // once more says nothing of the other user
	kept := make([]byte, 4*least)
	runtime.GC()
	eventually(t, "half of the usual one with much live memory", func() bool { return read("/gc/gogc:percent") == 50 })
	second()
	if got := read("/gc/gogc:percent"); got != 50 {
		t.Errorf("at rest with much live memory GOGC is %d", got)
	}
	second = c.Use()
	runtime.KeepAlive(kept)
	runtime.GC()
	eventually(t, "a higher one with little live memory", func() bool { return read("/gc/gogc:percent") > 100 })
	second()
	if got := read("/gc/gogc:percent"); got != 100 {
		t.Errorf("at rest GOGC is %d", got)
	}
	garbage.New(0).Use()()
}

// TestUseWhileCollecting verifies that a use that begins while garbage is collected learns what that has left.
func TestUseWhileCollecting(t *testing.T) {
	c := collector()
	type node struct {
		next *node
		_    [7]uintptr
	}
	for range 4 {
		runtime.GC()
		debug.SetGCPercent(-1) // no collection but the one below
		var list *node         // which takes long to mark, as one node leads to the next
		for range 2 * least / 64 {
			list = &node{next: list}
		}
		collected := make(chan struct{})
		go func() {
			runtime.GC()
			close(collected)
		}()
		waitForMarking(collected)
		done := c.Use()
		<-collected
		eventually(t, "a lower one with much live memory", func() bool { return read("/gc/gogc:percent") < 100 })
		runtime.KeepAlive(list)
		done()
	}
}

// waitForMarking waits until a goroutine waits in runtime.GC, or until that is over.
func waitForMarking(collected <-chan struct{}) {
	stacks := make([]byte, 1<<16)
	for !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("wait for GC cycle")) {
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
}

// TestLittleAllowed verifies that garbage of a small heap is not collected more often than usual by a collector that may allow only little of it.
func TestLittleAllowed(t *testing.T) {
	if !alone(t, "GOGC=100") {
		return
	}
	c := garbage.New(8 << 20)
	kept := make([]byte, 32<<20)
	runtime.GC()
	done := c.Use()
	if got := read("/gc/gogc:percent"); got != 100 {
		t.Errorf("with 32 MB of live memory GOGC is %d", got)
	}
	done()
	runtime.KeepAlive(kept)
}

// TestGiven verifies that a collector leaves another GOGC than the usual one alone, such as one that the environment has.
func TestGiven(t *testing.T) {
	if !alone(t, "GOGC=50") {
		return
	}
	done := garbage.New(1 << 30).Use()
	for range 2 {
		if got := read("/gc/gogc:percent"); got != 50 {
			t.Errorf("GOGC is %d", got)
		}
		done()
		runtime.GC()
	}
}

// alone reports whether this is the process of one test, which has no other collector. Else it runs the test in such a process, with an
// environment.
func alone(t *testing.T, environment string) bool {
	t.Helper()
	const marker = "GARBAGE_TEST_ALONE"
	if os.Getenv(marker) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), marker+"=1", environment)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("%v:\n%s", err, out)
	}
	return false
}

// eventually waits until GOGC is as it should be: the runtime runs finalizers some time after a collection.
func eventually(t *testing.T, want string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("GOGC stays %d, want %s", read("/gc/gogc:percent"), want)
}

func read(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
