package main

import (
	"encoding/json"
	"testing"
)

// TestBudgetVerdict: a budget of which nothing is known is not on track, and one that is spent is more than forecast to be.
func TestBudgetVerdict(t *testing.T) {
	const (
		fine    = `{"name":"fine","amount":100,"spent":10,"forecast":50}`
		over    = `{"name":"over","amount":100,"spent":10,"forecast":150}`
		spent   = `{"name":"spent","amount":100,"spent":110,"forecast":150}`
		unknown = `{"name":"new","amount":100}`
	)
	for _, tt := range []struct{ name, data, want string }{
		{"fine", fine, "All budgets are on track."},
		{"over", fine + "," + over, "Over budget by the end of its period: over."},
		{"spent without a forecast", `{"name":"spent","amount":100,"spent":110}`, "Spent already: spent."},
		{"no forecast", `{"name":"new","amount":100,"spent":10}`, "Not known yet: new."},
		{"all", fine + "," + over + "," + spent + "," + unknown, "Spent already: spent. Over budget by the end of its period: over. Not known yet: new."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var answer budgetAnswer
			if err := json.Unmarshal([]byte(`{"data":[`+tt.data+`]}`), &answer); err != nil {
				t.Fatal(err)
			}
			if got := answer.verdict(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
