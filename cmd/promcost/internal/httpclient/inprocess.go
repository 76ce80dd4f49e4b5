package httpclient

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// InProcess lets a client ask a handler of this process.
func InProcess(h http.Handler) http.RoundTripper { return handlerTransport{h} }

type handlerTransport struct{ handler http.Handler }

// RoundTrip has the handler answer into memory.
func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &memoryResponse{header: http.Header{}, code: http.StatusOK}
	t.handler.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(w.code) + " " + http.StatusText(w.code), StatusCode: w.code, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// memoryResponse is an http.ResponseWriter that keeps the answer in memory.
type memoryResponse struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *memoryResponse) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *memoryResponse) WriteHeader(code int) { w.code = code }

// Write implements http.ResponseWriter.
func (w *memoryResponse) Write(p []byte) (int, error) { return w.body.Write(p) }
