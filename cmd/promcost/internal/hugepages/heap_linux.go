//go:build !race

package hugepages

import (
	"bytes"
	"os"
	"runtime/debug"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reserve returns the part of the heap that the process uses next, of so many bytes. It takes address space, not memory: what it
// allocates is garbage at once, and later allocations get the lowest free addresses. It reserves nothing where the kernel gives huge
// pages to all or to nobody, or limits address space.
func Reserve(size int64) *Heap {
	if size <= 0 || !onRequest() || limited() {
		return &Heap{}
	}
	var reserved strings.Builder
	reserved.Grow(int(size))    // which, unlike make, does not clear memory that was used before, and so does not touch it
	_ = reserved.WriteByte(' ') // else it has no address
	h := &Heap{from: uintptr(unsafe.Pointer(unsafe.StringData(reserved.String()))), size: uintptr(reserved.Cap())}
	reserved = strings.Builder{}
	debug.FreeOSMemory() // collects it, and counts it as given back
	return h
}

// onRequest reports whether the kernel gives huge pages to those that ask.
func onRequest() bool {
	enabled, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled") // kernels without huge pages have no such file
	return bytes.Contains(enabled, []byte("[madvise]"))
}

// limited reports whether the kernel limits address space that is not used: a Go process ends when it gets no more.
func limited() bool {
	for _, resource := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var limit unix.Rlimit
		if unix.Getrlimit(resource, &limit) != nil || limit.Cur != unix.RLIM_INFINITY {
			return true
		}
	}
	policy, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	return err != nil || bytes.HasPrefix(policy, []byte("2"))
}

// advise tells the kernel whether to back the heap with huge pages. If it refuses, nothing is lost.
func (h *Heap) advise(huge bool) {
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	if h.size > 0 {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, h.from, h.size, uintptr(advice))
	}
}
