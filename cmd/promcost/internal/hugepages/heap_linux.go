//go:build !race

package hugepages

import (
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reserve has the next bytes of the heap ask for huge pages when it is used. It takes address space alone: what it allocates is
// garbage at once, and later allocations get the lowest addresses that are free. Where address space is limited, it reserves nothing.
func Reserve(bytes int64) *Heap {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur != unix.RLIM_INFINITY || bytes <= 0 {
		return &Heap{}
	}
	reserved := make([]byte, bytes) // fresh memory of the kernel, which the runtime need not clear
	h := &Heap{from: uintptr(unsafe.Pointer(unsafe.SliceData(reserved))), size: uintptr(len(reserved))}
	debug.FreeOSMemory() // collects it, and counts it as given back
	return h
}

// advise tells the kernel whether to back the heap with huge pages. Kernels without them refuse, and nothing is lost.
func (h *Heap) advise(huge bool) {
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	if h.size > 0 {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, h.from, h.size, uintptr(advice))
	}
}
