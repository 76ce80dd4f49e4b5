package costapi

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/change"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/nodeuse"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/savings"
)

// needs is the data to read of sets for the answer, with levels of usage where it shows quantiles.
func (q *request) needs() *allocation.Projection {
	p := q.rowNeeds()
	if q.route.endpoint&sizings != 0 {
		return q.sizingNeeds()
	}
	if slices.ContainsFunc(encode.QuantileMembers(), func(name string) bool { return slices.Contains(q.output.fields, name) }) {
		return p.Union(&allocation.Projection{Levels: true, WithoutAssets: true})
	}
	return p
}

// rowNeeds is the data to read of stored sets for the answer: what the passes, the filters, the format, the page and the warnings
// declare. It is nil, which is everything, if the sets are checked, for ACK's bills, and for most computed sets: see computedNeeds.
func (q *request) rowNeeds() *allocation.Projection {
	switch {
	case q.api.cfg.Check, q.route.endpoint == ackAllocations:
		return nil
	case !q.timing.query.Stored:
		return q.computedNeeds()
	case q.route.endpoint == predictions:
		return savings.HistoryNeeds()
	case q.route.endpoint == nodeSavings:
		return nodeuse.Needs()
	case q.route.endpoint&listed != 0: // assets need no rows
		return &allocation.Projection{}
	case q.route.endpoint&savingLists != 0:
		return allocation.Union(append(q.searchNeeds(), savingKinds()[q.route.endpoint].needs)...)
	case q.route.endpoint == completions:
		return allocation.Union(append(q.searchNeeds(), q.search.field.needs)...)
	}
	o := encode.Options{Fields: q.output.fields, Page: q.output.page}
	answer := o.Needs(q.rowFormat())
	if q.route.endpoint == changes {
		answer = change.Needs()
	}
	if q.showsResults() {
		answer = answer.OfResults()
	}
	needs := allocation.Union(append(q.searchNeeds(), answer, q.options.Needs())...)
	if !q.showsResults() {
		return needs.Now()
	}
	return needs
}

// computedNeeds is what is needed of computed sets. For allocations that is all of rows, and of assets what the passes need. For all else
// it is nil, which is everything.
func (q *request) computedNeeds() *allocation.Projection {
	if q.route.endpoint&(allocations|summaries|toplines) == 0 || q.options.Proportions {
		return nil
	}
	p := allocation.Everything()
	p.WithoutAssets, p.FewOfAssets = false, true
	return p
}

// mergedBy are the keys by which computed rows are merged before anyone looks at their labels and annotations. It is nil if a filter, a
// key or a warning looks at them before that, or if nearly every row is one pod's.
func (q *request) mergedBy() []allocation.Key {
	merges := q.route.endpoint&(allocations|summaries|toplines) != 0 && q.showsMerged() && q.options.OnlyMerges() && q.options.Filter == nil
	if q.timing.query.Stored || !merges || q.concerns(notices.AboutLabels) || q.concerns(notices.AboutAnnotations) {
		return nil
	}
	needs := append(q.searchNeeds(), allocation.OfRows(nil))
	for _, k := range q.options.Aggregate {
		needs = append(needs, k.Needs())
	}
	all := allocation.Union(needs...)
	looks := func(x allocation.Property) bool { return slices.Contains(all.Properties, x) }
	if !all.WithoutAssets || slices.ContainsFunc([]allocation.Property{allocation.Labels, allocation.Annotations, allocation.Pod, allocation.PodUID}, looks) {
		return nil
	}
	return q.options.Aggregate
}

// bills are the parts of bills that the answer shows.
func (q *request) bills() allocation.Billed {
	var b allocation.Billed
	switch {
	case q.route.endpoint&(ackAllocations|savingLists|nodeSavings) != 0:
		b = allocation.Billed{Adjustments: true}
	case q.route.endpoint&listed != 0:
		b = allocation.Billed{Adjustments: !q.assets.WithoutAdjustments, Cloud: true}
	default:
		b = allocation.Billed{Adjustments: q.reconcile, External: q.options.External}
	}
	b.Estimate = b.Adjustments && q.unbilled == "estimate"
	return b
}

// showsResults reports whether the answer of stored sets shows only merged rows.
func (q *request) showsResults() bool {
	return q.route.endpoint&(allocations|summaries|toplines|changes|anomalies|forecasts) != 0 && q.streams() && q.showsMerged()
}

// showsMerged reports whether rows are merged before they are shown, and do not show which labels they have in common.
func (q *request) showsMerged() bool {
	return len(q.options.Aggregate) > 0 && !q.options.AggregatedMetadata
}

// rowFormat is how the rows of the answer are written.
func (q *request) rowFormat() encode.Format {
	switch {
	case q.route.endpoint&(summaries|toplines|anomalies|forecasts) != 0 && q.output.format != "csv":
		return encode.SummaryFormat
	case q.route.endpoint == trends:
		return encode.TrendsFormat
	case columnar(q.output.format):
		return encode.ColumnsFormat
	case q.output.format == "csv" && q.output.fullCSV:
		return encode.FullCSVFormat
	case q.output.format == "csv":
		return encode.CSVFormat
	}
	return encode.AllocationsFormat
}

// searchNeeds is the data that the filter reads of all rows as they were built, and the data that warnings about unknown names
// need.
func (q *request) searchNeeds() (list []*allocation.Projection) {
	if q.options.Filter != nil {
		list = append(list, q.options.Filter.Needs())
	}
	for _, e := range q.selection.entries {
		list = append(list, e.filter.Needs())
	}
	for _, d := range q.api.cfg.Derived {
		if q.derives(d) {
			list = append(list, d.Needs())
		}
	}
	for i := range q.selection.labels {
		list = append(list, q.selection.labels[i].Needs())
	}
	return list
}
