package victoria

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/promcost/promcost/allocation/memory"
)

// What is read at most: the bytes of a series' name, of a block, and of one answer, which is held until it has ended, as the blocks of a
// series come in any order.
const (
	maxName   = 1 << 20
	maxBlock  = 1 << 20
	maxAnswer = 256 << 20
)

// errLarge says that an answer has more than maxAnswer bytes.
var errLarge = errors.New("a large answer")

// native is an answer of the native export: the blocks of each series.
type native struct {
	arena
	series []*stored
	byName map[string]*stored
}

// stored is a series with its blocks.
type stored struct {
	name   []byte
	blocks []block
}

// What a series and a block take beside their bytes, about.
const (
	storedBytes = 128
	blockBytes  = 128
)

// readNative reads an answer about [start, end], which the answer repeats. Blocks beyond that are left out.
func readNative(body io.Reader, start, end int64, account *memory.Account) (*native, error) {
	n := &native{arena: arena{account: account}, byName: map[string]*stored{}}
	r := bufio.NewReaderSize(body, 64<<10)
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return n, fmt.Errorf("read the times of the answer: %w", err)
	}
	if from, to := zigzag(binary.BigEndian.Uint64(head[:])), zigzag(binary.BigEndian.Uint64(head[8:])); from > start || to < end {
		return n, formatErrorf("the answer is about times from %d to %d, of %d to %d", from, to, start, end)
	}
	var buf []byte
	for {
		name, err := readText(r, buf[:0], maxName)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		buf = name
		s, err := n.stored(name)
		if err != nil {
			return n, err
		}
		if err := n.readBlock(r, s, start, end); err != nil {
			return n, err
		}
	}
}

// readBlock reads a block of a series.
func (n *native) readBlock(r *bufio.Reader, s *stored, start, end int64) error {
	size, err := readSize(r, maxBlock)
	if err != nil {
		return cut(err)
	}
	data, err := n.take(size)
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(r, data); err != nil {
		return cut(err)
	}
	b, err := parseBlock(data)
	switch {
	case err != nil:
		return err
	case b.max < start || b.min > end:
		n.giveBack(size)
		return nil
	}
	s.blocks = append(s.blocks, b)
	return n.draw(blockBytes)
}

// stored is the series with a name.
func (n *native) stored(name []byte) (*stored, error) {
	if s := n.byName[string(name)]; s != nil {
		return s, nil
	}
	own, err := n.take(len(name))
	if err != nil {
		return nil, err
	}
	copy(own, name)
	s := &stored{name: own}
	n.series, n.byName[view(own)] = append(n.series, s), s
	return s, n.draw(storedBytes)
}

// readSize reads a length of at most so many bytes.
func readSize(r io.Reader, most int) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	size := binary.BigEndian.Uint32(b[:])
	if size > uint32(most) {
		return 0, formatErrorf("a part of the answer has %d bytes, of at most %d", size, most)
	}
	return int(size), nil
}

// readText appends a text behind its length. It is io.EOF where the answer ends before that.
func readText(r *bufio.Reader, dst []byte, most int) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	size, err := readSize(r, most)
	if err != nil {
		return nil, cut(err)
	}
	for len(dst) < size { // a forged length does not cost memory
		have := len(dst)
		dst = append(dst, make([]byte, min(size-have, 64<<10))...)
		if _, err := io.ReadFull(r, dst[have:]); err != nil {
			return nil, cut(err)
		}
	}
	return dst, nil
}

// cut is the error of an answer that ended within something.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// arena is memory for bytes that are freed together.
type arena struct {
	account *memory.Account
	slab    []byte
	used    int   // of the slab
	taken   int64 // of the account
}

// slabBytes is how much an arena grows by.
const slabBytes = 1 << 20

// take returns so many bytes.
func (a *arena) take(size int) ([]byte, error) {
	if size > len(a.slab)-a.used {
		more := max(slabBytes, size)
		if err := a.draw(int64(more)); err != nil {
			return nil, err
		}
		a.slab, a.used = make([]byte, more), 0
	}
	a.used += size
	return a.slab[a.used-size : a.used : a.used], nil
}

// giveBack takes back the bytes that were taken last.
func (a *arena) giveBack(size int) { a.used -= size }

// draw draws memory from the account.
func (a *arena) draw(bytes int64) error {
	if a.taken+bytes > maxAnswer {
		return errLarge
	}
	if err := a.account.Draw(bytes); err != nil {
		return err
	}
	a.taken += bytes
	return nil
}

// release returns the memory to the account. Nothing that was taken is used afterwards.
func (a *arena) release() {
	if a.taken > 0 {
		a.account.Return(a.taken)
	}
	a.taken = 0
}

// view returns b as a string without copying it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
