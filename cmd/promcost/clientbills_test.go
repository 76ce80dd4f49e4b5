package main

import (
	"math"
	"testing"
)

// clientCost is a cost of a cloud as OpenCost's page reads it.
type clientCost struct{ Cost, KubernetesPercent *float64 }

// isCost reports whether a cost has a number and a part from 0 to 1.
func (c *clientCost) isCost() bool {
	return c.Cost != nil && c.KubernetesPercent != nil && *c.KubernetesPercent >= 0 && *c.KubernetesPercent <= 1
}

// clientWindow is a window as pages read it.
type clientWindow struct{ Start, End any }

func checkCloudCosts(t *testing.T, body []byte) {
	data := dataOf[struct {
		Sets []struct {
			Window     clientWindow
			CloudCosts map[string]struct {
				Properties                                                       *struct{ ProviderID string }
				ListCost, NetCost, AmortizedNetCost, InvoicedCost, AmortizedCost clientCost
			}
		}
	}](t, body)
	checkSome(t, data.Sets)
	for _, set := range data.Sets {
		checkTimes(t, "set", set.Window.Start, set.Window.End)
		for key, c := range set.CloudCosts {
			if c.Properties == nil || !c.ListCost.isCost() || !c.NetCost.isCost() || !c.AmortizedNetCost.isCost() || !c.InvoicedCost.isCost() || !c.AmortizedCost.isCost() {
				t.Errorf("%s: %+v", key, c)
			}
		}
	}
}

func checkBillStatus(t *testing.T, body []byte) {
	for _, s := range dataOf[[]struct {
		Key, Provider, ConnectionStatus string
		Active, Valid                   *bool
	}](t, body) {
		if s.Key == "" || s.ConnectionStatus == "" || s.Active == nil || s.Valid == nil {
			t.Errorf("%+v", s)
		}
	}
}

func checkCloudGraph(t *testing.T, body []byte) {
	sets := dataOf[[]struct {
		clientWindow
		Items []struct {
			Name  string
			Value *float64
		}
	}](t, body)
	checkSome(t, sets)
	for _, set := range sets {
		checkTimes(t, "set", set.Start, set.End)
		if set.Items == nil {
			t.Errorf("no list of items: %s", body)
		}
		for _, item := range set.Items {
			if item.Name == "" || item.Value == nil {
				t.Errorf("%+v", item)
			}
		}
	}
}

// clientTableRow is a row of the page's table of cloud costs.
type clientTableRow struct {
	Name string
	clientCost
}

func checkCloudTable(t *testing.T, body []byte) {
	rows := dataOf[[]clientTableRow](t, body)
	if rows == nil {
		t.Errorf("no list: %s", body)
	}
	for i, row := range rows {
		if row.Name == "" || !row.isCost() || i > 0 && *row.Cost > *rows[i-1].Cost {
			t.Errorf("row %d: %+v", i, row)
		}
	}
}

func checkCloudTotals(t *testing.T, body []byte) {
	data := dataOf[struct {
		NumResults *int
		Combined   clientTableRow
	}](t, body)
	if data.NumResults == nil || data.Combined.Name != "Totals" || !data.Combined.isCost() {
		t.Errorf("%s", body)
	}
}

// clientCustomCosts are costs of vendors as the page reads them.
type clientCustomCosts struct {
	Window        clientWindow
	TotalCost     *float64
	TotalCostType string
	CustomCosts   []struct {
		Aggregate string
		Cost      float64
		CostType  string `json:"cost_type"`
	}
}

func checkCustomCosts(t *testing.T, data clientCustomCosts) {
	t.Helper()
	checkTimes(t, "custom costs", data.Window.Start, data.Window.End)
	if data.TotalCost == nil || data.TotalCostType == "" || data.CustomCosts == nil {
		t.Fatalf("%+v", data)
	}
	sum := 0.0
	for _, c := range data.CustomCosts {
		sum += c.Cost
		if c.Aggregate == "" || c.CostType == "" {
			t.Errorf("%+v", c)
		}
	}
	if math.Abs(sum-*data.TotalCost) > 1e-9*math.Abs(sum) {
		t.Errorf("rows cost %v, the total is %v", sum, *data.TotalCost)
	}
}

func checkCustomSeries(t *testing.T, body []byte) {
	data := dataOf[struct {
		Window     clientWindow
		Timeseries []clientCustomCosts
	}](t, body)
	checkTimes(t, "series", data.Window.Start, data.Window.End)
	checkSome(t, data.Timeseries)
	for _, set := range data.Timeseries {
		checkCustomCosts(t, set)
	}
}
