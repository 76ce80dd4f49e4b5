package main

import (
	"encoding/json"
	"testing"
)

// needsFourDays is the alert whose metric there is not in the first four days.
const needsFourDays = "PromcostNamespaceUnusual"

// quiet are alerts that must not be active while promcost watches the demo, and why. Others may be, as it goes.
var quiet = map[string]string{
	"PromcostBudgetForecast":       "one budget is never reached, the other is spent already",
	"PromcostCostAnomaly":          "there are no costs of a week ago",
	"PromcostNamespaceCostAnomaly": "there are no costs of a week ago",
	needsFourDays:                  "there are no four days to compare with",
	"PromcostBillLate":             "the bill charges all days that are over",
	"PromcostListPriceDrifts":      "there is no bill of a week ago",
	"PromcostPriceMissing":         "metrics price all nodes",
	"PromcostPriceBuiltIn":         "metrics price all nodes",
	"PromcostDown":                 "it is scraped",
	"PromcostStale":                "the last hour is complete",
	"PromcostBehind":               "it has run for less than an hour",
	"PromcostHistoryFailing":       "nothing fails",
	"PromcostFailing":              "nothing fails",
	"PromcostResidual":             "all nodes are known",
	"PromcostSeriesDropped":        "there are few series",
}

// testRules wants every rule to be evaluated without a fault over metrics that there are, every series to be recorded, and
// no alert on a promcost that is well.
func (w *watched) testRules(t *testing.T) {
	_, body := get(t, w.url+"/api/v1/rules")
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Type, State, Health, LastError, Query string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	rules, seen := 0, 0
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Health != "ok" {
				t.Errorf("%s %s: %s %s", r.Type, r.Name, r.Health, r.LastError)
			}
			for _, name := range w.missing(t, r.Query) {
				if r.Name != needsFourDays || name != "promcost_namespace_unusual_score" {
					t.Errorf("%s %s reads %s, which there is not", r.Type, r.Name, name)
				}
			}
			if r.Type == "recording" {
				checkShown(t, r.Name, w.query(t, r.Name))
			}
			if why := quiet[r.Name]; why != "" {
				seen++
				if r.State != "inactive" {
					t.Errorf("alert %s is %s, though %s", r.Name, r.State, why)
				}
			}
		}
	}
	if rules < 19 || seen != len(quiet) {
		t.Errorf("%d rules are loaded, and %d of the %d alerts that are to be quiet", rules, seen, len(quiet))
	}
}
