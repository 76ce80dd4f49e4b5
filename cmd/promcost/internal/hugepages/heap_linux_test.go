//go:build !race

package hugepages_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/promcost/promcost/cmd/promcost/internal/hugepages"
)

// TestUse verifies by the flags that the kernel has of the process' memory that huge pages are asked for while somebody uses the
// heap, and a minute longer.
func TestUse(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no huge pages:", err)
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
		third := h.Use()
		time.Sleep(hugepages.Rest)
		check("in use again", size)
		third()
		time.Sleep(hugepages.Rest + time.Second)
		check("at rest", 0)
	})
}

// TestReserveTakesNoMemory verifies that what is reserved is not resident, and that nothing can be reserved.
func TestReserveTakesNoMemory(t *testing.T) {
	before := anonymous(t)
	hugepages.Reserve(1 << 30)
	if took := anonymous(t) - before; took > 100<<10 {
		t.Errorf("a gigabyte that is reserved takes %d kB", took)
	}
	hugepages.Reserve(0).Use()() // asks for nothing
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

// anonymous is the anonymous memory of the process that is resident, in kB.
func anonymous(t *testing.T) (kb int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	if _, err := fmt.Sscanf(rest, "%d", &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}
