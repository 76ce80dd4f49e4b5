package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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
	table *crc32.Table
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), table: crc32.MakeTable(crc32.Castagnoli)}
}

// next returns the next frame's message, valid until the call after, or io.EOF where the stream ends between frames.
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
	var sum [4]byte
	if _, err := io.ReadFull(f.r, sum[:]); err != nil {
		return nil, cut(err)
	}
	f.buf = f.buf[:0]
	for have := 0; have < int(size); {
		n := min(int(size)-have, max(growBy, cap(f.buf)-have))
		f.buf = append(f.buf[:have], make([]byte, n)...)
		if _, err := io.ReadFull(f.r, f.buf[have:]); err != nil {
			return nil, cut(err)
		}
		have += n
	}
	if crc32.Checksum(f.buf, f.table) != binary.BigEndian.Uint32(sum[:]) {
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
	head, err := f.r.Peek(maxShown)
	if err == nil || len(head) < minText || bytes.IndexByte(head, '\n') != len(head)-1 {
		return nil
	}
	if text := printable(head); text != "" {
		return fmt.Errorf("the server broke off: %s", text)
	}
	return nil
}

// The protobuf wire types, and the fields of ChunkedReadResponse and ChunkedSeries.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5

	fieldSeries = 1
	fieldQuery  = 2
	fieldLabels = 1
	fieldChunks = 2
)

// field is one field of a protobuf message.
type field struct {
	num   uint64
	wire  uint64
	value uint64 // of a varint
	data  []byte // of bytes; part of the message
	end   int    // offset in the message of what follows
}

// eachField calls visit for the fields of a message in their order. An error of visit ends it.
func eachField(msg []byte, visit func(f field) error) error {
	for pos := 0; pos < len(msg); {
		tag, n := binary.Uvarint(msg[pos:])
		if n <= 0 {
			return errMessage
		}
		pos += n
		f := field{num: tag >> 3, wire: tag & 7}
		size := uint64(0) // of what is left of the field
		switch f.wire {
		case wireVarint:
			if f.value, n = binary.Uvarint(msg[pos:]); n <= 0 {
				return errMessage
			}
			pos += n
		case wire64:
			size = 8
		case wireBytes:
			if size, n = binary.Uvarint(msg[pos:]); n <= 0 {
				return errMessage
			}
			pos += n
		case wire32:
			size = 4
		default:
			return errMessage
		}
		if size > uint64(len(msg)-pos) {
			return errMessage
		}
		f.data = msg[pos : pos+int(size)]
		pos += int(size)
		f.end = pos
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// queryIndex returns which query of its request a ChunkedReadResponse answers.
func queryIndex(msg []byte) (int64, error) {
	index := int64(0)
	err := eachField(msg, func(f field) error {
		if f.num == fieldQuery && f.wire == wireVarint {
			index = int64(f.value)
		}
		return nil
	})
	return index, err
}
