package encode

import (
	"io"
	"slices"
)

// flushAt is the number of bytes after which a stream hands over what it has.
const flushAt = 32 << 10

// pipeRows is how many rows one goroutine encodes at a time, pipeBytes what they mostly fit in: each piece of an answer costs
// net/http two writes to the client, the first one of 4 kB.
const (
	pipeRows  = 4 * blockRows
	pipeBytes = 320 << 10
)

// stream collects bytes and writes them in larger pieces, in order. After an error it drops what it is given.
type stream struct {
	pipes  pipes
	b      []byte
	pieces []piece // rows that stand in b, and are still to be encoded
	rows   int     // of pieces
}

// piece is rows to be encoded. It stands at an offset of what a stream collected.
type piece struct {
	at, from, to int
	rows         func(b []byte, from, to int) []byte
}

func newStream(w io.Writer) *stream {
	return &stream{pipes: pipes{w: w, size: pipeBytes}, b: make([]byte, 0, flushAt+8<<10)}
}

// each appends n rows by a function that appends those from one to before another and may be called on several goroutines at
// once.
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

// start lets a goroutine encode the rows that are still to be.
func (s *stream) start() {
	between, pieces := slices.Clone(s.b), s.pieces
	s.b, s.pieces, s.rows = s.b[:0], nil, 0
	s.pipes.start(func(b []byte) []byte { return appendPieces(b, between, pieces) })
}

// appendPieces appends the pieces and what stands between them.
func appendPieces(b, between []byte, pieces []piece) []byte {
	at := 0
	for _, p := range pieces {
		b = append(b, between[at:p.at]...)
		b = p.rows(b, p.from, p.to)
		at = p.at
	}
	return append(b, between[at:]...)
}

// checkpoint writes what has been collected if it is much.
func (s *stream) checkpoint() {
	if len(s.b) >= flushAt {
		s.flush()
	}
}

// flush writes all that has been collected. Rows that are few are encoded at once.
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
