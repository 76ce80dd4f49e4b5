//go:build !race

package hugepages_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/promcost/promcost/cmd/promcost/internal/hugepages"
)

// TestUse verifies by the flags that the kernel has of the process' memory that huge pages are asked for while somebody uses the
// heap, and a minute longer.
func TestUse(t *testing.T) {
	if reason := givesNone(t); reason != "" {
		t.Skip(reason)
	}
	synctest.Test(t, func(t *testing.T) {
		const size = 32 << 10 // kB
		before := kilobytes(t, "hg")
		h := hugepages.Reserve(size << 10)
		check := func(when string, want int) {
			t.Helper()
			if got := kilobytes(t, "hg") - before; got != want {
				t.Errorf("%s %d kB ask for huge pages, not %d", when, got, want)
			}
		}
		check("at first", 0)
		first, second := h.Use(), h.Use()
		check("in use", size)
		first()
		first() // once more says nothing of the other user
		time.Sleep(2 * hugepages.Rest)
		check("in use by one", size)
		second()
		time.Sleep(hugepages.Rest - time.Second)
		check("soon after", size)
		h.Use()()
		time.Sleep(hugepages.Rest - time.Second)
		check("soon after a later use", size)
		third := h.Use()
		time.Sleep(2 * hugepages.Rest)
		check("in use again", size)
		third()
		time.Sleep(hugepages.Rest + time.Second)
		check("at rest", 0)
	})
}

// givesNone says why this machine gives no huge pages on request, "" if it does.
func givesNone(t *testing.T) string {
	t.Helper()
	var space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err != nil {
		t.Fatal(err)
	}
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	switch {
	case err != nil || !strings.Contains(string(enabled), "[madvise]"):
		return "the kernel does not give huge pages on request"
	case space.Cur != unix.RLIM_INFINITY:
		return "address space is limited"
	}
	return ""
}

// TestReserveTakesNoMemory verifies that what is reserved is not touched, also where some of it was used before.
func TestReserveTakesNoMemory(t *testing.T) {
	if reason := givesNone(t); reason != "" {
		t.Skip(reason)
	}
	const size = 256 << 20
	used := make([]byte, size/4)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	runtime.GC() // which leaves it to the runtime
	before := usage(t).Minflt
	hugepages.Reserve(size)
	if n := usage(t).Minflt - before; n > size/4096/16 {
		t.Errorf("%d pages were touched to reserve %d", n, size/4096)
	}
	hugepages.Reserve(0).Use()() // asks for nothing
}

// TestReserveBesideOthers verifies that what is reserved is not touched while other goroutines use memory that was used before, as when a
// server starts.
func TestReserveBesideOthers(t *testing.T) {
	if reason := givesNone(t); reason != "" {
		t.Skip(reason)
	}
	const size = 256 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what is reserved counts as live for a moment: then the others may leave that part of it
	var others sync.WaitGroup
	var ended atomic.Bool
	for range 4 {
		others.Go(func() {
			for i := 1; !ended.Load(); i = i%32 + 1 {
				used := make([]byte, i<<16)
				used[0] = 1
				runtime.KeepAlive(used)
			}
		})
	}
	before := usage(t).Maxrss
	for range 20 {
		hugepages.Reserve(size)
	}
	if n := usage(t).Maxrss - before; n > size>>10/2 {
		t.Errorf("the process took %d MB more to reserve %d MB", n>>10, size>>20)
	}
	ended.Store(true)
	others.Wait()
}

// usage is what the process has taken: Minflt pages were touched for the first time, and it had up to Maxrss kB.
func usage(t *testing.T) (u unix.Rusage) {
	t.Helper()
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// kilobytes is the memory whose mappings have a flag of those in VmFlags.
func kilobytes(t *testing.T, flag string) (sum int) {
	t.Helper()
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	size := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "Size: %d kB", &size)
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && slices.Contains(strings.Fields(flags), flag) {
			sum += size
		}
	}
	return sum
}
