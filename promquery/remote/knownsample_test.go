package remote_test

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// proxy is a server before a Prometheus, whose streams of remote read answer changes.
func proxy(t *testing.T, upstream string, answer func(w http.ResponseWriter, contentType string, body []byte)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if contentType := resp.Header.Get("Content-Type"); r.URL.Path == "/api/v1/read" {
			answer(w, contentType, body)
			return
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// borders are where the frames of a stream end.
func borders(t *testing.T, body []byte) (ends []int) {
	t.Helper()
	for at := 0; at < len(body); {
		size, n := binary.Uvarint(body[at:])
		if at += n + 4 + int(size); n <= 0 || at > len(body) {
			t.Fatal("the stream is malformed")
		}
		ends = append(ends, at)
	}
	return ends
}

// http10 writes an answer as a server of HTTP/1.0 does: the end of the connection ends it.
func http10(t *testing.T, w http.ResponseWriter, contentType string, body []byte) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: "+contentType+"\r\n\r\n"+string(body))
	_ = conn.Close()
}

// TestCutBetweenFrames reads from a real Prometheus behind a proxy that makes well-ended streams of those that break off between
// frames: such an answer is asked for again, and an error if it never becomes whole.
func TestCutBetweenFrames(t *testing.T) {
	upstream, requests := demoUpstream(t)
	want := read(t, upstream, remote.ModeRemoteRead, requests)
	for name, kept := range map[string]func(frames int) int{
		"at once":           func(int) int { return 0 },
		"after a frame":     func(int) int { return 1 },
		"in the middle":     func(frames int) int { return frames / 2 },
		"before the sample": func(frames int) int { return frames - 1 },
	} {
		var answers atomic.Int64
		url := proxy(t, upstream, func(w http.ResponseWriter, contentType string, body []byte) {
			ends := append([]int{0}, borders(t, body)...)
			w.Header().Set("Content-Type", contentType)
			if n := len(ends) - 1; n > 1 && answers.Add(1) == 1 { // the one that looks for the sample has one frame
				body = body[:ends[kept(n)]]
			}
			_, _ = w.Write(body)
		})
		if diff := cmp.Diff(want, read(t, url, remote.ModeRemoteRead, requests)); diff != "" || answers.Load() < 2 {
			t.Errorf("cut %s, %d answers (-want +got):\n%s", name, answers.Load(), diff)
		}
	}
	url := proxy(t, upstream, func(w http.ResponseWriter, contentType string, body []byte) {
		ends := borders(t, body)
		w.Header().Set("Content-Type", contentType)
		if len(ends) > 1 {
			body = body[:ends[len(ends)-2]]
		}
		_, _ = w.Write(body)
	})
	src, err := remote.New(remote.Config{URL: url, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := collect(t, src, requests...); err == nil || !strings.Contains(err.Error(), "(6 tries): the stream ended before its last query was answered") {
		t.Errorf("always cut: got %v", err)
	}
}

// TestHTTP10 reads from a real Prometheus behind a proxy that speaks HTTP/1.0: remote read is refused with what to do, and where the
// query API may be asked, that gives the same answer.
func TestHTTP10(t *testing.T) {
	upstream, requests := demoUpstream(t)
	url := proxy(t, upstream, func(w http.ResponseWriter, contentType string, body []byte) { http10(t, w, contentType, body) })
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeAuto} {
		src, err := remote.New(remote.Config{URL: url, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		got, stats, err := collect(t, src, requests...)
		const remedy = "let the proxy speak HTTP/1.1"
		if mode == remote.ModeRemoteRead {
			if err == nil || !strings.Contains(err.Error(), remedy) {
				t.Errorf("got %v, want an error with the remedy", err)
			}
			continue
		}
		if err != nil || len(stats.Warnings) != 1 || !strings.Contains(stats.Warnings[0], remedy) {
			t.Errorf("got %v, warnings %q, want one with the remedy", err, stats.Warnings)
		}
		if diff := cmp.Diff(read(t, upstream, remote.ModeQuery, requests), got); diff != "" {
			t.Errorf("series by the query API (-want +got):\n%s", diff)
		}
	}
}

// demoUpstream starts a Prometheus over a small demo cluster, and returns requests for some of its series.
func demoUpstream(t *testing.T) (url string, requests []promquery.Request) {
	t.Helper()
	_, dir := promtest.WriteDemo(t, democluster.New, democluster.Config{End: fixed, Duration: 3 * time.Hour, Nodes: 4, Pods: 37, Seed: 2})
	for _, metric := range []string{"kube_node_info", "container_cpu_usage_seconds_total", "kube_pod_info", "node_cpu_hourly_cost"} {
		requests = append(requests, promquery.Request{
			Metric: metric, Start: fixed.Add(-time.Hour).UnixMilli(), End: fixed.UnixMilli(), Grid: promquery.Grid{Step: minuteMs},
		})
	}
	return promtest.Start(t, dir, promtest.Config{Flags: []string{"--storage.remote.read-max-bytes-in-frame=400000"}}), requests
}

// read returns what a server gives for requests.
func read(t *testing.T, url string, mode remote.Mode, requests []promquery.Request) map[string][]string {
	t.Helper()
	src, err := remote.New(remote.Config{URL: url, Mode: mode, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	got, stats, err := collect(t, src, requests...)
	if err != nil || len(got) == 0 || len(stats.Warnings) > 0 {
		t.Fatalf("got %d series, warnings %q, %v", len(got), stats.Warnings, err)
	}
	return got
}
