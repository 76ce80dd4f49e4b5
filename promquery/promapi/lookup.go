package promapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// lookup is a question for names: of labels, or values of a label.
type lookup struct {
	// one asks a querier for the names of the series of one selector.
	one func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error)
	// label is a label that a series must have, "" for none. Visit finds the names in the labels of a series.
	label string
	visit func(l labels.Labels, found func(string))
}

// many asks for the names that several selectors give.
func (k *lookup) many(ctx context.Context, q storage.Querier, hints *storage.SelectHints, selectors [][]*labels.Matcher) ([]string, annotations.Annotations, error) {
	if k.label != "" {
		for i, matchers := range selectors {
			selectors[i] = append(slices.Clone(matchers), labels.MustNewMatcher(labels.MatchNotEqual, k.label, ""))
		}
	}
	set := anyselect.Select(ctx, q, hints, selectors)
	found := map[string]bool{}
	for set.Next() {
		k.visit(set.At().Labels(), func(word string) { found[word] = true })
	}
	return slices.Collect(maps.Keys(found)), set.Warnings(), set.Err()
}

// names answers with the names that any of the selectors gives, sorted, as many as the request wants.
func (a *api) names(r *http.Request, k lookup) (result, *apiError) {
	limit, start, end, bad := lookupParams(r)
	if bad != nil {
		return result{}, bad
	}
	selectors, err := a.matcherSets(r)
	if err != nil {
		return result{}, badData(err)
	}
	q, err := a.all.Querier(start.UnixMilli(), end.UnixMilli())
	if err != nil {
		return result{}, failed(err)
	}
	defer func() { _ = q.Close() }() // nothing was written
	var words []string
	var notes annotations.Annotations
	switch len(selectors) {
	case 0:
		words, notes, err = k.one(q, &storage.LabelHints{Limit: oneMore(limit)}, nil)
	case 1:
		words, notes, err = k.one(q, &storage.LabelHints{Limit: oneMore(limit)}, selectors[0])
	default:
		words, notes, err = k.many(r.Context(), q, &storage.SelectHints{Start: start.UnixMilli(), End: end.UnixMilli(), Func: anyselect.LabelsOnly}, selectors)
	}
	if err != nil {
		return result{}, failed(err)
	}
	words = append([]string{}, words...) // else an empty list would be null in JSON
	slices.Sort(words)
	words = slices.Compact(words)
	if limit > 0 && len(words) > limit {
		words, notes = words[:limit], notes.Add(errTruncated)
	}
	return result{data: words, notes: notes}, nil
}

// serveLabels answers /api/v1/labels.
func (a *api) serveLabels(r *http.Request) (result, *apiError) {
	return a.names(r, lookup{
		one: func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
			return q.LabelNames(r.Context(), hints, matchers...)
		},
		visit: func(l labels.Labels, found func(string)) { l.Range(func(l labels.Label) { found(l.Name) }) },
	})
}

// serveLabelValues answers /api/v1/label/{name}/values.
func (a *api) serveLabelValues(r *http.Request) (result, *apiError) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return result{}, badData(fmt.Errorf("invalid label name: %q", name))
	}
	return a.names(r, lookup{
		one: func(q storage.Querier, hints *storage.LabelHints, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
			return q.LabelValues(r.Context(), name, hints, matchers...)
		},
		label: name,
		visit: func(l labels.Labels, found func(string)) { found(l.Get(name)) },
	})
}

// serveSeries answers /api/v1/series.
func (a *api) serveSeries(r *http.Request) (result, *apiError) {
	if len(r.Form["match[]"]) == 0 {
		return result{}, badData(errors.New("no match[] parameter provided"))
	}
	limit, start, end, bad := lookupParams(r)
	if bad != nil {
		return result{}, bad
	}
	selectors, err := a.matcherSets(r)
	if err != nil {
		return result{}, badParam("match[]", err)
	}
	hints := &storage.SelectHints{Start: start.UnixMilli(), End: end.UnixMilli(), Func: anyselect.LabelsOnly, Limit: oneMore(limit)}
	q, err := a.all.Querier(hints.Start, hints.End)
	if err != nil {
		return result{}, failed(err)
	}
	defer func() { _ = q.Close() }() // nothing was written
	set := anyselect.Select(r.Context(), q, hints, selectors)
	text, n := []byte{'['}, 0
	var notes annotations.Annotations
	for set.Next() && r.Context().Err() == nil {
		if limit > 0 && n == limit {
			notes = notes.Add(errTruncated)
			break
		}
		if n++; n > 1 {
			text = append(text, ',')
		}
		before := len(text)
		text = appendLabels(text, set.At().Labels())
		if err := memory.FromContext(r.Context()).Draw(2 * int64(len(text)-before)); err != nil { // twice: the slice grows by doubling
			return result{}, failed(fmt.Errorf("write %d series: %w", n, err))
		}
	}
	if err := errors.Join(set.Err(), r.Context().Err()); err != nil {
		return result{}, failed(err)
	}
	return result{raw: append(text, ']'), notes: notes.Merge(set.Warnings())}, nil
}
