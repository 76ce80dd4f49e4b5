package costapi

import (
	"fmt"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// finish checks and places what depends on several parameters. given says which of them the request has.
func (q *request) finish(given func(name string) bool) error {
	if q.window == "" {
		return badRequest("parameter window is missing: give one such as window=1d, window=today or window=2026-01-01T00:00:00Z,2026-01-02T00:00:00Z")
	}
	for _, check := range [...]func() error{q.finishFormat, q.finishIdle, q.finishFilters, q.finishSearch} {
		if err := check(); err != nil {
			return err
		}
	}
	return q.finishWindow(given)
}

// finishFormat checks what goes with a format.
func (q *request) finishFormat() error {
	q.options.Check = q.api.cfg.Check
	q.options.Zone = q.api.cfg.Zone
	if q.format != "csv" {
		return nil
	}
	switch {
	case q.explain:
		return badRequest("parameter explain: CSV has no place for it: use format=json")
	case len(q.fields) > 0:
		return badRequest("parameter fields: CSV has columns of its own: use format=json, or csvColumns=full")
	case q.jmespath != nil:
		return badRequest("parameter jmespath: CSV has no data to evaluate over: use format=json")
	case q.options.Accumulate > allocation.All:
		q.warn("CSV is of one set: accumulate is all")
	}
	if q.route.endpoint != ackAllocations {
		q.options.Accumulate = allocation.All
	}
	return nil
}

// warn adds a warning to the answer.
func (q *request) warn(format string, args ...any) {
	q.warnings = append(q.warnings, fmt.Sprintf(format, args...))
}

// finishIdle checks what goes with idle. OpenCost's paths share it only where it is included.
func (q *request) finishIdle() error {
	if q.options.Proportions && !q.options.Idle {
		return badRequest("parameter includeProportionalAssetResourceCosts: it needs idle, for assets cost that, too: give includeIdle=true")
	}
	if q.family == openCost && !q.options.Idle {
		q.options.ShareIdle = allocation.NoSplit
	}
	return nil
}

// finishFilters makes one filter of those of the first language, which have no effect beside one of the second.
func (q *request) finishFilters() error {
	if len(q.v1) == 0 {
		return nil
	}
	if q.options.Filter != nil || q.assets.Filter != nil {
		for _, v := range q.v1 {
			q.warn("parameter %s has no effect beside filter", v.name)
		}
		return nil
	}
	if q.route.endpoint&listed != 0 {
		return q.finishAssetFilters()
	}
	var all filter.And
	for _, v := range q.v1 {
		e, err := filter.V1(v.name, v.value, q.api.cfg.Labels)
		if err != nil {
			return badRequest("parameter %s=%s: %v", v.name, shorten(v.value), err)
		}
		all = append(all, e)
	}
	q.options.Filter = filter.New(all)
	return nil
}

func (q *request) finishAssetFilters() error {
	var all []filter.AssetFilter
	for _, v := range q.v1 {
		f, err := filter.V1Assets(v.name, v.value)
		if err != nil {
			return badRequest("parameter %s=%s: %v", v.name, shorten(v.value), err)
		}
		all = append(all, f)
	}
	q.assets.Filter = func(a *allocation.Asset) bool {
		for _, f := range all {
			if !f(a) {
				return false
			}
		}
		return true
	}
	return nil
}

// finishSearch checks what single endpoints require.
func (q *request) finishSearch() error {
	switch {
	case q.route.endpoint == trends && len(q.names) == 0:
		return badRequest("parameter names is missing: name the results whose trends are asked for, such as names=web,batch with aggregate=namespace")
	case q.route.endpoint&(completions|assetCompletions) != 0 && q.complete == nil:
		return badRequest("parameter field is missing: give one such as field=namespace")
	}
	return nil
}
