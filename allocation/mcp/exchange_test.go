package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/mcp"
	"github.com/promcost/promcost/allocation/memory"
)

// serveAPI serves assistants over an API, from a budget of limit bytes.
func serveAPI(t *testing.T, api http.HandlerFunc, limit int64) (url string, budget *memory.Budget) {
	t.Helper()
	budget = memory.New(limit)
	server := httptest.NewServer(mcp.Handler(mcp.Config{API: api, Parameters: func(string) []mcp.Parameter { return []mcp.Parameter{{Name: "window"}} }, Memory: budget}))
	t.Cleanup(server.Close)
	return server.URL, budget
}

// batch is a batch of n calls of a tool, a single message where n is 0.
func batch(n int, tool string) string {
	calls := make([]string, max(n, 1))
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"window":"1d"}}}`, i, tool)
	}
	if n == 0 {
		return calls[0]
	}
	return "[" + strings.Join(calls, ",") + "]"
}

// post sends a message and returns the whole answer.
func post(ctx context.Context, url, message string) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// TestLeaving stops what a client asked, and begins no more of its batch, once it hangs up.
func TestLeaving(t *testing.T) {
	for name, message := range map[string]string{"a call": batch(0, "allocations"), "a batch": batch(50, "allocations")} {
		t.Run(name, func(t *testing.T) {
			asked, ended := make(chan struct{}, 100), make(chan error, 100)
			url, budget := serveAPI(t, func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				select {
				case <-r.Context().Done():
					ended <- nil
				case <-time.After(10 * time.Second):
					ended <- errors.New("it goes on for 10 s")
				}
			}, 1<<20)
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-asked
				leave()
			}()
			if _, err := post(ctx, url, message); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want one of the client that left", err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for begun := time.Now(); budget.Stats().Used > 0 && time.Since(begun) < 5*time.Second; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
			if used := budget.Stats().Used; used != 0 || len(asked) > 0 {
				t.Errorf("%d bytes are drawn, and %d more calls began, after the client left", used, len(asked))
			}
		})
	}
}

// TestBatch answers the calls of a batch one after the other, from one account, which holds their results until the answer is sent.
func TestBatch(t *testing.T) {
	const limit, calls = 8 << 20, 100
	var now, most, held atomic.Int64
	var url string
	var budget *memory.Budget
	url, budget = serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		if r.URL.Path == "/assets" {
			held.Store(max(held.Load(), budget.Stats().Used))
			fmt.Fprintf(w, `{"code":200,"data":{"a":{"properties":{"name":%q}}}}`, strings.Repeat("x", 100<<10))
		}
		time.Sleep(time.Millisecond)
	}, limit)
	answer, err := post(t.Context(), url, batch(calls, "get_asset_costs"))
	if err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1 {
		t.Errorf("%d calls of a batch were answered at a time, want 1", most.Load())
	}
	whole, refused := strings.Count(answer, strings.Repeat("x", 100<<10)), strings.Count(answer, `"isError":true`)
	if whole < 5 || whole+refused != calls || !strings.Contains(answer, "use aggregate, filter, limit or a shorter window") {
		t.Errorf("%d calls were answered and %d refused of %d: %.300s", whole, refused, calls, answer[max(0, len(answer)-300):])
	}
	if held.Load() < 4<<20 || budget.Stats().Used != 0 {
		t.Errorf("at most %d bytes were held for the answer, and %d after it", held.Load(), budget.Stats().Used)
	}
}

// TestManyMessages refuses what does not fit into the answer of a batch whose messages have long answers by themselves.
func TestManyMessages(t *testing.T) {
	url, budget := serveAPI(t, answers(nil), 1<<20)
	answer, err := post(t.Context(), url, "["+numberedLists(1000)+"]")
	if err != nil {
		t.Fatal(err)
	}
	if len(answer) > 1<<20 || !strings.Contains(answer, "one question may take") || budget.Stats().Used != 0 {
		t.Errorf("the answer has %d bytes, %d are drawn: %.300s", len(answer), budget.Stats().Used, answer)
	}
}

// numberedLists are n messages that ask for the tools.
func numberedLists(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
	}
	return strings.Join(list, ",")
}
