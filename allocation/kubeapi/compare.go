package kubeapi

import (
	"context"
	"math"
	"net/url"

	"github.com/promcost/promcost/allocation/coverage"
)

// compare says how the costs of the items changed against those of a question in the window before, by namespace/name (SEMANTICS §9). Where promcost
// fails, or has no answer soon because the history lacks these hours, nothing is said.
func (r *reading) compare(ctx context.Context, path string, more map[string]string, cost func(name string, decode func(any) error) (key string, cost float64, err error)) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	w, size := r.window(), int64(0)
	costs := map[string]float64{}
	q := question{path, span{w.start.Add(-w.length()), w.start}, r.key.namespace, more}
	before, _, err := r.ask(ctx, q, func(name string, decode func(any) error) error {
		key, cost, err := cost(name, decode)
		if size += int64(len(key)) + 96; err == nil && size > r.limit {
			return tooMuch()
		}
		costs[key] += cost
		return err
	})
	if err != nil {
		return
	}
	if _, ok := coverage.Comparable(&before, &r.covered); !ok {
		return
	}
	for i := range r.items {
		it := &r.items[i]
		now, result := comparison(it.body)
		was, known := costs[it.namespace+"/"+it.name]
		result.New = !known
		if ratio, ok := coverage.Relative(was, &before, now, &r.covered); ok && !math.IsInf(ratio, 0) {
			result.Change = new(rounded(ratio))
		}
	}
}

// comparison is the cost in a body, and where it says how that changed.
func comparison(body any) (cost float64, result *Comparison) {
	switch b := body.(type) {
	case *allocationBody:
		return b.status.TotalCost, &b.status.Comparison
	case *assetBody:
		return b.status.TotalCost, &b.status.Comparison
	}
	panic("BUG: a body without a comparison")
}

// notOfChanges are the parameters of saved questions about the form of the answer, which changes do not have.
var notOfChanges = []string{"step", "accumulate", "fields", "sortBy", "sortByOrder", "nulls", "costMetric", "costUnit"}

// changed asks how the answer to a question changed against the window that promcost compares it with. Where it fails, nothing is known.
func (r *reading) changed(ctx context.Context, query string) (result Comparison) {
	values, err := savedParameters(query)
	if err != nil {
		return result
	}
	for _, name := range notOfChanges {
		values.Del(name)
	}
	values.Set("limit", "1") // the total is of all rows
	var data struct {
		NotComparable string
		Total         struct {
			Baseline float64
			Relative *float64
			Effects  struct{ New float64 }
		}
	}
	if err := r.client.facts(ctx, "/model/allocation/change", values, &data); err != nil || data.NotComparable != "" {
		return result
	}
	t := &data.Total
	if t.Relative != nil {
		result.Change = new(rounded(*t.Relative))
	}
	result.New = t.Baseline == 0 && t.Effects.New > 0
	return result
}

// rounded is a change without the digits in which sums of the same hours differ, by day or by hour.
func rounded(ratio float64) float64 {
	const steps = 1e6
	return math.Round(ratio*steps) / steps
}

// savedParameters are the parameters of a saved question without those that an object has no place for.
func savedParameters(query string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	for _, name := range []string{"offset", "jmespath", "explain", "csvColumns", "accumulateBy"} {
		values.Del(name)
	}
	values.Set("format", "json")
	return values, err
}
