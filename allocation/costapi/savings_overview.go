package costapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// savingPart is a part of the overview of savings.
type savingPart struct {
	name string
	path string // which lists what the part sums up
	// sum is what that path's answer says can be saved a month.
	sum func(a *api, q *request) (float64, []*allocation.Set, error)
}

// savingParts are the parts, by Kubecost's names where it has them. The first one looks at the longest time.
func savingParts() []savingPart {
	return []savingPart{
		{"containerRequestSizing", "/model/savings/requestSizingV2", func(a *api, q *request) (float64, []*allocation.Set, error) {
			list, sets, err := a.kubecostList(q)
			return list.TotalMonthlySavings, sets, err
		}},
		{"abandonedWorkloads", "/model/savings/abandonedWorkloads", sumList(func(list []abandoned) (sum float64) {
			for i := range list {
				sum += list[i].MonthlySavings
			}
			return sum
		})},
		{"unclaimedVolumes", "/model/savings/unclaimedVolumes", sumList(func(v volumes) float64 { return v.MonthlyCost })},
		{"idleGPUs", "/model/savings/idleGPUs", sumList(func(g idlers) float64 { return g.MonthlyCost })},
	}
}

// sumList sums up the answer of an endpoint of savingKinds.
func sumList[T any](sum func(T) float64) func(a *api, q *request) (float64, []*allocation.Set, error) {
	return func(a *api, q *request) (float64, []*allocation.Set, error) {
		data, sets, err := a.findSavings(q)
		if err != nil {
			return 0, nil, err
		}
		return sum(data.(T)), sets, nil
	}
}

// monthlySaving is what can be saved a month, by what was known at a time.
type monthlySaving struct {
	SavingsPerMonth float64   `json:"savingsPerMonth"`
	LastRefresh     time.Time `json:"lastRefresh"`
}

// serveSavingsOverview answers with what the paths about savings come to, each with the parameters of the request.
func (a *api) serveSavingsOverview(w http.ResponseWriter, q *request) error {
	data := map[string]any{"cluster": a.cfg.Cluster().ID}
	var longest []*allocation.Set
	given := q.ofParts()
	for i, part := range savingParts() {
		of, err := a.parse(a.routes[part.path], given)
		if err != nil {
			return err
		}
		of.memory, of.provenance = q.memory, q.provenance
		of.within(q.ctx)
		saving, sets, err := part.sum(a, of)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		q.provenance = of.provenance
		q.warnings = append(q.warnings, slices.DeleteFunc(of.warnings, func(text string) bool { return slices.Contains(q.warnings, text) })...)
		if i == 0 {
			longest, data["profile"] = sets, of.sizing.preset.Name
		}
		data[part.name] = monthlySaving{saving, of.lookedUntil()}
	}
	return q.writeAnswer(w, data, longest)
}

// lookedUntil is until when the answer looks: the end of its window, or now.
func (q *request) lookedUntil() time.Time {
	until := whole(q.timing.windows).End
	if until.After(q.now) {
		until = q.now
	}
	return until.Truncate(time.Second).UTC()
}

// ofParts are the parameters of the request that its parts take: all but those about its answer.
func (q *request) ofParts() url.Values {
	given := url.Values{}
	for _, p := range Parameters(q.route.path) {
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if values, ok := q.given[name]; ok && name != "jmespath" && !p.Ignored {
				given[name] = values
			}
		}
	}
	return given
}
