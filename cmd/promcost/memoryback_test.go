package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

// mixedQuestions are questions of all kinds, small ones and such as can never fit.
var mixedQuestions = []string{
	"/model/allocation?window=6h&aggregate=namespace",
	"/model/allocation?window=6h&step=1h&accumulate=true",
	"/model/allocation?window=6h&format=parquet",
	"/model/allocation/compute?window=6h",
	"/model/allocation/compute?window=6h&step=2s",
	"/model/allocation/compute?window=1970-01-01T00:00:00Z,2026-03-02T06:00:00Z",
	"/model/allocation/compute?window=1970-01-01T00:00:00Z,2026-03-02T06:00:00Z&step=60h",
	"/model/allocation/compute?window=6h&step=20m&jmespath=length(data)",
	"/model/allocation/summary/topline?window=6h",
	"/model/allocation/trends?window=3h&aggregate=namespace&names=shop",
	"/model/assets?window=6h&format=csv",
	"/v2/allocation?window=6h&step=1h",
	"/allocation/compute?window=nonsense",
	"/api/v1/query?query=promcost_container_hourly_cost",
	"/api/v1/query_range?query=promcost_container_hourly_cost&start=1772409600&end=1772431200&step=2",
	"/api/v1/query?query=sum(",
	"/api/v1/series?match[]=promcost_pod_hourly_cost",
	"/api/v1/label/pod/values?match[]=promcost_pod_cost_total",
	"/federate?match[]=promcost_namespace_hourly_cost",
	"/metrics",
}

// TestMemoryComesBack asks a thousand questions. Many clients leave before they are answered. In the end, the budget holds the
// memory of cached answers and nothing else.
func TestMemoryComesBack(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T06:20:00Z", "--demo.duration=8h", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval=1m")
	base := spawn(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+t.TempDir(), "--query.max-memory=24MB")
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	var questions sync.WaitGroup
	for worker := range 8 {
		questions.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			for range soak.Of(12, 125) {
				patience := time.Minute
				if r.IntN(3) == 0 {
					patience = time.Duration(r.Int64N(int64(200 * time.Millisecond)))
				}
				if problem := leaveAfter(t.Context(), base+mixedQuestions[r.IntN(len(mixedQuestions))], patience); problem != "" {
					t.Error(problem)
				}
			}
		})
	}
	questions.Wait()
	eventually(t, "memory does not come back", func() bool {
		used, kept := metric(t, base, "promcost_memory_used_bytes"), metric(t, base, "promcost_memory_kept_bytes")
		return used != "" && used == kept
	})
	if n := metric(t, base, `promcost_memory_refused_total\{reason="too_much"\}`); n == "" || n == "0" {
		t.Errorf("nothing was too much: %q", n)
	}
}

// restingMemory is how many bytes of RssAnon promcost may have a minute after the last question, beside what is cached.
const restingMemory = 150 << 20

// TestMemoryAtRest asks for more than promcost has at rest, by several clients at once. A minute later the process has given it back.
func TestMemoryAtRest(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T06:20:00Z", "--demo.duration=8h", "--demo.nodes=20", "--demo.pods=600", "--demo.scrape-interval=30s")
	p := runDaemon(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+t.TempDir(), "--query.max-memory=1GB")
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, p.url+"/-/ready"); return code == http.StatusOK })
	peak := watchMemory(t, p.Process.Pid)
	const window = "window=2026-03-02T00:00:00Z,2026-03-02T06:00:00Z"
	var questions sync.WaitGroup
	for range 4 {
		questions.Go(func() {
			for range soak.Of(1, 20) {
				for _, question := range []string{"/model/allocation/compute?step=5m&" + window, "/model/allocation?step=1h&" + window, "/model/assets?" + window} {
					if problem := leaveAfter(t.Context(), p.url+question, time.Minute); problem != "" {
						t.Error(problem)
					}
				}
			}
		})
	}
	questions.Wait()
	asked := time.Now()
	if peak() < 2*restingMemory {
		t.Errorf("RssAnon was at most %d MB: that is no load", peak()>>20)
	}
	for {
		kept, err := strconv.ParseFloat(metric(t, p.url, "promcost_memory_kept_bytes"), 64)
		if err != nil {
			t.Fatal(err)
		}
		now := int64(anonymous(p.Process.Pid)) << 10
		if now <= restingMemory+int64(kept) {
			t.Logf("RssAnon was %d MB at most, and %d MB %s after the last question, %d MB of it cached", peak()>>20, now>>20, time.Since(asked).Round(time.Second), int64(kept)>>20)
			return
		}
		if time.Since(asked) > time.Minute {
			t.Fatalf("RssAnon was %d MB at most, and is %d MB a minute after the last question, %d MB of it cached", peak()>>20, now>>20, int64(kept)>>20)
		}
		time.Sleep(time.Second)
	}
}

// leaveAfter asks for a URL, leaves if that takes too long, and says what is wrong with an answer.
func leaveAfter(ctx context.Context, url string, patience time.Duration) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	switch resp.StatusCode {
	case http.StatusOK, http.StatusBadRequest:
	case http.StatusUnprocessableEntity, http.StatusServiceUnavailable:
		if !bytes.Contains(body, []byte("raise --query.max-memory")) && ctx.Err() == nil {
			return fmt.Sprintf("%s: %d does not say what to do: %.300s", url, resp.StatusCode, body)
		}
	default:
		return fmt.Sprintf("%s: %d %.300s", url, resp.StatusCode, body)
	}
	return ""
}
