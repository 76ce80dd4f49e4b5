package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/promcost/promcost/promquery"
)

// A server holds the whole of an answer in memory while it makes it. So requests are made to be of about the same size: not larger than
// any server can answer beside its other work, and not smaller than pays. How many samples there are the server is asked for, in one
// question about the end of the time: to look at several instants takes as many times as long. As it comes only to sizes the answer need
// not be exact: an answer that proves to be larger is cut off and asked for in parts.

const (
	// worthAsking is the time from which on requests can be large.
	worthAsking = hour
	// smallAnswer is how many samples any answer may have, and fairAnswer how many one may have if there is as much.
	smallAnswer = 250_000
	fairAnswer  = 900_000
	// mostAnswer is how many samples an answer has at most if what it is about can be divided, and mostBytes how many bytes.
	mostAnswer = 1_000_000
	mostBytes  = 32 << 20
	// rateOver is the time over which raw samples are counted.
	rateOver = hour / 12
	// groupLabel identifies the group of the counted samples.
	groupLabel = "g"
)

// samples is how many samples the group has, as estimated.
func (g *group) samples() float64 { return g.rate * float64(g.span.End-g.span.Start) }

// estimate asks how many samples groups of one metric each have, and returns how many a request should have at most. That is 0 if
// it is not worth asking, or if the server does not say.
func (r *run) estimate(ctx context.Context, metrics []*group) (int64, error) {
	from, to := int64(math.MaxInt64), int64(0)
	for _, g := range metrics {
		from, to = min(from, g.span.Start), max(to, g.span.End)
	}
	if to-from < worthAsking {
		return 0, nil
	}
	terms, places := make([]string, len(metrics)), make([]int, len(metrics))
	for i, g := range metrics {
		count := "count(" + g.text(spaces{}) + ")"
		if g.span.Grid.Step == 0 {
			count = fmt.Sprintf("sum(count_over_time(%s[%dms]))", g.text(spaces{}), rateOver)
		}
		terms[i] = fmt.Sprintf("label_replace(%s,%q,%q,%q,%q)", count, groupLabel, strconv.Itoa(i), groupLabel, "")
		places[i] = g.members[0].i
	}
	params := url.Values{"nocache": {"1"}}
	maps.Copy(params, r.src.cfg.Params)
	params.Set("query", strings.Join(terms, " or "))
	params.Set("time", seconds(to))
	r.src.setLookback(params, cmp.Or(metrics[0].span.Grid.Step, hour))
	req := get("/api/v1/query", params)
	req.tries = 1 // a missing estimate does no harm
	data, err := r.src.ask(ctx, req, func(req promquery.Sent) { r.sent(req, places, make([]int64, len(places))) })
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil || !setRates(metrics, data) {
		return 0, nil
	}
	return r.size(metrics), nil
}

// setRates sets the rates of groups from an answer, and reports whether it is one.
func setRates(metrics []*group, data json.RawMessage) bool {
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if json.Unmarshal(data, &answer) != nil || answer.Result == nil {
		return false
	}
	rates := make([]float64, len(metrics))
	for _, series := range answer.Result {
		i, err := strconv.Atoi(series.Metric[groupLabel])
		text, ok := series.Value[1].(string)
		n, parsed := strconv.ParseFloat(text, 64)
		if err != nil || i < 0 || i >= len(metrics) || !ok || parsed != nil || n <= 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			return false
		}
		rates[i] = n / float64(metrics[i].apart())
	}
	for i, g := range metrics {
		g.rate = rates[i]
	}
	return true
}

// apart is how far apart the samples of a series are, in milliseconds, of which the count of the group is that of series; or the time over
// which its samples are counted.
func (g *group) apart() int64 {
	if g.raw {
		return g.span.Grid.Interval
	}
	return cmp.Or(g.span.Grid.Step, rateOver)
}

// size is the most samples of a request for the groups. It sets that in the groups.
func (r *run) size(metrics []*group) int64 {
	largest := 0.0
	for _, g := range metrics {
		largest = max(largest, g.samples())
	}
	most := min(max(int64(min(largest, fairAnswer)), smallAnswer), max(1, r.src.cfg.MaxSamples*3/4))
	for _, g := range metrics {
		g.most = most
	}
	return most
}
