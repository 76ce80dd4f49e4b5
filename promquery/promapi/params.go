package promapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Errors of parameters are those of Prometheus, word for word. Clients show them, and some search for them.

// badParam is an error of a parameter.
func badParam(name string, err error) *apiError {
	return badData(fmt.Errorf("invalid parameter %q: %w", name, err))
}

func badData(err error) *apiError { return &apiError{http.StatusBadRequest, "bad_data", err} }

// earliest and latest are the default bounds of ranges, as Prometheus has them.
func earliest() time.Time { return time.Unix(math.MinInt64/1000+62135596801, 0).UTC() }

func latest() time.Time { return time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC() }

// errTiny is the error of a duration that is shorter than the distance of two samples can be.
var errTiny = errors.New("it is shorter than a millisecond: give a longer one")

// timeParam is a time in a request, or the default otherwise.
func timeParam(r *http.Request, name string, otherwise time.Time) (time.Time, *apiError) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return t, badParam(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

// rangeParams are the start and the end of a look-up.
func rangeParams(r *http.Request) (start, end time.Time, err *apiError) {
	if start, err = timeParam(r, "start", earliest()); err != nil {
		return start, end, err
	}
	end, err = timeParam(r, "end", latest())
	return start, end, err
}

// lookupParams are the limit of a look-up, 0 for none, and its start and end.
func lookupParams(r *http.Request) (limit int, start, end time.Time, err *apiError) {
	if limit, err = limitParam(r); err == nil {
		start, end, err = rangeParams(r)
	}
	return limit, start, end, err
}

// parseTime reads seconds, or an RFC 3339 time.
func parseTime(text string) (time.Time, error) {
	if t, err := strconv.ParseFloat(text, 64); err == nil {
		if !(t >= float64(earliest().Unix()) && t <= float64(latest().Unix())) { // NaN is neither
			return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
		}
		s, ns := math.Modf(t)
		ns = math.Round(ns*1000) / 1000
		return time.Unix(int64(s), int64(ns*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, t := range [...]time.Time{earliest(), latest()} { // their years are out of the parser's range
		if text == t.Format(time.RFC3339Nano) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// parseDuration reads seconds, or a number with a unit.
func parseDuration(text string) (time.Duration, error) {
	if d, err := strconv.ParseFloat(text, 64); err == nil {
		ns := d * float64(time.Second)
		if math.IsNaN(ns) {
			return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
		}
		if ns >= float64(math.MaxInt64) || ns < float64(math.MinInt64) {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// limitParam is the parameter limit, 0 for none.
func limitParam(r *http.Request) (int, *apiError) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err == nil && limit < 0 {
		err = errors.New("limit must be non-negative")
	}
	if err != nil {
		return 0, badParam("limit", err)
	}
	return limit, nil
}

// oneMore returns a limit that is one higher, so that an answer shows whether there is more.
func oneMore(limit int) int {
	if limit > 0 && limit < math.MaxInt {
		return limit + 1
	}
	return limit
}

// maxSelectors is how many different selectors a request may have.
const maxSelectors = 1000

// selectors parses match[], without duplicates. It refuses too many selectors, and too large ones.
func (a *api) selectors(r *http.Request) ([][]*labels.Matcher, error) {
	texts := distinct(r.Form["match[]"], func(text string) string { return text })
	if len(texts) > maxSelectors {
		return nil, fmt.Errorf("match[] is given %d times, at most %d selectors are answered at once: ask several times", len(texts), maxSelectors)
	}
	var check textCheck
	for _, text := range texts {
		if err := check.text(text); err != nil {
			return nil, fmt.Errorf("a selector of match[]: %w", err)
		}
	}
	sets, err := a.parser.ParseMetricSelectors(texts)
	return distinct(sets, func(set []*labels.Matcher) string {
		var list []string
		for _, m := range set {
			list = append(list, m.String())
		}
		slices.Sort(list)
		return strings.Join(list, ",")
	}), err
}

// distinct returns the elements of a list without those whose key an earlier element has.
func distinct[T any](list []T, key func(T) string) (kept []T) {
	seen := map[string]bool{}
	for _, v := range list {
		if k := key(v); !seen[k] {
			seen[k], kept = true, append(kept, v)
		}
	}
	return kept
}

// matcherSets parses match[]. Each selector needs a matcher that does not match the empty text.
func (a *api) matcherSets(r *http.Request) ([][]*labels.Matcher, error) {
	sets, err := a.selectors(r)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(m *labels.Matcher) bool { return m != nil && !m.Matches("") }) {
			return nil, errors.New("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}

// queryOptions are the options of a request for the engine.
func queryOptions(r *http.Request) (promql.QueryOpts, *apiError) {
	var lookback time.Duration
	if text := r.FormValue("lookback_delta"); text != "" {
		var err error
		if lookback, err = parseDuration(text); err != nil {
			return nil, badData(fmt.Errorf("error parsing lookback delta duration: %w", err))
		}
		if lookback != 0 && lookback < time.Millisecond {
			return nil, badData(fmt.Errorf("error parsing lookback delta duration: %w", errTiny))
		}
	}
	return promql.NewPrometheusQueryOpts(r.FormValue("stats") == "all", lookback), nil
}
