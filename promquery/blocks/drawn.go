package blocks

import (
	"context"
	"sync/atomic"

	"github.com/promcost/promcost/allocation/memory"
)

// Bytes that a look-up takes: each of a slice or a map, with the room that it grows into.
const (
	numberBytes    = 4 // of a symbol, and where one stands
	encodedBytes   = 64
	textBytes      = 8 // its place in a sparse, or in a key
	chunkListBytes = 16
	seriesBytes    = 24
	entryBytes     = 24
	pairBytes      = 8
	symbolBytes    = 64 // of that symbol, beside its text
)

// drawEvery is how many series are looked up between two draws of memory.
const drawEvery = 1 << 10

// readMemory is the memory that one read has drawn from its account.
type readMemory struct {
	account *memory.Account
	total   atomic.Int64
}

func newReadMemory(ctx context.Context) *readMemory {
	return &readMemory{account: memory.FromContext(ctx)}
}

// release returns all of it.
func (m *readMemory) release() { m.account.Return(m.total.Swap(0)) }

// drawn is the memory of one part of a read. The zero value has no bound.
type drawn struct {
	of   *readMemory
	held int64
}

// to draws or returns memory until the part holds the given bytes.
func (d *drawn) to(bytes int64) error {
	more := bytes - d.held
	if d.of == nil || more == 0 {
		return nil
	}
	if more < 0 {
		d.of.account.Return(-more)
	} else if err := d.of.account.Draw(more); err != nil {
		return err
	}
	d.of.total.Add(more)
	d.held = bytes
	return nil
}

// draw draws the memory of the finder, and of the series that it has found so far.
func (f *finder) draw(out *page) error {
	s := f.symbols
	bytes := s.bytes + int64(cap(s.places))*numberBytes + s.texts.memory() + s.uids.memory() + s.series.memory()
	for i, v := range s.views {
		c := &f.walkers[i]
		bytes += int64(len(v.numbers))*numberBytes + int64(cap(c.some)) + int64(cap(c.entries))*entryBytes + int64(cap(c.pairs))*pairBytes
	}
	if err := f.drawn.to(bytes); err != nil {
		return err
	}
	return out.draw()
}

// draw draws the memory of the series.
func (p *page) draw() error {
	listed := 0
	for _, list := range p.libraryLists {
		listed += len(list)
	}
	return p.drawn.to(int64(listed)*encodedBytes + int64(cap(p.chunkLists))*chunkListBytes + int64(cap(p.series))*seriesBytes + int64(cap(p.keys))*textBytes + int64(cap(p.numbers))*numberBytes)
}
