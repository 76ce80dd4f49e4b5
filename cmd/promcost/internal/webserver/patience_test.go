package webserver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/cmd/promcost/internal/webserver"
	"github.com/promcost/promcost/promquery/promapi"
)

// A client that asks for much and reads nothing holds the place of a query only for so long; compressed answers, too.
func TestSlowReaders(t *testing.T) {
	for _, encoding := range []string{"identity", "gzip"} {
		t.Run(encoding, func(t *testing.T) {
			turns, ended := make(chan struct{}, 1), make(chan error, 1)
			noise := []byte(strings.Repeat("0123456789abcdef", 1<<12))
			server := httptest.NewServer(webserver.Patient(costapi.Compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				turns <- struct{}{}
				defer func() { <-turns }()
				for i := range uint64(1 << 20) {
					for at := range noise { // what packs badly
						noise[at] = byte((uint64(at) + i) * 0x9E3779B97F4A7C15 >> 37)
					}
					if _, err := w.Write(noise); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			})), 200*time.Millisecond))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n\r\n", encoding); err != nil {
				t.Fatal(err)
			}
			select {
			case err = <-ended:
			case <-time.After(10 * time.Minute):
				t.Fatal("it is still being answered")
			}
			if err == nil {
				t.Error("all was sent")
			}
			select {
			case turns <- struct{}{}:
			case <-time.After(10 * time.Minute):
				t.Error("it still has its turn")
			}
		})
	}
}

// A client that reads gets everything, however late the answer begins, and also by the same connection later.
func TestReadersThatAreNotSlow(t *testing.T) {
	t.Parallel()
	const (
		wait = 5 * time.Second
		long = 5 * (512 << 10) / 2 // two pieces and a half
	)
	var asked atomic.Int64
	server := httptest.NewServer(webserver.Patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			time.Sleep(wait + wait/10)
		}
		if r.URL.Path == "/none" {
			return
		}
		if n, err := w.Write(make([]byte, long)); n != long || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		w.(http.Flusher).Flush()
	}), wait))
	defer server.Close()
	for _, path := range []string{"/", "/none", "/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if want := map[string]int{"/": long}[path]; err != nil || len(body) != want {
			t.Errorf("%s: %d bytes, want %d, %v", path, len(body), want, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Answers of remote read are streamed through it.
func TestStreamsThroughPatience(t *testing.T) {
	h := webserver.Patient(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Flusher); !ok {
			t.Errorf("%s needs a Flusher", promapi.ReadPath)
		}
	}), time.Minute)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, promapi.ReadPath, http.NoBody))
}
