package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/promcost/promcost/allocation/coverage"
)

// costComponents are what the cost of an allocation is made of, with the members of the API that they sum.
var costComponents = []struct {
	name    string
	members []string
}{
	{"cpu", []string{"cpuCost", "cpuCostAdjustment"}},
	{"ram", []string{"ramCost", "ramCostAdjustment"}},
	{"gpu", []string{"gpuCost", "gpuCostAdjustment"}},
	{"volumes", []string{"pvCost", "pvCostAdjustment"}},
	{"network", []string{"networkCost", "networkCostAdjustment"}},
	{"loadBalancer", []string{"loadBalancerCost", "loadBalancerCostAdjustment"}},
	{"shared", []string{"sharedCost"}},
	{"external", []string{"externalCost"}},
}

// allocations answers with the costs of workloads.
func (s *server) allocations(ctx context.Context, args arguments) ([]byte, error) {
	limit, v, err := listArguments(args)
	if err != nil {
		return nil, err
	}
	v.Set("accumulate", "true")
	v.Set("nulls", "true")
	fields := []string{"name", "window", "totalCost", "totalEfficiency", "errorBounds"}
	for _, p := range costComponents {
		fields = append(fields, p.members...)
	}
	v.Set("fields", strings.Join(fields, ","))
	answer, err := s.ask(ctx, "/model/allocation", v)
	if err != nil {
		return nil, err
	}
	t, rows, err := s.tableOf(ctx, answer)
	if err != nil {
		return nil, err
	}
	var entries []entry
	total, uncertain := 0.0, 0.0
	for name, raw := range rows {
		var r struct {
			Window          json.RawMessage
			TotalCost       float64
			TotalEfficiency *float64
			ErrorBounds     *bounds
		}
		amounts := map[string]any{}
		if err := cmp.Or(json.Unmarshal(raw, &r), json.Unmarshal(raw, &amounts)); err != nil {
			return nil, fmt.Errorf("read allocation %s: %w", name, err)
		}
		relative := r.ErrorBounds.relative()
		e := entry{Name: name, Cost: rounded(r.TotalCost, relative), Of: map[string]money{}, Bounds: r.ErrorBounds, exact: r.TotalCost}
		if r.TotalEfficiency != nil {
			efficiency := math.Round(*r.TotalEfficiency*1e3) / 1e3
			e.Efficiency = &efficiency
		}
		for _, p := range costComponents {
			sum := 0.0
			for _, m := range p.members {
				v, _ := amounts[m].(float64)
				sum += v
			}
			if m := to(sum, e.Cost.decimals); m.value != 0 {
				e.Of[p.name] = m
			}
		}
		t.Window = r.Window
		total, uncertain = total+r.TotalCost, uncertain+math.Abs(r.TotalCost)*relative
		entries = append(entries, e)
	}
	t.setTotal(total, uncertain)
	dearest(entries)
	return t.encode(entries, limit)
}

// setTotal sets the total, with the sum of its uncertainties, and what that is a month.
func (t *table) setTotal(total, uncertain float64) {
	t.Total = entry{Cost: roundedTotal(total, uncertain)}
	if t.Covered > 0 {
		factor := coverage.MonthHours / t.Covered
		monthly := roundedTotal(total*factor, uncertain*factor)
		t.Monthly = &monthly
	}
}

// roundedTotal rounds a sum by the sum of its uncertainties.
func roundedTotal(total, uncertain float64) money {
	if total == 0 {
		return money{}
	}
	return rounded(total, uncertain/math.Abs(total))
}

// assets answers with what clusters are made of.
func (s *server) assets(ctx context.Context, args arguments) ([]byte, error) {
	limit, v, err := listArguments(args)
	if err != nil {
		return nil, err
	}
	v.Set("accumulate", "true")
	answer, err := s.ask(ctx, "/model/assets", v)
	if err != nil {
		return nil, err
	}
	t, rows, err := s.tableOf(ctx, answer)
	if err != nil {
		return nil, err
	}
	var entries []entry
	total := 0.0
	for name, raw := range rows {
		var r struct {
			Type       string
			Properties struct{ Name, Cluster string }
			Window     json.RawMessage
			TotalCost  float64
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("read asset %s: %w", name, err)
		}
		t.Window = r.Window
		total += r.TotalCost
		entries = append(entries, entry{Name: cmp.Or(r.Properties.Name, name), Type: r.Type, Cost: rounded(r.TotalCost, 0), exact: r.TotalCost})
	}
	t.setTotal(total, 0)
	dearest(entries)
	return t.encode(entries, limit)
}

// tableOf begins a table of an answer with one set, and returns its rows.
func (s *server) tableOf(ctx context.Context, answer *reply) (*table, map[string]json.RawMessage, error) {
	var sets []map[string]json.RawMessage
	if err := json.Unmarshal(answer.Data, &sets); err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	t := &table{Currency: s.currency(ctx), Resolution: answer.Resolution, Covered: answer.CoveredHours, Hours: answer.WindowHours, Warnings: answer.Warnings}
	if len(sets) == 0 {
		return t, nil, nil
	}
	return t, sets[0], nil
}

// currency is that of the costs.
func (s *server) currency(ctx context.Context) string {
	var configs struct{ CurrencyCode string }
	answer, err := s.ask(ctx, "/model/getConfigs", url.Values{})
	if err != nil || json.Unmarshal(answer.Data, &configs) != nil {
		return "USD"
	}
	return cmp.Or(configs.CurrencyCode, "USD")
}

// listArguments takes the number of rows out of the arguments.
func listArguments(args arguments) (limit int, v url.Values, err error) {
	if limit, err = args.number("limit", defaultRows, mostRows); err != nil {
		return 0, nil, err
	}
	v, err = args.parameters(asIs)
	return limit, v, err
}

func asIs(name string) string { return name }

// changed is a row of the API's answer about a change.
type changed struct {
	Name                   string
	Baseline, Cost, Change float64
	Effects                map[string]float64
	WithinBounds           bool
	Since, Owner, Team     string
	Before, After          map[string]*float64 // replicas, cores and the like
	Parts                  []changed
}

// amounts has the numbers that are known, with as many digits as anybody reads.
func amounts(of map[string]*float64) map[string]money {
	out := map[string]money{}
	for name, v := range of {
		if v != nil && *v != 0 {
			out[name] = rounded(*v, 0)
		}
	}
	return out
}

// entry is the row in a compact answer.
func (c *changed) entry() entry {
	size := rounded(max(math.Abs(c.Cost), math.Abs(c.Baseline)), 0).decimals
	baseline, change := to(c.Baseline, size), to(c.Change, size)
	e := entry{
		Name: c.Name, Baseline: &baseline, Cost: to(c.Cost, size), Change: &change, Effects: map[string]money{}, WithinBounds: c.WithinBounds, exact: c.Change,
		Since: c.Since, Owner: c.Owner, Team: c.Team, Before: amounts(c.Before), After: amounts(c.After),
	}
	for name, v := range c.Effects {
		if m := to(v, size); m.value != 0 {
			e.Effects[name] = m
		}
	}
	const mostParts = 5
	for i := range c.Parts[:min(mostParts, len(c.Parts))] {
		e.Parts = append(e.Parts, c.Parts[i].entry())
	}
	return e
}

// explainChange answers with why costs changed.
func (s *server) explainChange(ctx context.Context, args arguments) ([]byte, error) {
	limit, v, err := listArguments(args)
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(ctx, "/model/allocation/change", v)
	if err != nil {
		return nil, err
	}
	var data struct {
		Window, BaselineWindow json.RawMessage
		Total                  changed
		Rows                   []changed
	}
	if err := json.Unmarshal(answer.Data, &data); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	t := &table{Window: data.Window, Baseline: data.BaselineWindow, Currency: s.currency(ctx), Resolution: answer.Resolution, Covered: answer.CoveredHours, Hours: answer.WindowHours, Total: data.Total.entry(), Warnings: answer.Warnings}
	entries := make([]entry, len(data.Rows))
	for i := range data.Rows {
		entries[i] = data.Rows[i].entry()
	}
	return t.encode(entries, limit)
}

// budgets answers with how budgets stand. What is spent and will be is rounded; the amounts are as they were configured.
func (s *server) budgets(ctx context.Context, _ arguments) ([]byte, error) {
	answer, err := s.ask(ctx, "/model/budgets", url.Values{})
	if err != nil {
		return nil, err
	}
	var list []map[string]any
	if err := json.Unmarshal(answer.Data, &list); err != nil {
		return nil, fmt.Errorf("read the budgets: %w", err)
	}
	for _, b := range list {
		for _, name := range []string{"spent", "forecast", "spentUnbilled"} {
			if v, known := b[name].(float64); known {
				b[name] = rounded(v, 0)
			}
		}
	}
	return short(budgetList{s.currency(ctx), list}, answer.Warnings)
}

// budgetList is an answer about budgets, each as the API has it.
type budgetList struct {
	Currency string           `json:"currency"`
	Budgets  []map[string]any `json:"budgets"`
}

// shortAnswer is data with its warnings.
type shortAnswer[T any] struct {
	Data     T        `json:"data"`
	Warnings []string `json:"warnings,omitempty"`
}

// short is data with its warnings, an error where it is too long.
func short(data any, warnings []string) ([]byte, error) {
	body, err := json.Marshal(shortAnswer[any]{data, warnings})
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	if len(body) > mostBytes {
		return nil, fmt.Errorf("the answer has %d bytes, at most %d are sent: ask for less, by a filter, an aggregation, or topk() in PromQL", len(body), mostBytes)
	}
	return body, nil
}
