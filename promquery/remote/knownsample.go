package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/promcost/promcost/promquery"
)

// Nothing in a stream of remote read says that it ends: one that breaks off between frames looks whole if a proxy between makes a
// well-ended answer of it, or if only the end of the connection ends it. So each request ends with a query for one sample
// that is known to be there. Servers answer the queries one after the other: without that sample, the answer was cut. The
// sample is found by the query API and tried by remote read, about once an hour, as old ones are deleted.

const (
	// knownSampleFor is how long a sample is taken to be there, and noSampleFor how long it takes to look for one again after none was found.
	knownSampleFor = time.Hour
	noSampleFor    = time.Minute
	// knownSampleAge is how old a sample is at least: the newest ones can be lost when a server crashes.
	knownSampleAge = 5 * time.Minute
)

// errCutBetween is the error of a stream that ended without the sample that is known to be there.
var errCutBetween = errors.New("the stream ended before its last query was answered: something cut it off between frames")

// errEndedByClose is the error of an answer that only the end of its connection ends.
var errEndedByClose = errors.New("the answer has neither a length nor chunks, so that nobody can tell whether it was cut off, as from a proxy that speaks HTTP/1.0: " +
	"let the proxy speak HTTP/1.1 to Prometheus and to promcost (nginx: proxy_http_version 1.1), or choose the query API with --source=query")

// endsByClose reports whether only the end of the connection ends an answer.
func endsByClose(resp *http.Response) bool {
	return resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && !isCompressed(resp)
}

// knownSample is the request for a sample that is known to be there.
type knownSample struct {
	request *promquery.Request // nil if none was found
	until   time.Time          // when to look for one again
}

// knownMetrics are the metrics that the sample is of: that which Prometheus makes of each target, or else one that costs need.
var knownMetrics = [...]string{"up", "kube_node_info"}

// sampleKnown returns the request for one sample that is known to be there, nil if none is: one of now, or of end, where what is asked for
// ends.
func (s *Source) sampleKnown(ctx context.Context, end int64) (*promquery.Request, error) {
	s.mu.Lock()
	sample := s.sample
	s.mu.Unlock()
	if time.Now().Before(sample.until) {
		return sample.request, nil
	}
	sample = knownSample{s.newSample(ctx, end), time.Now().Add(knownSampleFor)}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if sample.request == nil {
		sample.until = time.Now().Add(noSampleFor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sample = sample
	return sample.request, nil
}

// newSample returns the request for the first sample that is found.
func (s *Source) newSample(ctx context.Context, end int64) *promquery.Request {
	recent := time.Now().Add(-knownSampleAge).UnixMilli()
	for _, at := range slices.Compact([]int64{recent, min(recent, end)}) {
		for _, metric := range knownMetrics {
			if r := s.findSample(ctx, metric, at); r != nil {
				return r
			}
		}
	}
	return nil
}

// forgetSample makes the next request look for a sample anew: the one that is known may be gone.
func (s *Source) forgetSample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sample = knownSample{}
}

// findSample returns the request for the newest sample of a metric at an instant, nil if there is none that both the query API and
// remote read give. That it fails does no harm.
func (s *Source) findSample(ctx context.Context, metric string, at int64) *promquery.Request {
	params := url.Values{"nocache": {"1"}}
	maps.Copy(params, s.cfg.Params)
	params.Set("query", "topk(1, timestamp("+metric+"))")
	params.Set("time", seconds(at))
	req := get("/api/v1/query", params)
	req.tries = 1
	data, err := s.ask(ctx, req, uncounted)
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err != nil || json.Unmarshal(data, &answer) != nil || len(answer.Result) == 0 {
		return nil
	}
	text, _ := answer.Result[0].Value[1].(string)
	taken, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	t := int64(math.Round(taken * 1000))
	sample := &promquery.Request{Metric: metric, Start: t, End: t}
	for _, name := range slices.Sorted(maps.Keys(answer.Result[0].Metric)) {
		sample.Matchers = append(sample.Matchers, promquery.Matcher{Name: name, Value: answer.Result[0].Metric[name]})
	}
	given := false
	try := readRequest([]promquery.Request{*sample})
	try.tries = 1
	err = s.send(ctx, try, func(resp *http.Response, body io.Reader) (bool, error) {
		_, err := newFrameReader(body).next()
		given = err == nil && mediaType(resp) == streamedType
		return false, err
	}, uncounted)
	if err != nil || !given {
		return nil
	}
	return sample
}
