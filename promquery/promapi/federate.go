package promapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/go-kit/log/level"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/costseries"
	"github.com/promcost/promcost/promquery/internal/anyselect"
)

// serveFederate answers /federate with the present values of the cost series that match[] selects, in the formats of /metrics.
// Unlike Prometheus it sends no timestamps. Cost has a sample an hour: with its own time it would be older than the lookback of a
// Prometheus, and often too old for it to take.
func (a *api) serveFederate(w http.ResponseWriter, r *http.Request) {
	if !checkMethod(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	selectors, err := a.selectors(r)
	if err != nil {
		http.Error(w, allocation.Brief(err.Error()), http.StatusBadRequest)
		return
	}
	series, missing, err := a.federated(r, selectors)
	if err != nil {
		textError(w, err)
		return
	}
	if len(missing) > 0 && len(series) == 0 { // a failed scrape is noticed, an empty one is not
		http.Error(w, allocation.Brief(missing[0]), http.StatusServiceUnavailable)
		return
	}
	for _, text := range missing {
		level.Warn(a.o.Logger).Log("msg", "/federate answers without costs that cannot be read", "err", text)
	}
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeProtoDelim), expfmt.NewFormat(expfmt.TypeProtoText),
		expfmt.NewFormat(expfmt.TypeProtoCompact), expfmt.NewFormat(expfmt.TypeTextPlain))
	w.Header().Set("Content-Type", string(format))
	enc := expfmt.NewEncoder(w, format)
	for len(series) > 0 {
		name := series[0].name
		end := slices.IndexFunc(series, func(s federated) bool { return s.name != name })
		if end < 0 {
			end = len(series)
		}
		if err := enc.Encode(untyped(name, series[:end])); err != nil {
			panic(http.ErrAbortHandler) // the client must not take a part for the whole
		}
		series = series[end:]
	}
}

// federated is a series and its present value.
type federated struct {
	name   string
	labels labels.Labels
	value  float64
}

// federated returns the series that any of the selectors matches and that have a value now, by name and then by labels, and
// warnings about costs that are missing.
func (a *api) federated(r *http.Request, selectors [][]*labels.Matcher) (list []federated, missing []string, err error) {
	now := a.o.Now().UnixMilli()
	since := now - a.o.Lookback.Milliseconds() + 1
	q, err := a.own.Querier(since, now)
	if err != nil {
		return nil, nil, fmt.Errorf("open cost series: %w", err)
	}
	defer func() { _ = q.Close() }() // nothing was written
	set := anyselect.Select(r.Context(), q, &storage.SelectHints{Start: since, End: now}, selectors)
	var it chunkenc.Iterator
	for set.Next() {
		it = set.At().Iterator(it)
		v, ok := math.NaN(), false
		for it.Next() == chunkenc.ValFloat {
			t, f := it.At()
			if t > now {
				break
			}
			v, ok = f, !value.IsStaleNaN(f)
		}
		if err := it.Err(); err != nil {
			return nil, nil, fmt.Errorf("read cost series: %w", err)
		}
		if name := set.At().Labels().Get(model.MetricNameLabel); ok && name != "" {
			list = append(list, federated{name, set.At().Labels(), v})
		}
	}
	if err := set.Err(); err != nil {
		return nil, nil, fmt.Errorf("read cost series: %w", err)
	}
	slices.SortStableFunc(list, func(x, y federated) int { return strings.Compare(x.name, y.name) })
	for _, err := range set.Warnings() {
		if _, ok := errors.AsType[*costseries.MissingError](err); ok {
			missing = append(missing, err.Error())
		}
	}
	slices.Sort(missing)
	return list, missing, nil
}

// untyped is a metric as the exposition formats have it. Like Prometheus, it sets an empty label instance: otherwise a scrape would
// set its target's.
func untyped(name string, series []federated) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: new(name), Type: dto.MetricType_UNTYPED.Enum()}
	for _, s := range series {
		m := &dto.Metric{Untyped: &dto.Untyped{Value: new(s.value)}}
		s.labels.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel && l.Value != "" {
				m.Label = append(m.Label, &dto.LabelPair{Name: new(l.Name), Value: new(l.Value)})
			}
		})
		if !s.labels.Has(model.InstanceLabel) {
			m.Label = append(m.Label, &dto.LabelPair{Name: new(model.InstanceLabel), Value: new(string)})
		}
		f.Metric = append(f.Metric, m)
	}
	return f
}
