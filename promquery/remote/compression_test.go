package remote_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// TestCompression checks by which encoding servers are asked: those nearby are not made to compress answers, which takes longer than making
// them.
func TestCompression(t *testing.T) {
	for _, tc := range []struct {
		url         string
		compression remote.Compression
		want        string
	}{
		{"http://prometheus:9090", "", "identity"},
		{"http://prometheus.monitoring", "", "identity"},
		{"http://prometheus.monitoring.svc:9090", "", "identity"},
		{"https://prometheus.monitoring.svc", "", "identity"},
		{"https://prometheus.monitoring.svc.cluster.local.", "", "identity"},
		{"https://localhost:9090", "", "identity"},
		{"http://127.0.0.1:9090", "", "identity"},
		{"https://[::1]:9090", "", "identity"},
		{"https://prometheus.example.com", "", "gzip"},
		{"https://example.com", "", "gzip"},
		{"http://prometheus.example.com", remote.CompressionAuto, "gzip"},
		{"https://192.0.2.1", "", "gzip"},
		{"https://prometheus.example.com", remote.CompressionNone, "identity"},
		{"http://prometheus:9090", remote.CompressionGzip, "gzip"},
	} {
		f := newFake()
		f.handle(rangePath, matrix(""))
		src, err := remote.New(remote.Config{URL: tc.url, Mode: remote.ModeQuery, Compression: tc.compression, Client: &http.Client{Transport: f}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := collect(t, src, promquery.Request{Metric: "m", End: hourMs, Grid: promquery.Grid{Step: minuteMs}}); err != nil {
			t.Fatal(err)
		}
		for _, r := range f.asked {
			if got := r.Header.Get("Accept-Encoding"); got != tc.want {
				t.Errorf("%s with %q was asked for %q, want %q", r.URL, tc.compression, got, tc.want)
			}
		}
	}
	if _, err := remote.New(remote.Config{URL: "http://prometheus", Compression: "zstd"}); err == nil || !strings.Contains(err.Error(), "auto, gzip or none") {
		t.Errorf("unknown compression: %v", err)
	}
}

// compressing compresses answers where the client accepts that, as Prometheus does.
func compressing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			next.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(rec.Code)
		z := gzip.NewWriter(w)
		_, _ = io.Copy(z, rec.Body)
		_ = z.Close()
	})
}

// TestCompressionOverTLS asks a server by https, through a transport that compresses nothing by itself, as that of Prometheus' http_config: answers
// are the same with and without compression, come in far fewer bytes with it, and so do errors.
func TestCompressionOverTLS(t *testing.T) {
	f := newFake()
	points := make([]string, 1440)
	for i := range points {
		points[i] = fmt.Sprintf(`[%d,"%d"]`, 60*i, 1000+i%7)
	}
	f.handle(rangePath, matrix(`{"metric":{"pod":"a"},"values":[`+strings.Join(points, ",")+`]}`))
	f.handle("/api/v1/query", counting(t, nil))
	f.handle("/api/v1/read", status(http.StatusNotFound, "text/plain", ""))
	srv := httptest.NewTLSServer(compressing(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.handlers[r.URL.Path](w, r) })))
	t.Cleanup(srv.Close)
	transport := srv.Client().Transport.(*http.Transport).Clone()
	transport.DisableCompression = true
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
	}
	sel := promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}}
	bytes := map[remote.Compression]int64{}
	for _, c := range []remote.Compression{remote.CompressionAuto, remote.CompressionNone} {
		src, err := remote.New(remote.Config{URL: "https://example.com", Compression: c, Backoff: time.Microsecond, Client: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		got, stats, err := collect(t, src, sel)
		if err != nil || len(got["0:a"]) != len(points) {
			t.Fatalf("%s: %d points, %v", c, len(got["0:a"]), err)
		}
		bytes[c] = stats.Bytes
		f.handle(rangePath, status(http.StatusBadRequest, "application/json", `{"status":"error","error":"invalid selector"}`))
		if _, _, err := collect(t, src, sel); err == nil || !strings.Contains(err.Error(), "invalid selector") {
			t.Errorf("%s: error %v", c, err)
		}
		f.handle(rangePath, matrix(`{"metric":{"pod":"a"},"values":[`+strings.Join(points, ",")+`]}`))
	}
	if bytes[remote.CompressionAuto] == 0 || 3*bytes[remote.CompressionAuto] > bytes[remote.CompressionNone] {
		t.Errorf("bytes of answers: %v", bytes)
	}
}

// TestCompressionOfPrometheus asks a real Prometheus for compressed answers: they are those that come without.
func TestCompressionOfPrometheus(t *testing.T) {
	upstream, requests := demoUpstream(t)
	bytes := map[remote.Compression]int64{}
	var want map[string][]string
	for _, c := range []remote.Compression{remote.CompressionNone, remote.CompressionGzip} {
		src, err := remote.New(remote.Config{URL: upstream, Mode: remote.ModeQuery, Compression: c})
		if err != nil {
			t.Fatal(err)
		}
		got, stats, err := collect(t, src, requests...)
		if err != nil || len(got) == 0 {
			t.Fatalf("%s: %d series, %v", c, len(got), err)
		}
		if bytes[c] = stats.Bytes; want != nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("series (-without +with compression):\n%s", diff)
			}
		}
		want = got
	}
	if 3*bytes[remote.CompressionGzip] > bytes[remote.CompressionNone] {
		t.Errorf("bytes of answers: %v", bytes)
	}
}
