package costapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/places"
)

// finish checks parameters that depend on each other and applies them. given says which parameters the request has.
func (q *request) finish(given func(name string) bool) error {
	q.finishSaving()
	q.finishPrediction()
	if q.timing.window == "" && q.route.endpoint&forecasting == 0 {
		return badRequest("parameter window is missing: give one such as window=1d, window=today or window=2026-01-01T00:00:00Z,2026-01-02T00:00:00Z")
	}
	for _, check := range [...]func() error{q.finishFormat, func() error { return q.finishIdle(given) }, q.finishFilters, q.finishSearch} {
		if err := check(); err != nil {
			return err
		}
	}
	if q.route.endpoint == assetMaps && given("aggregate") { // OpenCost accepts any value
		q.warn("parameter aggregate has no effect on %s, as in OpenCost: ask /model/assets for merged assets", q.route.path)
	}
	q.finishChange()
	q.finishLabels()
	q.finishOwners()
	q.finishSizing(given)
	for _, finish := range [...]func() error{func() error { return q.finishWindow(given) }, q.finishBaseline, q.finishDays, q.finishPrices} {
		if err := finish(); err != nil {
			return err
		}
	}
	q.timing.query.Only, q.timing.query.MergedBy, q.timing.query.Bills = q.needs(), q.mergedBy(), q.bills()
	if q.options.External && q.api.cfg.Bills == nil {
		q.warn("external=true adds nothing: %s", noBills)
	}
	return nil
}

// finishFormat refuses parameters that the format cannot honor.
func (q *request) finishFormat() error {
	q.options.Check = q.api.cfg.Check
	q.options.Zone = q.api.cfg.Zone
	if q.output.quantiles {
		if q.output.format != "json" {
			return badRequest("parameter usageQuantiles: %s has columns of its own: use format=json", q.output.format)
		}
		if q.output.fields == nil {
			q.output.fields = encode.Members()
		}
		q.output.fields = append(q.output.fields, encode.QuantileMembers()...)
	}
	if columnar(q.output.format) {
		return q.finishColumnar()
	}
	if q.output.format != "csv" {
		return nil
	}
	switch {
	case q.output.explain:
		return badRequest("parameter explain: CSV has no place for it: use format=json")
	case len(q.output.fields) > 0:
		return badRequest("parameter fields: CSV has columns of its own: use format=json, or csvColumns=full")
	case q.output.jmespath != nil:
		return badRequest("parameter jmespath: CSV has no data to evaluate over: use format=json")
	case q.options.Accumulate > allocation.All:
		q.warn("CSV is of one set: accumulate is all")
	}
	if q.route.endpoint&(ackAllocations|cloudTables) == 0 {
		q.options.Accumulate = allocation.All
	}
	return nil
}

// warn adds a warning to the answer.
func (q *request) warn(format string, args ...any) {
	q.warnings = append(q.warnings, fmt.Sprintf(format, args...))
}

// finishIdle checks the parameters about idle. OpenCost's paths share idle only if they include it. A pool has the idle of its nodes.
func (q *request) finishIdle(given func(name string) bool) error {
	if !given("idleByNode") {
		q.options.IdleByNode = slices.ContainsFunc(q.options.Aggregate, allocation.Key.OfNodePools)
	}
	if q.options.Proportions && !q.options.Idle {
		return badRequest("parameter includeProportionalAssetResourceCosts: it needs idle, for assets cost that, too: give includeIdle=true")
	}
	if q.route.family == openCost && !q.options.Idle {
		q.options.ShareIdle = passes.NoSplit
	}
	return nil
}

// finishFilters joins all filters to one: the filter of the second language, or else those of the first, which have no effect
// beside it, and the selectors.
func (q *request) finishFilters() error {
	if len(q.selection.filters) > 0 || q.cloud.filter != nil {
		for _, v := range q.selection.v1 {
			q.warn("parameter %s has no effect beside filter", v.name)
		}
		q.selection.v1 = nil
	}
	for _, v := range q.selection.v1 {
		var e filter.Expr
		var err error
		switch {
		case q.route.endpoint&listed != 0:
			e, err = filter.V1Assets(v.name, v.value)
		case q.route.endpoint&clouds != 0:
			e, err = filter.V1Cloud(v.name, v.value)
		default:
			e, err = filter.V1(v.name, v.value, q.vocabulary...)
		}
		if err != nil {
			return badRequest("parameter %s=%s: %v", v.name, shorten(v.value), err)
		}
		q.selection.filters = append(q.selection.filters, e)
	}
	if q.route.endpoint&clouds != 0 {
		if len(q.selection.filters) > 0 {
			q.cloud.filter = filter.NewOf(cloudcost.Names(false), q.selection.filters)
		}
		return nil
	}
	if q.route.endpoint&listed == 0 {
		q.addV1Entries()
	}
	if err := q.finishSelectors(); err != nil || len(q.selection.filters) == 0 {
		return err
	}
	if q.route.endpoint&listed != 0 {
		q.selection.assetFilter = filter.NewAssets(q.selection.filters, q.vocabulary...)
	} else {
		q.options.Filter = filter.New(q.selection.filters, q.vocabulary...)
	}
	return nil
}

// finishLabels collects the labels that the request asks for, and gives all of them to its keys.
func (q *request) finishLabels() {
	q.selection.labels = allocation.LabelUses(q.options.Aggregate)
	filters := []allocation.Filter{q.options.Filter}
	for _, share := range q.options.Share {
		filters = append(filters, share.Filter)
	}
	for _, f := range filters {
		if f, ok := f.(*filter.Filter); ok {
			q.selection.labels = append(q.selection.labels, f.Labels()...)
		}
	}
	var texts []string
	seen := map[allocation.LabelUse]bool{}
	q.selection.labels = slices.DeleteFunc(q.selection.labels, func(use allocation.LabelUse) bool {
		as := use
		as.Aggregated = false // the keys come first, and they are aggregated
		again := seen[as]
		seen[as], texts = true, append(texts, use.Text)
		return again
	})
	q.selection.labelNames = q.api.cfg.LabelNames.And(texts...)
	q.options.Aggregate = allocation.KeysAmong(q.options.Aggregate, q.selection.labelNames)
}

// within makes the request, its filters included, end with ctx. One budget of filter steps bounds all of its sets together.
func (q *request) within(ctx context.Context) {
	if n := len(q.timing.windows); n > 0 {
		ctx = places.About(ctx, q.timing.windows[n-1].End.Sub(q.timing.windows[0].Start))
	}
	q.ctx, q.selection.steps = ctx, filter.NewSteps(ctx, q.api.cfg.MaxFilterSteps)
	q.options.Stopped = ctx.Err
	bounded := func(f allocation.Filter) allocation.Filter {
		if f, ok := f.(*filter.Filter); ok {
			return f.Among(q.selection.labelNames).Within(q.selection.steps)
		}
		return f
	}
	if q.selection.assetFilter != nil {
		q.assets.Filter = q.selection.assetFilter.BindAssets(q.selection.steps)
	}
	q.options.Filter = bounded(q.options.Filter)
	for i := range q.options.Share {
		q.options.Share[i].Filter = bounded(q.options.Share[i].Filter)
	}
}

// finishSelectors adds the Kubernetes selectors to the filters.
func (q *request) finishSelectors() error {
	resource := filter.Allocations
	if q.route.endpoint&listed != 0 {
		resource = filter.Assets
	}
	if q.selection.fieldSelector != "" {
		e, err := q.api.cfg.Selectable.Parse(resource, q.selection.fieldSelector)
		if err != nil {
			return badRequest("parameter fieldSelector=%s: %v", shorten(q.selection.fieldSelector), err)
		}
		q.selection.selects = append(q.selection.selects, newEntry("fieldSelector", q.selection.fieldSelector, filter.New(e, q.vocabulary...)))
		q.selection.filters = append(q.selection.filters, e)
	}
	if q.selection.labelSelector != "" {
		e, err := filter.ParseLabelSelector(q.selection.labelSelector)
		if err != nil {
			return badRequest("parameter labelSelector=%s: %v", shorten(q.selection.labelSelector), err)
		}
		q.selection.selects = append(q.selection.selects, newEntry("labelSelector", q.selection.labelSelector, filter.New(e, q.vocabulary...)))
		q.selection.filters = append(q.selection.filters, e)
	}
	return nil
}

// finishSearch checks the parameters that single endpoints require.
func (q *request) finishSearch() error {
	switch {
	case q.route.endpoint == trends && len(q.output.names) == 0:
		return badRequest("parameter names is missing: name the results whose trends are asked for, such as names=web,batch with aggregate=namespace")
	case q.route.endpoint&(completions|assetCompletions) != 0 && q.search.field == nil:
		return badRequest("parameter field is missing: give one such as field=namespace")
	}
	return nil
}
