package promapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/promapi"
	"github.com/promcost/promcost/promquery/promapi/apitest"
)

// failing is a storage that fails, once wait lets it.
type failing struct {
	err  error
	wait func(ctx context.Context)
}

func (f failing) Querier(int64, int64) (storage.Querier, error) { return failingQuerier{f}, nil }

func (f failing) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) {
	return failingChunks{failingQuerier{f}}, nil
}

type failingQuerier struct{ failing }

func (q failingQuerier) Select(ctx context.Context, _ bool, _ *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	if q.wait != nil {
		q.wait(ctx)
	}
	return storage.ErrSeriesSet(q.err)
}

func (q failingQuerier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, q.err
}

func (q failingQuerier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, q.err
}

func (failingQuerier) Close() error { return nil }

type failingChunks struct{ failingQuerier }

func (q failingChunks) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.ChunkSeriesSet {
	return storage.ErrChunkSeriesSet(q.err)
}

// TestStorageFails checks the status and the text of answers for errors of the storage.
func TestStorageFails(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		read int // for endpoints that do not answer in JSON
	}{
		{fmt.Errorf("%w: select 7 series: ask for fewer", allocation.ErrTooMuch), 422, 422},
		{fmt.Errorf("%w: wait", allocation.ErrBusy), 503, 503},
		{errors.New("it burns"), 422, 500},
	} {
		base := apitest.Serve(t, failing{err: tt.err}, promapi.Options{})
		for _, q := range []question{
			{"/api/v1/query", "query=x"}, {"/api/v1/query_range", "query=x&start=1&end=2&step=1"}, {"/api/v1/series", "match[]=x"}, {"/api/v1/labels", ""}, {"/api/v1/label/x/values", ""},
		} {
			r := apitest.Ask(t, http.MethodGet, base, q.path, q.query)
			body, _ := r.Body.(map[string]any)
			if r.Code != tt.code || body["status"] != "error" || !strings.Contains(fmt.Sprint(body["error"]), tt.err.Error()) {
				t.Errorf("%v: %s: %+v, want %d", tt.err, q.path, r, tt.code)
			}
		}
		if r := apitest.Ask(t, http.MethodGet, base, "/federate", "match[]=x"); r.Code != tt.read || !strings.Contains(fmt.Sprint(r.Body), tt.err.Error()) {
			t.Errorf("%v: /federate: %+v, want %d", tt.err, r, tt.read)
		}
		for _, kind := range []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS} {
			if code, _, text := post(t, base, readRequest(t, kind, readQuery("x", prompb.LabelMatcher_EQ))); code != tt.read || !strings.Contains(string(text), tt.err.Error()) {
				t.Errorf("%v: read, %s: %d %s, want %d", tt.err, kind, code, text, tt.read)
			}
		}
	}
}

// TestAPIBounds refuses requests that are too long, too many or too slow, and says what would be right.
func TestAPIBounds(t *testing.T) {
	db := apitest.Open(t, apitest.Blocks(t))
	base := apitest.Serve(t, db, promapi.Options{})
	for name, tt := range map[string]struct {
		method, path, query string
		code                int
		want                string
	}{
		"long form":        {"POST", "/api/v1/query", "query=" + strings.Repeat("1", 2<<20), 413, "send fewer or shorter"},
		"too many samples": {"GET", "/api/v1/query", fmt.Sprintf("time=%d&query=%s", apitest.Epoch+3600, "sum_over_time({kind=~%22.%2B%22}[3h:10ms])"), 422, "too many samples"},
		"unknown path":     {"GET", "/api/v1/admin/tsdb/delete_series", "", 404, "/api/v1/query"},
		"write":            {"POST", "/api/v1/write", "", 404, "unknown path"},
	} {
		r := apitest.Ask(t, tt.method, base, tt.path, tt.query)
		body, _ := r.Body.(map[string]any)
		if r.Code != tt.code || body["status"] != "error" || !strings.Contains(fmt.Sprint(body["error"]), tt.want) {
			t.Errorf("%s: %d %.300v, want %d %q", name, r.Code, r.Body, tt.code, tt.want)
		}
	}
	if r := apitest.Ask(t, http.MethodGet, base, "/api/v1/status/buildinfo", ""); r.Code != http.StatusOK {
		t.Errorf("it does not go on: %+v", r)
	}
}

// TestAPITurns runs as many requests at a time as may run. Others wait, and in the end are refused with a remedy. A request that
// reads nothing is answered at once, and so is a small one. A free turn goes to a request that waits.
func TestAPITurns(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	slow := failing{err: errors.New("late"), wait: func(context.Context) { // it does not look at its deadline
		begun <- struct{}{}
		<-release
	}}
	base := apitest.Serve(t, slow, promapi.Options{MaxConcurrency: 1, Timeout: 2 * time.Second})
	first := make(chan apitest.Reply)
	go func() { first <- apitest.Ask(t, http.MethodGet, base, "/api/v1/query", "query=max_over_time(x[2h])") }()
	<-begun
	for _, q := range []question{
		{"/api/v1/query", "query=" + url.QueryEscape("max_over_time(vector(1)[1h:1m] offset 1h) + max_over_time(max_over_time(vector(1)[30m:1m])[31m:1m])")},
		{"/api/v1/query_range", "query=1&start=0&end=3601&step=1m"},
		{"/api/v1/labels", ""},
	} {
		r := apitest.Ask(t, http.MethodGet, base, q.path, q.query)
		if r.Code != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(r.Body), "as many as may be at a time: ask again later") {
			t.Errorf("%s while there is no turn: %+v", q.path, r)
		}
	}
	for name, q := range map[string]question{
		"what reads nothing":             {"/api/v1/format_query", "query=1"},
		"an instant":                     {"/api/v1/query", "query=1"},
		"a range":                        {"/api/v1/query_range", "query=1&start=0&end=1800&step=1m"},
		"an hour before an instant":      {"/api/v1/query", "query=" + url.QueryEscape("max_over_time(vector(1)[1h:1m]) + max_over_time(vector(1)[1h:1m])")},
		"half an hour before each of it": {"/api/v1/query_range", "query=" + url.QueryEscape("max_over_time(vector(1)[30m:1m])") + "&start=0&end=1800&step=1m"},
	} {
		if r := apitest.Ask(t, http.MethodGet, base, q.path, q.query); r.Code != http.StatusOK {
			t.Errorf("%s: %+v", name, r)
		}
	}
	close(release)
	if r := <-first; r.Code != http.StatusServiceUnavailable && r.Code != http.StatusUnprocessableEntity {
		t.Errorf("first: %+v", r)
	}
	if r := apitest.Ask(t, http.MethodGet, base, "/api/v1/query", "query=1"); r.Code != http.StatusOK {
		t.Errorf("once it has ended: %+v", r)
	}
}

// TestAPITimeout ends what takes too long.
func TestAPITimeout(t *testing.T) {
	slow := failing{err: errors.New("late"), wait: func(ctx context.Context) { <-ctx.Done() }}
	base := apitest.Serve(t, slow, promapi.Options{Timeout: time.Minute})
	if r := apitest.Ask(t, http.MethodGet, base, "/api/v1/query", "query=x&timeout=100ms"); r.Code != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(r.Body), "timed out") {
		t.Errorf("%+v", r)
	}
}

// TestForeignOrigin gives pages of other origins no leave to read answers.
func TestForeignOrigin(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/query?query=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://evil.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}

// TestSeriesDrawTheirAnswer draws the text of an answer before it is sent.
func TestSeriesDrawTheirAnswer(t *testing.T) {
	for limit, want := range map[int64]int{1 << 20: http.StatusOK, 1 << 10: http.StatusUnprocessableEntity} {
		base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{Memory: memory.New(limit)})
		r := apitest.Ask(t, http.MethodGet, base, "/api/v1/series", "match[]="+url.QueryEscape(`{__name__=~".+"}`))
		checkRefusal(t, memory.Text(limit), r, want, "--query.max-memory")
	}
}

// TestTooManySelectors refuses more selectors than may be.
func TestTooManySelectors(t *testing.T) {
	base := apitest.Serve(t, apitest.Open(t, apitest.Blocks(t)), promapi.Options{})
	var many []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf(`odd{kind!="%d"}`, i))
	}
	for _, path := range []string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/kind/values", "/federate", "/api/v1/rules"} {
		r := apitest.AskLong(t, base, path, url.Values{"match[]": many}.Encode())
		checkRefusal(t, path, r, http.StatusBadRequest, "match[] is given 1001 times, at most 1000")
	}
}
