package upstream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
)

// selection is what is read from the server.
type selection struct {
	mint, maxt int64 // milliseconds, both included
	lookback   time.Duration
	limit      int // of series, 0 for none
	matchers   []*labels.Matcher
	labelsOnly [][]*labels.Matcher // in place of matchers where no samples are wanted: series that any of these match
}

// read reads series, sorted by labels. If the server fails, that is a warning. If the answer is too large, or the query ends, that
// is an error.
func (u *Server) read(ctx context.Context, sel selection) ([]*series, annotations.Annotations, error) {
	var notes annotations.Annotations
	inner, cancel := u.within(ctx)
	defer cancel()
	list, warnings, err := u.fetch(inner, sel)
	for _, w := range warnings {
		notes = notes.Add(errors.New("upstream: " + w))
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, notes, ctx.Err()
	case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy):
		return nil, notes, err
	default:
		return nil, notes.Add(u.failed(err)), nil
	}
	list, err = u.withoutCopies(inner, sel, list)
	if err != nil {
		return nil, notes.Add(u.failed(err)), nil
	}
	slices.SortStableFunc(list, func(x, y *series) int { return labels.Compare(x.labels, y.labels) })
	list = joinFrames(list)
	for _, s := range list {
		if err := s.expire(sel.lookback); err != nil {
			return nil, notes.Add(u.failed(err)), nil
		}
	}
	return list, notes, nil
}

// withoutCopies are the series of a list but those of shared names that the server scraped from a promcost: the cost series are the same, and
// sums would count them twice. A query that names the job means just those.
func (u *Server) withoutCopies(ctx context.Context, sel selection, list []*series) ([]*series, error) {
	shared := func(s *series) bool { return slices.Contains(u.cfg.Shared, s.labels.Get(model.MetricNameLabel)) }
	selectors := sel.labelsOnly
	if selectors == nil {
		selectors = [][]*labels.Matcher{sel.matchers}
	}
	for _, matchers := range selectors {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m.Name == model.JobLabel && !m.Matches("") }) {
			return list, nil
		}
	}
	if !slices.ContainsFunc(list, shared) {
		return list, nil
	}
	var jobs []string
	of := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, "promcost_build_info")}
	if _, err := u.ask(ctx, "/label/"+model.JobLabel+"/values", u.lookup(sel.mint, sel.maxt, 0, of), &jobs); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(s *series) bool { return shared(s) && slices.Contains(jobs, s.labels.Get(model.JobLabel)) }), nil
}

// within limits the time for the server to half of the query's remaining time. The other half is for costs.
func (u *Server) within(ctx context.Context) (context.Context, context.CancelFunc) {
	left := u.cfg.Timeout
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, left)
}

// detect may take maxDetection. Once it has failed it is not tried again for downFor, so that many queries at once do not all wait
// for a server that is down.
const (
	maxDetection = 5 * time.Second
	downFor      = 10 * time.Second
)

// detect finds out whether the server streams remote read, and its external labels.
func (u *Server) detect(ctx context.Context) (streams bool, external map[string]string, err error) {
	u.mu.Lock()
	err = u.down
	if time.Now().After(u.downUntil) {
		err = nil
	}
	u.mu.Unlock()
	if err != nil {
		return false, nil, err
	}
	inner, cancel := context.WithTimeout(ctx, maxDetection)
	defer cancel()
	if streams, err = u.cfg.Streams(inner); err == nil && streams {
		external, err = u.cfg.External(inner)
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.down, u.downUntil = err, time.Now().Add(downFor)
	}
	return streams, external, err
}

// failed is the warning that the server failed.
func (u *Server) failed(err error) error {
	return fmt.Errorf("read from %s, which is left out of the answer: %w: mend that, or leave out --promql.passthrough", u.base.Redacted(), err)
}

// joinFrames joins adjacent series of the same labels: a long series comes in several frames.
func joinFrames(list []*series) []*series {
	out := list[:0]
	for _, s := range list {
		if n := len(out); n > 0 && labels.Equal(out[n-1].labels, s.labels) {
			out[n-1].chunks = append(out[n-1].chunks, s.chunks...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// fetch asks for series in a way that the server knows.
func (u *Server) fetch(ctx context.Context, sel selection) ([]*series, []string, error) {
	if sel.maxt < sel.mint {
		return nil, nil, nil
	}
	if sel.labelsOnly != nil {
		return u.readLabels(ctx, sel)
	}
	parts := u.cfg.Limits.narrowed(sel.matchers)
	if len(parts) == 0 {
		return nil, nil, nil
	}
	streams, external, err := u.detect(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range sel.matchers {
		if m.Matches(external[m.Name]) {
			delete(external, m.Name) // the query names it
		}
	}
	var list []*series
	var warnings []string
	first := map[string]int{} // the part that has a series, by its labels
	for i, matchers := range parts {
		sel.matchers = matchers
		var part []*series
		var said []string
		if streams {
			part, err = u.readChunks(ctx, sel, external)
		} else {
			part, said, err = u.querySamples(ctx, sel)
		}
		warnings = append(warnings, said...)
		if err != nil {
			return nil, warnings, err
		}
		for _, s := range part {
			key := string(s.labels.Bytes(nil))
			if _, ok := first[key]; !ok {
				first[key] = i
			}
			if first[key] == i { // a long series comes in several frames
				list = append(list, s)
			}
		}
	}
	return list, warnings, nil
}

// readChunks reads by streamed remote read, and takes external labels off.
func (u *Server) readChunks(ctx context.Context, sel selection, external map[string]string) ([]*series, error) {
	query, err := remote.ToQuery(sel.mint, sel.maxt, sel.matchers, nil)
	if err != nil {
		return nil, err
	}
	msg := prompb.ReadRequest{Queries: []*prompb.Query{query}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}
	text, err := msg.Marshal()
	if err != nil {
		return nil, err
	}
	var list []*series
	err = u.send(ctx, http.MethodPost, "/read", snappy.Encode(nil, text), map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Read-Version": "0.1.0",
	}, func(_ http.Header, body io.Reader) error {
		frames := remote.NewChunkedReader(body, uint64(u.cfg.MaxBytes), nil)
		for {
			var frame prompb.ChunkedReadResponse
			if err := frames.NextProto(&frame); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			for _, s := range frame.ChunkedSeries {
				series, err := chunked(s, external)
				if err != nil {
					return err
				}
				list = append(list, series)
			}
		}
	})
	return list, err
}

// chunked is a series of a frame, without external labels.
func chunked(s *prompb.ChunkedSeries, external map[string]string) (*series, error) {
	b := labels.NewScratchBuilder(len(s.Labels))
	for _, l := range s.Labels {
		if v, ok := external[l.Name]; !ok || v != l.Value {
			b.Add(l.Name, l.Value)
		}
	}
	b.Sort()
	out := &series{labels: b.Labels()}
	for _, c := range s.Chunks {
		if len(c.Data) < 3 {
			return nil, fmt.Errorf("a chunk of %s has %d bytes", out.labels, len(c.Data))
		}
		if binary.BigEndian.Uint16(c.Data) == 0 {
			continue // no samples
		}
		chunk, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
		if err != nil {
			return nil, fmt.Errorf("decode a chunk of %s: %w", out.labels, err)
		}
		out.chunks = append(out.chunks, chunk)
	}
	return out, nil
}

// readLabels reads series without samples.
func (u *Server) readLabels(ctx context.Context, sel selection) ([]*series, []string, error) {
	selectors := u.cfg.Limits.narrowed(sel.labelsOnly...)
	if len(selectors) == 0 {
		return nil, nil, nil
	}
	var found []labels.Labels
	info, err := u.ask(ctx, "/series", u.lookup(sel.mint, sel.maxt, sel.limit, selectors...), &found)
	list := make([]*series, len(found))
	for i, l := range found {
		list[i] = &series{labels: l}
	}
	return list, info.warnings, err
}

// point is a sample in an answer of the query API: [seconds, "value"].
type point struct {
	t int64
	v float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *point) UnmarshalJSON(text []byte) error {
	seconds, quoted, ok := bytes.Cut(bytes.Trim(text, "[] \n"), []byte(","))
	if !ok {
		return fmt.Errorf("%s is no sample", text)
	}
	t, err := strconv.ParseFloat(string(seconds), 64)
	if err != nil {
		return err
	}
	p.t = int64(math.Round(t * 1000))
	p.v, err = strconv.ParseFloat(string(bytes.Trim(quoted, `" `)), 64)
	return err
}

// querySamples asks the query API for the samples of a range as they are stored.
func (u *Server) querySamples(ctx context.Context, sel selection) ([]*series, []string, error) {
	params := url.Values{
		"query":   {fmt.Sprintf("%s[%dms]", selectorText(sel.matchers), sel.maxt-sel.mint+1)},
		"time":    {secondsText(sel.maxt)},
		"nocache": {"1"}, // else VictoriaMetrics moves times
	}
	var data struct {
		Result []struct {
			Metric labels.Labels `json:"metric"`
			Values []point       `json:"values"`
		} `json:"result"`
	}
	info, err := u.ask(ctx, "/query", params, &data)
	if err != nil {
		return nil, info.warnings, err
	}
	list := make([]*series, 0, len(data.Result))
	for _, s := range data.Result {
		points := slices.DeleteFunc(s.Values, func(p point) bool { return p.t < sel.mint || p.t > sel.maxt })
		for i := range points {
			if info.victoria && math.IsNaN(points[i].v) {
				points[i].v = stale // it has no other NaN
			}
		}
		chunks, err := packPoints(points)
		if err != nil {
			return nil, info.warnings, err
		}
		list = append(list, &series{labels: s.Metric, chunks: chunks})
	}
	return list, info.warnings, nil
}

// selectorText writes matchers as a selector in PromQL.
func selectorText(matchers []*labels.Matcher) string {
	list := make([]string, len(matchers))
	for i, m := range matchers {
		list[i] = m.String()
	}
	return "{" + strings.Join(list, ",") + "}"
}

// secondsText writes a time in milliseconds as the API takes it.
func secondsText(t int64) string { return strconv.FormatFloat(float64(t)/1000, 'f', -1, 64) }

// bodyLimit fails beyond a number of bytes. It draws memory for what it reads, because that is kept in some form.
type bodyLimit struct {
	r      io.Reader
	left   int64
	most   int64
	memory *memory.Account
}

// Read implements io.Reader.
func (l *bodyLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: an answer of the upstream is longer than %d bytes: ask for fewer of its series, or a shorter range", allocation.ErrTooMuch, l.most)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if bad := l.memory.Draw(int64(n)); bad != nil {
		return 0, bad
	}
	return n, err
}

// send asks a path of the API. Handle reads a good answer, or one that says in JSON what is wrong.
func (u *Server) send(ctx context.Context, method, path string, body []byte, header map[string]string, handle func(http.Header, io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	leave, err := u.slots.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	req, err := http.NewRequestWithContext(ctx, method, u.base.String()+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, v := range header {
		req.Header.Set(name, v)
	}
	req.Header.Set("User-Agent", "promcost")
	resp, err := u.cfg.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // reading has failed with the same error
	if resp.StatusCode/100 != http.StatusOK/100 && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // the status says enough
		return fmt.Errorf("%s: %s", resp.Status, strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"))
	}
	return handle(resp.Header, &bodyLimit{resp.Body, u.cfg.MaxBytes, u.cfg.MaxBytes, memory.FromContext(ctx)})
}

// maxMessage is how many bytes of an error's text are shown.
const maxMessage = 300
