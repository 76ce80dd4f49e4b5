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

// A server holds the whole of an answer in memory while it makes it. So requests are made to be of about the same size: not
// larger than one for the largest metric is, which a server has to be able to answer anyway, and not smaller than pays. How many samples there are the server is asked for, in one question at the end of the time, and as it comes only to
// sizes the answer need not be exact: what exceeds --query.max-samples all the same is asked for in parts.

const (
	// worthAsking is the time from which on requests can be large.
	worthAsking = 6 * hour
	// smallAnswer is how many samples any answer may have, and fairAnswer how many one may have although it could have fewer,
	// if another one has as many.
	smallAnswer = 250_000
	fairAnswer  = 2_000_000
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
	if len(metrics) < 2 || metrics[0].span.End-metrics[0].span.Start < worthAsking {
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
	params.Set("time", seconds(metrics[0].span.End))
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

// setRates sets the rates of groups from an answer, and reports whether there are any.
func setRates(metrics []*group, data json.RawMessage) bool {
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if json.Unmarshal(data, &answer) != nil {
		return false
	}
	for _, g := range metrics {
		g.rate = 0
	}
	known := false
	for _, series := range answer.Result {
		i, err := strconv.Atoi(series.Metric[groupLabel])
		text, ok := series.Value[1].(string)
		n, parsed := strconv.ParseFloat(text, 64)
		if err != nil || i < 0 || i >= len(metrics) || !ok || parsed != nil || n <= 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			continue
		}
		g := metrics[i]
		g.rate, known = n/float64(cmp.Or(g.span.Grid.Step, rateOver)), true
	}
	return known
}

// size is the most samples of a request for the groups. It sets that in the groups.
func (r *run) size(metrics []*group) int64 {
	largest, share := 0.0, 0.0
	for _, g := range metrics {
		n := g.samples()
		if g.span.Grid.Step == 0 {
			n /= 2 // they take more memory than points of a grid
		}
		largest, share = max(largest, n), max(share, g.rate*float64(rawPiece))
	}
	fair := max(share, min(largest, fairAnswer), smallAnswer)
	most := max(1, min(int64(math.Ceil(fair)), r.src.cfg.MaxSamples))
	for _, g := range metrics {
		g.most = most
	}
	return most
}
