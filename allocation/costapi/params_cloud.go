package costapi

import (
	"strings"

	"github.com/promcost/promcost/allocation/cloudcost"
	"github.com/promcost/promcost/allocation/filter"
)

// cloudQuestion is what a request asks of bills.
type cloudQuestion struct {
	keys     []cloudcost.Key
	filter   *filter.Filter
	metric   cloudcost.Metric
	page     cloudcost.Page
	costType string
	order    cloudcost.CustomOrder
}

// cloudParams choose what is said of bills, and how.
func cloudParams() []param {
	const custom = "What rows are merged by: a comma list of "
	page := func(field func(*cloudcost.Page) *int) func(*request, string) error {
		return parseCount(func(q *request) *int { return field(&q.cloud.page) })
	}
	list := []param{
		{"window", nil, "window", defaults{}, clouds | customs, "What time (required), as of the other paths; a duration of days ends with the running day.", setText(func(q *request) *string { return &q.timing.window })},
		{"window", nil, "window", all("7d"), reconciliations, "What time to look at: the days of it that bills reach.", setText(func(q *request) *string { return &q.timing.window })},
		{"aggregate", nil, "fields", defaults{}, clouds, custom + strings.Join(append(cloudcost.Names(false), "label:<name>"), ", ") + "; empty is OpenCost's list.", parseCloudAggregate},
		{"aggregate", nil, "fields", defaults{}, customs, custom + strings.Join(cloudcost.Names(true), ", ") + "; empty is a row for each thing that is charged.", parseCloudAggregate},
		{"accumulate", nil, "boolean|hour|day|week|month|quarter|all|none", all("false"), clouds, "Sum days to one set, or to weeks, months or quarters of the time zone.", parseAccumulate},
		{"accumulate", nil, "boolean|hour|day|week|month|quarter|all|none", all("day"), customs, "How long the steps of a time series are.", parseAccumulate},
		{"filter", nil, "filter", defaults{}, clouds, `Which lines of bills, in the v2 language over the fields of aggregate and label: provider:"AWS"+category!:"Disk".`, parseCloudFilter},
		{"filter", nil, "filter", defaults{}, customs, `Which lines of bills, in the v2 language over the fields of aggregate: domain:"Datadog".`, parseCloudFilter},
		{"costMetric", []string{"costMetricName", "CostMetricName", "CostMetric"}, strings.Join(cloudcost.MetricNames(), "|"), all("amortizedNetCost"), cloudViews | cloudTrends, "Which cost, in any case: FOCUS' EffectiveCost is amortizedNetCost and amortizedCost, ContractedCost netCost, BilledCost invoicedCost, ListCost listCost.", parseCloudMetric},
		{"costMetric", nil, "text", defaults{}, cloudCosts, "Has no effect: each row has all costs.", nil},
		{"offset", nil, "number", all("0"), cloudTables, "Rows left out, the first ones in the order.", page(func(p *cloudcost.Page) *int { return &p.Offset })},
		{"limit", nil, "number", all("0"), cloudTables, "Most rows; 0 for all.", page(func(p *cloudcost.Page) *int { return &p.Limit })},
		{"sortBy", nil, strings.Join(cloudcost.Orders(), "|"), all("cost"), cloudTables, "What rows are ordered by.", setWord(func(q *request) *string { return &q.cloud.page.By }, cloudcost.Orders()...)},
		{"sortByOrder", nil, "desc|asc", all("desc"), cloudTables, "The largest first or last.", setOrder(func(q *request) *bool { return &q.cloud.page.Ascending })},
		{"format", nil, "json|csv", all("json"), cloudTables, "Format of the answer. CSV has three decimals, as OpenCost's.", setWord(func(q *request) *string { return &q.output.format }, "json", "csv")},
		{"costType", nil, "blended|billed|list", all("blended"), customs, "Which cost: blended is what was billed, or else the list cost.", setWord(func(q *request) *string { return &q.cloud.costType }, "blended", "billed", "list")},
		{"sortBy", nil, "cost|aggregate|costType", all("cost"), customs, "What rows are ordered by.", setWord(func(q *request) *string { return &q.cloud.order.By }, "cost", "aggregate", "costType")},
		{"sortDirection", nil, "desc|asc", all("desc"), customs, "The largest first or last.", setOrder(func(q *request) *bool { return &q.cloud.order.Ascending })},
	}
	for _, f := range filter.V1CloudFilters() {
		list = append(list, param{f.Name, nil, "list", defaults{}, clouds, "Comma list of " + f.What + ". One of them must match; a trailing * matches any rest. Ignored if filter is given.", addV1(f.Name)})
	}
	return list
}

func parseCloudAggregate(q *request, value string) (err error) {
	q.cloud.keys, err = cloudcost.ParseKeys(value, q.custom())
	return q.hintDerived(err, value)
}

func parseCloudFilter(q *request, value string) (err error) {
	q.cloud.filter, err = filter.ParseOf(cloudcost.Names(q.custom()), value)
	return q.hintDerived(err, value)
}

func parseCloudMetric(q *request, value string) (err error) {
	q.cloud.metric, err = cloudcost.ParseMetric(value)
	return err
}

// setOrder sets whether the order is ascending.
func setOrder(ascending func(*request) *bool) func(*request, string) error {
	return func(q *request, value string) error {
		value = strings.ToLower(value)
		*ascending(q) = value == "asc"
		return oneOf(value, "desc", "asc")
	}
}
