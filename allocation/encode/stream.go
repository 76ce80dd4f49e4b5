package encode

import (
	"io"
	"slices"
)

// flushAt is the number of bytes after which a stream writes its buffer.
const flushAt = 32 << 10

// pipeRows is how many rows one goroutine encodes at a time, and pipeBytes is enough for most of them: each write costs net/http
// two writes to the client, the first one of 4 kB.
const (
	pipeRows  = 4 * blockRows
	pipeBytes = 320 << 10
)

// stream collects bytes and writes them in larger pieces, in order. After an error it drops what it gets.
type stream struct {
	pipes  pipes
	b      []byte
	pieces []piece // rows that stand in b, and are still to be encoded
	rows   int     // of pieces
}

// piece is rows to be encoded, to be inserted at an offset of the stream's buffer.
type piece struct {
	at, from, to int
	rows         func(b []byte, from, to int) []byte
}

func newStream(w io.Writer) *stream {
	return &stream{pipes: pipes{w: w, size: pipeBytes}, b: make([]byte, 0, flushAt+8<<10)}
}

// each appends rows 0 to n. The function rows appends those from one index to before another; it may be called on several
// goroutines at once.
func (s *stream) each(n int, rows func(b []byte, from, to int) []byte) {
	for from := 0; from < n && s.pipes.err == nil; {
		to := min(n, from+pipeRows-s.rows)
		s.pieces = append(s.pieces, piece{len(s.b), from, to, rows})
		s.rows += to - from
		if from = to; s.rows == pipeRows {
			s.start()
		}
	}
}

// start encodes the pending rows on a goroutine.
func (s *stream) start() {
	between, pieces := slices.Clone(s.b), s.pieces
	s.b, s.pieces, s.rows = s.b[:0], nil, 0
	s.pipes.start(func(b []byte) []byte { return appendPieces(b, between, pieces) })
}

// appendPieces appends the pieces and the bytes between them.
func appendPieces(b, between []byte, pieces []piece) []byte {
	at := 0
	for _, p := range pieces {
		b = append(b, between[at:p.at]...)
		b = p.rows(b, p.from, p.to)
		at = p.at
	}
	return append(b, between[at:]...)
}

// checkpoint writes the buffer if it is large.
func (s *stream) checkpoint() {
	if len(s.b) >= flushAt {
		s.flush()
	}
}

// flush writes everything that was collected. It encodes a few rows itself.
func (s *stream) flush() {
	if len(s.pipes.busy) > 0 && len(s.pieces) > 0 {
		s.start()
	}
	s.pipes.drain()
	if len(s.pieces) > 0 {
		s.b = appendPieces(nil, s.b, s.pieces)
		s.pieces, s.rows = nil, 0
	}
	s.pipes.write(s.b)
	s.b = s.b[:0]
}

// close writes the rest and returns the first error.
func (s *stream) close() error {
	s.flush()
	return s.pipes.err
}
