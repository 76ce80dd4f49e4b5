package main

import (
	"fmt"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// budgetsOf are the config's budgets as they are counted: with costs shared as the API does where nothing else is asked for.
// One with a filter is for workloads, and bears of idle what sharing gives them; one without is for everything, idle too.
func (s *settings) budgetsOf() ([]allocation.Budget, error) {
	shared, err := s.sharing.options()
	if err != nil {
		return nil, err
	}
	everything, err := allocation.ParseKeys("all", nil)
	if err != nil {
		return nil, err
	}
	shared.Aggregate, shared.Zone = everything, s.zone
	budgets := make([]allocation.Budget, len(s.budgets))
	for i, b := range s.budgets {
		o := shared
		o.Idle = b.filter == ""
		if b.filter != "" {
			f, err := filter.Parse(b.filter, filter.WithLabels(s.labels), filter.WithDerived(s.derived...))
			if err != nil {
				return nil, fmt.Errorf("budget %q: filter %s: %w", b.name, b.filter, err)
			}
			o.Filter = f.Among(s.labelNames)
		}
		budgets[i] = allocation.Budget{Name: b.name, Amount: b.amount, Period: allocation.BudgetPeriod(b.period), Options: o}
	}
	return budgets, nil
}

// options are the passes that share costs as the config says; what it does not say is as in the API.
func (s *sharing) options() (o allocation.Options, err error) {
	for _, list := range [...]struct{ parameter, entries string }{{"shareNamespaces", s.namespaces}, {"shareLabels", s.labels}} {
		shared, err := filter.Sharing(list.parameter, list.entries)
		if err != nil {
			return o, fmt.Errorf("sharing.%s: %w", list.parameter, err)
		}
		for _, e := range shared {
			o.Share = append(o.Share, allocation.Share{Name: e.Name, Filter: filter.New(e.Expr)})
		}
	}
	if s.cost != "" {
		if o.SharedCost, err = strconv.ParseFloat(s.cost, 64); err != nil {
			return o, fmt.Errorf("sharing.shareCost: %w", err)
		}
	}
	o.ShareTenancy, o.ShareSplit = s.tenancyCosts != "false", allocation.Weighted
	if s.split == "even" {
		o.ShareSplit = allocation.Even
	}
	switch s.idle {
	case "true", "weighted":
		o.ShareIdle = allocation.Weighted
	case "even":
		o.ShareIdle = allocation.Even
	}
	return o, nil
}
