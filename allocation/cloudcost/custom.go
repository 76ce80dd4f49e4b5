package cloudcost

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/billing"
)

// CostType is which cost custom costs have.
type CostType string

// The cost types. Blended is the billed cost where there is one, else the list cost.
const (
	Blended CostType = "blended"
	Billed  CostType = "billed"
	List    CostType = "list"
)

// CustomOrder is the order of custom costs.
type CustomOrder struct {
	By        string // cost, aggregate or costType
	Ascending bool
}

// customRow is a custom cost in answers.
type customRow struct {
	ID             string   `json:"id"`
	Zone           string   `json:"zone"`
	AccountName    string   `json:"account_name"`
	ChargeCategory string   `json:"charge_category"`
	Description    string   `json:"description"`
	ResourceName   string   `json:"resource_name"`
	ResourceType   string   `json:"resource_type"`
	ProviderID     string   `json:"provider_id"`
	Cost           float64  `json:"cost"`
	ListUnitPrice  *float64 `json:"list_unit_price"` // null where the quantity is not known
	UsageQuantity  *float64 `json:"usage_quantity"`
	UsageUnit      string   `json:"usage_unit"`
	Domain         string   `json:"domain"`
	CostSource     string   `json:"cost_source"`
	Aggregate      string   `json:"aggregate"`
	CostType       CostType `json:"cost_type"`
}

// CustomSet is a window of custom costs in answers.
type CustomSet struct {
	Window    window      `json:"window"`
	TotalCost float64     `json:"totalCost"`
	CostType  CostType    `json:"totalCostType"`
	Rows      []customRow `json:"customCosts"`
}

// Custom returns the rows of a set as custom costs.
func Custom(s *Set, t CostType, o CustomOrder, zone *time.Location) CustomSet {
	out := CustomSet{Window: windowOf(s.Window, zone), CostType: t, Rows: []customRow{}}
	for i := range s.Rows {
		row := s.Rows[i].custom(t)
		out.TotalCost += row.Cost
		out.Rows = append(out.Rows, row)
	}
	slices.SortStableFunc(out.Rows, func(a, b customRow) int {
		if !o.Ascending {
			a, b = b, a
		}
		switch o.By {
		case "aggregate":
			return strings.Compare(a.Aggregate, b.Aggregate)
		case "costType":
			return strings.Compare(string(a.CostType), string(b.CostType))
		}
		return cmp.Compare(a.Cost, b.Cost)
	})
	return out
}

// custom is the row as a custom cost.
func (r *Row) custom(t CostType) customRow {
	if t == Blended {
		if t = Billed; r.Costs[billing.Billed] == 0 {
			t = List
		}
	}
	row := customRow{
		ID: r.Texts[ProviderID], Zone: r.Texts[Zone], AccountName: r.Texts[AccountName], ChargeCategory: r.Texts[ChargeCategory],
		Description: r.Texts[Description], ResourceName: r.Texts[ResourceName], ResourceType: r.Texts[ResourceType], ProviderID: r.Texts[ProviderID],
		UsageUnit: r.Texts[UsageUnit], Domain: r.Texts[Provider], CostSource: r.Texts[CostSource], Aggregate: r.Name, CostType: t,
		Cost: r.Costs[map[CostType]billing.Cost{Billed: billing.Billed, List: billing.List}[t]],
	}
	if q := r.Quantity; q-q == 0 {
		row.UsageQuantity = &q
		if price := r.Costs[billing.List] / q; price-price == 0 {
			row.ListUnitPrice = &price
		}
	}
	return row
}

// CustomSeries returns the sets as custom costs, step by step.
func CustomSeries(sets []Set, t CostType, o CustomOrder, zone *time.Location) any {
	list := make([]CustomSet, len(sets))
	for i := range sets {
		list[i] = Custom(&sets[i], t, o, zone)
	}
	return map[string]any{"window": windowOf(whole(sets), zone), "timeseries": list}
}
