package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/promcost/promcost/promquery/chunks"
)

const (
	// maxFrame bounds a frame. Prometheus fills them up to 1 MiB by default and overruns that by less than a chunk.
	maxFrame = 64 << 20
	// growBy is how much of a frame is read before its memory grows: a forged length does not cost memory.
	growBy = 1 << 20
)

// The causes of a stream that cannot be read.
var (
	errCut      = errors.New("the stream was cut off inside a frame")
	errChecksum = errors.New("a frame's checksum does not hold")
	errMessage  = errors.New("a frame is not a protobuf message")
	errQuery    = errors.New("a frame answers a query that was not asked")
)

// frameReader reads the frames of a streamed remote read: length, CRC-32 (Castagnoli), message.
type frameReader struct {
	r     *bufio.Reader
	buf   []byte
	sum   [4]byte
	table *crc32.Table
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), table: crc32.MakeTable(crc32.Castagnoli)}
}

// next returns the next frame's message, which is valid until the next call, or io.EOF if the stream ends between frames.
func (f *frameReader) next() ([]byte, error) {
	if _, err := f.r.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, cut(err)
	}
	if err := f.serverText(); err != nil {
		return nil, err
	}
	size, err := binary.ReadUvarint(f.r)
	if err != nil {
		return nil, cut(err)
	}
	if size > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes exceeds the limit of %d", size, maxFrame)
	}
	if _, err := io.ReadFull(f.r, f.sum[:]); err != nil {
		return nil, cut(err)
	}
	f.buf = f.buf[:0]
	for have := 0; have < int(size); {
		n := min(int(size)-have, max(growBy, cap(f.buf)-have))
		f.buf = slices.Grow(f.buf[:have], n+chunks.Padding)[:have+n] // nothing is written after its chunks while they are read
		if _, err := io.ReadFull(f.r, f.buf[have:]); err != nil {
			return nil, cut(err)
		}
		have += n
	}
	if crc32.Checksum(f.buf, f.table) != binary.BigEndian.Uint32(f.sum[:]) {
		return nil, errChecksum
	}
	return f.buf, nil
}

// cut is the error of a stream that ended inside a frame because of err. The end of the stream is not its cause: errors.Is
// must not take it for one.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", errCut, err)
}

// minText is how much text is taken for an error message.
const minText = 8

// serverText detects that the stream goes on as plain text: a Prometheus that fails in the midst of an answer appends its
// error, one line, to it. No frame looks so: its message begins with the tag of a series, which is a line feed.
func (f *frameReader) serverText() error {
	// Nearly all frames are longer than 127 bytes, so that their length begins with a byte that no text begins with: they
	// need not wait for more to come.
	if head, err := f.r.Peek(1); err != nil || head[0] >= utf8.RuneSelf {
		return nil
	}
	head, err := f.r.Peek(maxShown)
	if err == nil || len(head) < minText || bytes.IndexByte(head, '\n') != len(head)-1 {
		return nil
	}
	if text := shown(printable(head)); text != "" {
		return fmt.Errorf("the server broke off: %s", text)
	}
	return nil
}
