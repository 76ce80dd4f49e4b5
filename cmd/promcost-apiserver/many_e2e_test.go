//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// hours is a promcost whose newest hour a test closes: it says an hour less before.
type hours struct {
	*httputil.ReverseProxy
	closed atomic.Bool
}

// behind are the hours of a promcost.
func behind(t *testing.T, promcost string) (h *hours, address string) {
	t.Helper()
	u, err := url.Parse(promcost)
	if err != nil {
		t.Fatal(err)
	}
	h = &hours{ReverseProxy: httputil.NewSingleHostReverseProxy(u)}
	h.ModifyResponse = func(r *http.Response) error {
		if h.closed.Load() || r.Request.URL.Path != "/model/clusterInfo" {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte("2026-03-05T00:00:00Z"), []byte("2026-03-04T23:00:00Z"), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.URL
}

// anonymous is the memory of a process now and at most, without mapped files.
func anonymous(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "RssAnon") || strings.HasPrefix(line, "VmHWM") {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(found, ", ")
}

// TestManyE2E measures kubectl over some 10,000 allocations, and 100 watches of them over the closing of an hour, through the
// Kubernetes API.
func TestManyE2E(t *testing.T) {
	if !soak.On() {
		t.Skip("it measures: -soak runs it")
	}
	h, promcost := behind(t, startDemo(t, demoEnd, demoDuration, "--demo.pods=2000", "--demo.nodes=60", "--demo.scrape-interval=2m"))
	c := startCluster(t, promcost)
	t.Logf("at rest: %s", anonymous(t, c.pid))
	for _, args := range [][]string{
		{"get", "allocations", "-A"},
		{"get", "allocations", "-A"},
		{"get", "allocations", "-A", "--chunk-size=0"},
		{"get", "allocations", "-A", "-o", "json"},
		{"get", "allocations", "-A", "--field-selector", "spec.controllerKind=statefulset"},
		{"get", "allocations", "-n", "search"},
	} {
		first, all, rows := c.timed(t, args...)
		t.Logf("kubectl %s: %d lines, the first after %s, all after %s; %s", strings.Join(args, " "), rows, first.Round(time.Millisecond), all.Round(time.Millisecond), anonymous(t, c.pid))
	}
	const clients = 100
	begin := time.Now()
	answered, later := c.listAtOnce(t, clients)
	t.Logf("%d lists at once: %d answered and %d asked to come again after %s; %s", clients, answered, later, time.Since(begin).Round(time.Millisecond), anonymous(t, c.pid))
	begin = time.Now()
	var initial, closed sync.WaitGroup
	var events atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range clients {
		initial.Add(1)
		closed.Add(1)
		go func() {
			bookmarks, newer := 0, false
			path := "/apis/cost.promcost.io/v1alpha1/allocations?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
			err := c.Watch(ctx, path, func(line []byte) error {
				if !bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) {
					events.Add(1)
					return nil
				}
				if bookmarks++; bookmarks == 1 {
					initial.Done()
				} else if !newer && bytes.Contains(line, []byte(`"resourceVersion":"1772668800"`)) {
					newer = true
					closed.Done()
				}
				return nil
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}()
	}
	initial.Wait()
	t.Logf("%d watches have %d events after %s; %s", clients, events.Load(), time.Since(begin).Round(time.Millisecond), anonymous(t, c.pid))
	begin = time.Now()
	h.closed.Store(true)
	closed.Wait()
	t.Logf("an hour closed: %d events after %s; %s", events.Load(), time.Since(begin).Round(time.Millisecond), anonymous(t, c.pid))
}

// timed runs kubectl and says when its first line came, when all had, and how many there were.
func (c *cluster) timed(t *testing.T, args ...string) (first, all time.Duration, lines int) {
	t.Helper()
	cmd := c.command(t.Context(), t, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); lines++ {
		if lines == 0 {
			first = time.Since(begin)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, &said)
	}
	return first, time.Since(begin), lines
}

// listAtOnce lists everything, without pages, by many clients at once, and returns how many had an answer and how many 429.
func (c *cluster) listAtOnce(t *testing.T, clients int) (answered, later int64) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var ok, again atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.direct+"/apis/cost.promcost.io/v1alpha1/allocations", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer promtest")
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			switch resp.StatusCode {
			case http.StatusOK:
				ok.Add(1)
			case http.StatusTooManyRequests:
				again.Add(1)
			default:
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
	all.Wait()
	return ok.Load(), again.Load()
}
