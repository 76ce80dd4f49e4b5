package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/filter"
)

// Explain describes the settings, one on each line.
func (s *Settings) Explain() []string {
	lines := []string{
		"prices: " + s.ExplainPrices(),
		"currency: " + s.Currency,
		"time zone: " + s.Zone.String(),
	}
	for _, alias := range slices.Sorted(maps.Keys(s.Labels)) {
		lines = append(lines, alias+": "+strings.Join(s.Labels[alias], ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		lines = append(lines, "property "+name+": "+s.Properties[name])
	}
	for _, p := range s.Sharing.Parameters() {
		lines = append(lines, p[0]+": "+p[1])
	}
	for _, id := range slices.Sorted(maps.Keys(s.Clusters)) {
		c := s.Clusters[id]
		lines = append(lines, strings.TrimRight(fmt.Sprintf("cluster %s: %s", id, strings.Join(strings.Fields(c.Name+" "+c.Provider+" "+c.Region), " ")), ": "))
	}
	for _, b := range s.Budgets {
		of := "everything"
		if b.Filter != "" {
			of = b.Filter
		}
		by := ""
		if b.Cost == BilledCost {
			by = ", by bill"
		}
		lines = append(lines, fmt.Sprintf("budget %s: %g %s a %s for %s%s", b.Name, b.Amount, s.Currency, b.Period, of, by))
	}
	for i := range s.Bills {
		lines = append(lines, s.Bills[i].explain())
	}
	for _, q := range s.Questions {
		lines = append(lines, "question "+q.Name+": "+q.Query)
	}
	for _, v := range s.Views {
		lines = append(lines, "view "+v.Name+": "+v.Query)
	}
	for _, r := range resources() {
		if declared := s.Selectable.Fields(r)[len(filter.NewSelectable().Fields(r)):]; len(declared) > 0 {
			lines = append(lines, "selectable fields of "+r.String()+": "+strings.Join(declared, ", "))
		}
	}
	if len(s.Overridden) > 0 {
		lines = append(lines, "flags win over: "+strings.Join(s.Overridden, ", "))
	}
	return lines
}

// ExplainPrices says which prices there are and how old they are.
func (s *Settings) ExplainPrices() string {
	text := s.Rates.Name()
	if s.RatesFrom.IsZero() {
		return text
	}
	text += ", rules: " + strconv.Itoa(s.Rates.Rules())
	if asOf := s.Rates.AsOf(); !asOf.IsZero() {
		text += ", as of " + asOf.Format(time.DateOnly)
	}
	if _, ok := s.Rates.Custom(); ok {
		text += ", custom prices"
	}
	return text
}
