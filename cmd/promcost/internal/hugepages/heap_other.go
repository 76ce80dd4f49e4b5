//go:build !linux || race

package hugepages

// Reserve reserves nothing: huge pages are asked for on Linux only, and not under the race detector, which would keep memory for all that
// is reserved.
func Reserve(int64) *Heap { return &Heap{} }

func (h *Heap) advise(bool) {}
