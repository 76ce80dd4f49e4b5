package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// narrow refuses remote-read requests of many queries, or of long ones, as a server or proxy with limits does.
type narrow struct {
	queries int
	longest time.Duration
	refused atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (x *narrow) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != "/api/v1/read" {
		return http.DefaultTransport.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	plain, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, err
	}
	var msg prompb.ReadRequest
	if err := msg.Unmarshal(plain); err != nil {
		return nil, err
	}
	much := len(msg.Queries) > x.queries
	for _, q := range msg.Queries {
		much = much || q.EndTimestampMs-q.StartTimestampMs > x.longest.Milliseconds()
	}
	if much {
		x.refused.Add(1)
		return &http.Response{
			StatusCode: http.StatusRequestEntityTooLarge, Status: "413 Request Entity Too Large", Header: http.Header{},
			Body: io.NopCloser(strings.NewReader("too large")), Request: req,
		}, nil
	}
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return http.DefaultTransport.RoundTrip(req)
}

// TestReadInShares computes by remote read from a server that refuses what is too much: as from the blocks.
func TestReadInShares(t *testing.T) {
	d := newDemo(t, fixed)
	base := promtest.Start(t, d.dir, promtest.Config{})
	for name, limits := range map[string]*narrow{ // the query for the sample that is known to be there is one of them
		"queries": {queries: 3, longest: 1000 * time.Hour},
		"time":    {queries: 1000, longest: 210 * time.Minute},
		"both":    {queries: 2, longest: 4 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			d.agree(t, remote.Config{URL: base, Mode: remote.ModeRemoteRead, Client: &http.Client{Transport: limits}}, 0)
			if limits.refused.Load() == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// TestReadRefused asks a server that refuses everything, however little.
func TestReadRefused(t *testing.T) {
	f := newFake()
	f.handle("/api/v1/read", probed(status(http.StatusRequestEntityTooLarge, "text/plain", "too large")))
	sel := promquery.Request{Metric: "m", Keep: promquery.Labels("pod"), Start: 0, End: int64(9 * time.Hour / time.Millisecond)}
	_, stats, err := collect(t, f.source(t, remote.Config{Mode: remote.ModeRemoteRead}), sel, sel)
	if err == nil || !strings.Contains(err.Error(), "413") || stats.Requests > 12 {
		t.Errorf("got %v after %d requests, want the server's refusal", err, stats.Requests)
	}
	if errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cause", err)
	}
}
