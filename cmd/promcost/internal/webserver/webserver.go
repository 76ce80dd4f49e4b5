// Package webserver is an HTTP server that clients cannot exhaust. It bounds the connections, the requests that are answered at a
// time, the memory of bodies and the time that a client may take, closes what exceeds the bounds, and sets the headers by which
// browsers protect themselves. What it serves is the caller's.
package webserver

import (
	"io"
	"net/http"
	"time"
)

// Limits of the HTTP server. Answers have no time limit of their own: computing has one.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 15 * time.Second // of a request, its body included
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 1 << 20
)

// New returns a server of h that keeps the bounds of this package.
func New(h http.Handler, c *Connections) *http.Server {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes}
	c.guard(srv)
	srv.Handler = Patient(Secured(srv.Handler), pieceTime)
	return srv
}

// Text answers with a line of text.
func Text(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // a client that has gone needs no answer
}
