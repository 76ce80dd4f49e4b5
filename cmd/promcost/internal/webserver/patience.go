package webserver

import (
	"net/http"
	"time"
)

// A client has to read each pieceBytes of an answer within pieceTime. A client that stops reading would hold the answer, and its
// place among the requests that are answered at a time, for ever.
const (
	pieceTime  = time.Minute
	pieceBytes = 512 << 10
)

// Patient gives up answers that clients do not read: writing them fails. They have the time wait to read each 512 KiB.
func Patient(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &patientWriter{ResponseWriter: w, control: http.NewResponseController(w), wait: wait}
		next.ServeHTTP(p, r)
		p.extend() // for the bytes that the server still has to send
	})
}

// patientWriter is an http.ResponseWriter that has a deadline for each piece.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
}

// extend begins a piece. A connection that cannot have deadlines has none.
func (p *patientWriter) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(p.wait)) }

// WriteHeader implements http.ResponseWriter.
func (p *patientWriter) WriteHeader(code int) {
	p.extend()
	p.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (p *patientWriter) Write(b []byte) (n int, err error) {
	for first := true; first || len(b) > 0 && err == nil; first = false {
		piece := b[:min(len(b), pieceBytes)]
		p.extend()
		var m int
		m, err = p.ResponseWriter.Write(piece)
		n, b = n+m, b[len(piece):]
	}
	return n, err
}

// Flush implements http.Flusher.
func (p *patientWriter) Flush() {
	p.extend()
	_ = p.control.Flush() // what fails, fails the next Write
}

// Unwrap is for http.ResponseController.
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
