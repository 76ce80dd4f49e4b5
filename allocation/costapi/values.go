package costapi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/passes"
)

// periods are the words of accumulate. OpenCost's web page sends weeknow for a week of the calendar.
var periods = map[string]allocation.Period{
	"all": allocation.All, "none": allocation.NoPeriod, "hour": allocation.Hour, "day": allocation.Day, "week": allocation.Week,
	"weeknow": allocation.Week, "month": allocation.Month, "quarter": allocation.Quarter,
}

func parseAccumulate(q *request, value string) error {
	if p, ok := periods[value]; ok {
		q.options.Accumulate = p
		return nil
	}
	v, err := parseBool(value)
	if err != nil {
		return errors.New("unknown value: use true or false, hour, day, week, month, quarter, all or none")
	}
	q.options.Accumulate = allocation.NoPeriod
	if v {
		q.options.Accumulate = allocation.All
	}
	return nil
}

func parseAccumulateBy(q *request, value string) error {
	if _, ok := periods[value]; !ok {
		return errors.New("unknown value: use hour, day, week, month, quarter, all or none")
	}
	return parseAccumulate(q, value)
}

func parseAggregate(q *request, value string) (err error) {
	q.options.Aggregate, err = allocation.ParseKeys(value, q.api.cfg.Labels, q.api.cfg.Derived...)
	return err
}

// parseDrill reads the key of parts.
func parseDrill(q *request, value string) (err error) {
	q.drill, err = allocation.ParseKeys(value, q.api.cfg.Labels, q.api.cfg.Derived...)
	if err == nil && strings.Contains(value, ",") {
		err = errors.New("one level at a time: name one field")
	}
	return err
}

func parseCostChangeRatio(q *request, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= math.MaxFloat64) {
		return errors.New("must be a number of at least 0: give one such as 0.1 for 10 %")
	}
	q.output.least = v
	return nil
}

func parseAssetAggregate(q *request, value string) (err error) {
	q.assets.Aggregate, err = assets.ParseDimensions(value, q.api.cfg.Labels)
	return q.hintDerived(err, value)
}

// hintDerived adds a hint to the error about text if it names a derived property of the configuration, which only allocations
// have.
func (q *request) hintDerived(err error, text string) error {
	if err == nil {
		return nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("-_.", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, d := range q.api.cfg.Derived {
		if slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, d.Name()) }) {
			return fmt.Errorf("property %s of the configuration is of allocations only, such as those of /model/allocation: %w", d.Name(), err)
		}
	}
	return err
}

// ackKeys are the keys of ACK's aggregations. All contain the cluster, because a cost is a part of one cluster's bill.
var ackKeys = map[string]string{
	"pod": "cluster,namespace,pod", "namespace": "cluster,namespace", "controller": "cluster,namespace,controller", "controllerkind": "cluster,controllerKind",
}

func parseACKAggregate(q *request, value string) (err error) {
	keys, ok := ackKeys[strings.ToLower(value)]
	if !ok {
		return q.hintDerived(errors.New("unknown value: use namespace, controller or controllerKind, or pod"), value)
	}
	q.options.Aggregate, err = allocation.ParseKeys(keys, q.api.cfg.Labels)
	return err
}

func parseFilter(q *request, value string) error {
	f, err := filter.Parse(value, q.vocabulary...)
	if err != nil {
		return err
	}
	q.selection.selects = append(q.selection.selects, newEntry("filter", value, f))
	q.selection.filters = append(q.selection.filters, f.Expr())
	return nil
}

func parseAssetFilter(q *request, value string) error {
	f, err := filter.ParseAssets(value, q.vocabulary...)
	if err != nil {
		return q.hintDerived(err, value)
	}
	q.selection.filters = append(q.selection.filters, f.Expr())
	return nil
}

// addV1 adds a filter of the first language.
func addV1(name string) func(*request, string) error {
	return func(q *request, value string) error {
		if name == "filterTypes" {
			if err := checkTypes(value); err != nil {
				return err
			}
		}
		q.selection.v1 = append(q.selection.v1, v1Value{name, value})
		return nil
	}
}

// addShares adds each entry of a list to the costs that are shared.
func addShares(parameter string) func(*request, string) error {
	return func(q *request, value string) error {
		list, err := filter.Sharing(parameter, value)
		if err != nil {
			return err
		}
		for _, s := range list {
			f := filter.New(s.Expr)
			q.options.Share = append(q.options.Share, passes.Share{Name: s.Name, Filter: f})
			q.selection.entries = append(q.selection.entries, newEntry(parameter, s.Text, f))
		}
		return nil
	}
}

func parseShare(q *request, value string) error {
	f, err := filter.Parse(value, q.vocabulary...)
	if err != nil {
		return err
	}
	q.options.Share = append(q.options.Share, passes.Share{Name: "share", Filter: f})
	q.selection.entries = append(q.selection.entries, newEntry("share", value, f))
	return nil
}

func parseShareCost(q *request, value string) error {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v < 0 || v-v != 0 {
		return errors.New("must be a number not below 0, in currency a month: give one such as 100")
	}
	q.options.SharedCost = v
	return nil
}

func parseShareSplit(q *request, value string) error {
	q.options.ShareSplit = passes.Weighted
	if value == "even" {
		q.options.ShareSplit = passes.Even
	}
	return oneOf(value, "weighted", "even")
}

func parseShareIdle(q *request, value string) error {
	switch value {
	case "weighted":
		q.options.ShareIdle = passes.Weighted
		return nil
	case "even":
		q.options.ShareIdle = passes.Even
		return nil
	}
	v, err := parseBool(value)
	if err != nil {
		return errors.New("unknown value: use true, false, weighted or even")
	}
	if v {
		q.options.ShareIdle = passes.Weighted
	}
	return nil
}

func parseLabelNames(q *request, value string) error {
	q.options.LabelValue = value == "value"
	return oneOf(value, "pair", "value")
}

func parsePropertyNames(q *request, value string) error {
	q.output.singular = value == "singular"
	return oneOf(value, "plural", "singular")
}

func setFullCSV(q *request, value string) error {
	q.output.fullCSV = value == "full"
	return oneOf(value, "standard", "full")
}

// parseCount sets a field to a count.
func parseCount(field func(*request) *int) func(*request, string) error {
	return func(q *request, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return errors.New("must be a whole number not below 0: give one such as 100")
		}
		*field(q) = n
		return nil
	}
}

func parseValueLimit(q *request, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1000 {
		return errors.New("must be a whole number from 1 to 1000")
	}
	q.search.most = n
	return nil
}

// sortWords are other names that clients of Kubecost and OpenCost use in sortBy.
var sortWords = map[string]string{"efficiency": "totalEfficiency", "cost": "totalCost", "total": "totalCost"}

// parseSortBy accepts the name of a number in any case.
func parseSortBy(q *request, value string) error {
	known, list := encode.PageOrders()
	if q.route.endpoint&listed != 0 {
		known = list
	}
	known = append([]string{"name"}, known...)
	if word, ok := sortWords[strings.ToLower(value)]; ok {
		value = word
	}
	for _, name := range known {
		if strings.EqualFold(name, value) {
			q.output.page.By = name
			q.output.page.Ascending = name == "name"
			return nil
		}
	}
	return unknownName("field", value, known)
}

// unknownName is the error for a name that is not among the known ones.
func unknownName(what, name string, known []string) error {
	hint := ""
	if near := caret.Nearest(name, known); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("unknown %s %q%s: use one of %s", what, shorten(name), hint, strings.Join(known, ", "))
}

// parseSortOrder runs after parseSortBy.
func parseSortOrder(q *request, value string) error {
	value = strings.ToLower(value)
	q.output.page.Ascending = value == "asc"
	return oneOf(value, "desc", "asc")
}

func parseFields(q *request, value string) error {
	known := encode.Members()
	switch q.route.endpoint {
	case summaries, toplines:
		known = encode.SummaryMembers()
	case assetLists, assetMaps:
		known = encode.AssetMembers()
	case ackAllocations:
		known = encode.ACKMembers()
	default:
		known = append(known, encode.OnDemandMembers()...)
	}
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(known, name) {
			return unknownName("field", name, known)
		}
		if !slices.Contains(q.output.fields, name) {
			q.output.fields = append(q.output.fields, name)
		}
	}
	return nil
}

// costMetrics are the words of costMetric with their hours.
var costMetrics = []struct {
	word  string
	hours float64
}{
	{"cumulative", 0},
	{"hourly", 1},
	{"daily", 24},
	{"weekly", 168},
	{"monthly", coverage.MonthHours},
	{"yearly", 8760},
}

func parseCostMetric(q *request, value string) error {
	var words []string
	for _, r := range costMetrics {
		if r.word == value {
			q.output.rate = r.hours
			return nil
		}
		words = append(words, r.word)
	}
	return fmt.Errorf("unknown value: use %s", strings.Join(words, " or "))
}

// maxNames is how many results a request for trends may name.
const maxNames = 1000

func parseNames(q *request, value string) error {
	if n := strings.Count(value, ",") + 1; n > maxNames {
		return fmt.Errorf("it names %d results, at most %d are allowed: ask for fewer at a time", n, maxNames)
	}
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(q.output.names, name) {
			q.output.names = append(q.output.names, name)
		}
	}
	return nil
}
