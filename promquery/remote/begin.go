package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/promcost/promcost/promquery"
)

// DataBegin returns when the data of metrics begin within [from, to), rounded down to whole hours after from: there are none before.
// It is to if there are none at all. It asks the server for one series, a few times at most, without samples. Servers that know
// the times of series only roughly may answer an earlier time, never a later one; a partial answer is an error.
func (s *Source) DataBegin(ctx context.Context, metrics []string, from, to time.Time) (time.Time, error) {
	return promquery.FirstHour(from, to, func(from, to time.Time) (bool, error) { return s.hasSeries(ctx, metrics, from, to) })
}

// hasSeries reports whether there are samples of any of the metrics in [from, to).
func (s *Source) hasSeries(ctx context.Context, metrics []string, from, to time.Time) (bool, error) {
	has, err := s.matchesSeries(ctx, fmt.Sprintf("{__name__=~%q}", strings.Join(metrics, "|")), from, to)
	if !IsRefused(err) {
		return has, err
	}
	for _, metric := range metrics { // a server may want to be asked for one metric at a time
		if has, err = s.matchesSeries(ctx, fmt.Sprintf("{__name__=%q}", metric), from, to); has || err != nil {
			break
		}
	}
	return has, err
}

// matchesSeries reports whether there are samples of a selector in [from, to).
func (s *Source) matchesSeries(ctx context.Context, selector string, from, to time.Time) (bool, error) {
	params := url.Values{"match[]": {selector}, "start": {seconds(from.UnixMilli())}, "end": {seconds(to.UnixMilli() - 1)}, "limit": {"1"}}
	maps.Copy(params, s.cfg.Params)
	var series []json.RawMessage
	answer, err := s.askWhole(ctx, get("/api/v1/series", params), uncounted)
	if err == nil {
		err = json.Unmarshal(answer.Data, &series)
	}
	if err == nil && series == nil {
		err = errNoResult
	}
	if err == nil && len(series) == 0 && len(answer.Warnings) > 0 {
		err = fmt.Errorf("the answer may be partial: %s", strings.Join(answer.Warnings, "; "))
	}
	if err != nil {
		return false, fmt.Errorf("ask for the first data: %w", err)
	}
	return len(series) > 0, nil
}
