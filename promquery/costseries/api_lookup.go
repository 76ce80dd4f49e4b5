package costseries

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// names gives the words of a querier for selectors, all together and sorted, as many as the request wants.
func (a *api) names(r *http.Request, of func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error)) (apiResult, *apiError) {
	limit, start, end, bad := lookupParams(r)
	if bad != nil {
		return apiResult{}, bad
	}
	sets, err := a.matcherSets(r)
	if err != nil {
		return apiResult{}, badData(err)
	}
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	q, err := a.all.Querier(start.UnixMilli(), end.UnixMilli())
	if err != nil {
		return apiResult{}, failed(err)
	}
	defer func() { _ = q.Close() }() // it was only read from
	words := []string{}
	var notes annotations.Annotations
	for _, matchers := range sets {
		more, warnings, err := of(q, &storage.LabelHints{Limit: oneMore(limit)}, matchers)
		if err != nil {
			return apiResult{}, failed(err)
		}
		words, notes = append(words, more...), notes.Merge(warnings)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if limit > 0 && len(words) > limit {
		words, notes = words[:limit], notes.Add(errTruncated)
	}
	return apiResult{data: words, notes: notes}, nil
}

// serveLabels answers /api/v1/labels.
func (a *api) serveLabels(r *http.Request) (apiResult, *apiError) {
	return a.names(r, func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(r.Context(), hints, matchers...)
	})
}

// serveLabelValues answers /api/v1/label/{name}/values.
func (a *api) serveLabelValues(r *http.Request) (apiResult, *apiError) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return apiResult{}, badData(fmt.Errorf("invalid label name: %q", name))
	}
	return a.names(r, func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(r.Context(), name, hints, matchers...)
	})
}

// serveSeries answers /api/v1/series.
func (a *api) serveSeries(r *http.Request) (apiResult, *apiError) {
	if len(r.Form["match[]"]) == 0 {
		return apiResult{}, badData(errors.New("no match[] parameter provided"))
	}
	limit, start, end, bad := lookupParams(r)
	if bad != nil {
		return apiResult{}, bad
	}
	selectors, err := a.matcherSets(r)
	if err != nil {
		return apiResult{}, badParam("match[]", err)
	}
	hints := &storage.SelectHints{Start: start.UnixMilli(), End: end.UnixMilli(), Func: seriesFunc, Limit: oneMore(limit)}
	q, err := a.all.Querier(hints.Start, hints.End)
	if err != nil {
		return apiResult{}, failed(err)
	}
	defer func() { _ = q.Close() }() // it was only read from
	var sets []storage.SeriesSet
	for _, matchers := range selectors {
		sets = append(sets, q.Select(r.Context(), true, hints, matchers...))
	}
	set := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	found := []labels.Labels{}
	var notes annotations.Annotations
	for set.Next() && r.Context().Err() == nil {
		if limit > 0 && len(found) == limit {
			notes = notes.Add(errTruncated)
			break
		}
		found = append(found, set.At().Labels())
	}
	if err := errors.Join(set.Err(), r.Context().Err()); err != nil {
		return apiResult{}, failed(err)
	}
	return apiResult{data: found, notes: notes.Merge(set.Warnings())}, nil
}
