package encode

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// gzipBlock is how many bytes are compressed at a time. Repetitions across blocks are not found, which costs little. Answers up to
// gzipShort are compressed fast and less well: good compression would take more memory than the saving is worth.
const (
	gzipBlock = 128 << 10
	gzipShort = 16 << 10
)

// Gzip compresses what is written to it, block by block on all processors, to one member of a gzip file. Close it at the end. It
// is for one goroutine at a time. Errors are those of the writer underneath.
type Gzip struct {
	pipes   pipes
	block   []byte
	begun   bool
	sum     uint32
	size    uint32 // modulo 2^32, as the format has it
	blocks  sync.Pool
	writers sync.Pool // of *flate.Writer
}

// NewGzip returns a Gzip that writes to w.
func NewGzip(w io.Writer) *Gzip { return &Gzip{pipes: pipes{w: w, size: gzipBlock}} }

// Write compresses p. The compressed bytes may reach the writer underneath later.
func (z *Gzip) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if z.block == nil {
			z.block = z.emptyBlock()
		}
		n := min(len(rest), gzipBlock-len(z.block))
		z.block, rest = append(z.block, rest[:n]...), rest[n:]
		if len(z.block) == gzipBlock {
			z.pipes.start(z.next(false))
		}
	}
	return len(p), z.pipes.err
}

// emptyBlock is an empty buffer for a block. Short answers need less.
func (z *Gzip) emptyBlock() []byte {
	if b, ok := z.blocks.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return []byte{}
}

// Close writes what has not been written yet, and the end.
func (z *Gzip) Close() error {
	last := z.next(true)
	if len(z.pipes.busy) == 0 {
		z.pipes.write(last(nil))
		return z.pipes.err
	}
	z.pipes.start(last)
	z.pipes.drain()
	return z.pipes.err
}

// next appends the block, compressed.
func (z *Gzip) next(last bool) func(b []byte) []byte {
	block, first := z.block, !z.begun
	z.sum, z.size = crc32.Update(z.sum, crc32.IEEETable, block), z.size+uint32(len(block))
	sum, size := z.sum, z.size
	z.block, z.begun = nil, true
	return func(b []byte) []byte {
		if first {
			b = append(b, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255) // deflate, without name and time, fastest, of an unknown system
		}
		if b = z.deflate(b, block, last); last {
			b = binary.LittleEndian.AppendUint32(b, sum)
			b = binary.LittleEndian.AppendUint32(b, size)
		}
		z.blocks.Put(&block)
		return b
	}
}

// deflate appends a block, compressed, to a border of bytes.
func (z *Gzip) deflate(b, block []byte, last bool) []byte {
	out := bytes.NewBuffer(b)
	var err error
	if last && len(block) <= gzipShort {
		err = flate.StatelessDeflate(out, block, last, nil)
	} else {
		err = z.compress(out, block, last)
	}
	if err != nil {
		panic("BUG: a buffer cannot be written to: " + err.Error())
	}
	return out.Bytes()
}

// compress writes a block, compressed.
func (z *Gzip) compress(out *bytes.Buffer, block []byte, last bool) error {
	w, ok := z.writers.Get().(*flate.Writer)
	if ok {
		w.Reset(out)
	} else {
		w, _ = flate.NewWriter(out, flate.BestSpeed) // the level is one
	}
	defer z.writers.Put(w)
	if _, err := w.Write(block); err != nil {
		return err
	}
	if last {
		return w.Close()
	}
	return w.Flush()
}
