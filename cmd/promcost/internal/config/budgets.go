package config

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
)

// Budget is what something may cost in a period.
type Budget struct {
	Name   string
	Filter string // in the v2 language; "" is everything
	Amount float64
	Period string // one of periods
	Cost   string // one of budgetCosts; "" is list
}

// periods are the periods of budgets.
var periods = []string{"day", "week", "month", "quarter", "year"}

// BilledCost is the value of cost for budgets that are held against bills.
const BilledCost = "billed"

// budgetCosts are the costs that budgets are held against.
var budgetCosts = []string{"list", BilledCost}

// readBudgets reads the budgets. Each needs a unique name, an amount and a period.
func (f *File) readBudgets(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "budgets is no list: begin each budget with \"- \"")
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("budgets[%d]", i)
		var b Budget
		if err := readKeys(&b, what, item, budgetKeys()); err != nil {
			return err
		}
		if b.Name == "" || b.Amount == 0 || b.Period == "" {
			return atLine(item, "%s lacks a key: give name, amount and period", what)
		}
		if slices.ContainsFunc(f.Budgets, func(o Budget) bool { return o.Name == b.Name }) {
			return atLine(item, "%s has the name %q of another: give each its own", what, b.Name)
		}
		f.Budgets = append(f.Budgets, b)
	}
	f.budgetNodes = n.Content
	return nil
}

// checkBudgets checks the filters of budgets. They may name what other keys of the file define, so all keys are read first.
func (f *File) checkBudgets() error {
	for i, b := range f.Budgets {
		if b.Filter == "" {
			continue
		}
		if _, err := filter.Parse(b.Filter, f.Vocabulary()...); err != nil {
			return atLine(f.budgetNodes[i], "budgets[%d]: filter %s: %w", i, b.Filter, err)
		}
	}
	return nil
}

// CheckBudgets refuses budgets that are held against bills if there are no bills.
func (s *Settings) CheckBudgets() error {
	for _, b := range s.Budgets {
		if b.Cost == BilledCost && len(s.Bills) == 0 {
			return fmt.Errorf("read --config.file: budget %q has cost: billed, and there are no bills: name them under bills, or leave cost out", b.Name)
		}
	}
	return nil
}

// MeteredBudgets are the budgets for metrics. Costs are shared as the API does by default. A budget with a filter is for
// workloads, which bear the part of idle cost that sharing gives them. A budget without one is for everything, idle included.
func (s *Settings) MeteredBudgets() ([]metering.Budget, error) {
	shared, err := s.Sharing.options()
	if err != nil {
		return nil, err
	}
	everything, err := allocation.ParseKeys("all", nil)
	if err != nil {
		return nil, err
	}
	shared.Aggregate, shared.Zone = everything, s.Zone
	budgets := make([]metering.Budget, len(s.Budgets))
	for i, b := range s.Budgets {
		o := shared
		o.Idle = b.Filter == ""
		if b.Filter != "" {
			f, err := filter.Parse(b.Filter, s.Vocabulary()...)
			if err != nil {
				return nil, fmt.Errorf("budget %q: filter %s: %w", b.Name, b.Filter, err)
			}
			o.Filter = f.Among(s.LabelNames)
		}
		budgets[i] = metering.Budget{Name: b.Name, Amount: b.Amount, Period: metering.BudgetPeriod(b.Period), Billed: b.Cost == BilledCost, Options: o}
	}
	return budgets, nil
}

// Parameters are the given defaults as pairs of a parameter of the API and its value.
func (s *Sharing) Parameters() [][2]string {
	var out [][2]string
	for _, p := range [...][2]string{
		{"shareNamespaces", s.Namespaces},
		{"shareLabels", s.Labels},
		{"shareCost", s.Cost},
		{"shareSplit", s.Split},
		{"shareIdle", s.Idle},
		{"shareTenancyCosts", s.TenancyCosts},
	} {
		if p[1] != "" {
			out = append(out, p)
		}
	}
	return out
}

// options are the passes that share costs as the file says, with the API's defaults for what it does not say.
func (s *Sharing) options() (o passes.Options, err error) {
	for _, list := range [...]struct{ parameter, entries string }{{"shareNamespaces", s.Namespaces}, {"shareLabels", s.Labels}} {
		shared, err := filter.Sharing(list.parameter, list.entries)
		if err != nil {
			return o, fmt.Errorf("sharing.%s: %w", list.parameter, err)
		}
		for _, e := range shared {
			o.Share = append(o.Share, passes.Share{Name: e.Name, Filter: filter.New(e.Expr)})
		}
	}
	if s.Cost != "" {
		if o.SharedCost, err = strconv.ParseFloat(s.Cost, 64); err != nil {
			return o, fmt.Errorf("sharing.shareCost: %w", err)
		}
	}
	o.ShareTenancy, o.ShareSplit = s.TenancyCosts != "false", passes.Weighted
	if s.Split == "even" {
		o.ShareSplit = passes.Even
	}
	switch s.Idle {
	case "true", "weighted":
		o.ShareIdle = passes.Weighted
	case "even":
		o.ShareIdle = passes.Even
	}
	return o, nil
}
