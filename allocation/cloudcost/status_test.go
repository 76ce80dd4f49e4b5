package cloudcost_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/cloudcost"
)

// TestStatus describes a bill that is fine, one of which something does not count, and one in a currency without a rate.
func TestStatus(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	statement := func(bill, currency string) billing.Statement {
		start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		return billing.Statement{Key: billing.Key{Bill: bill, Account: "payer", Start: start}, Delivered: at.Add(-3 * time.Hour), Totals: []billing.Total{{Provider: "AWS", Currency: currency}}}
	}
	book := billing.NewBook(billing.Options{
		Bills: []billing.Bill{{Name: "fine", Rates: billing.Rates{Currency: "USD"}}, {Name: "half", Rates: billing.Rates{Currency: "USD"}}, {Name: "foreign", Rates: billing.Rates{Currency: "USD"}}, {Name: "none"}},
		Zone:  time.UTC, Now: at, Looks: billing.Looks{Last: at.Add(-time.Minute), Every: time.Hour, Count: 7},
	}, "", []billing.Statement{statement("fine", "USD"), statement("half", "USD"), statement("foreign", "EUR")}, []string{"bill half: a.csv: row 3: odd: nothing of this delivery counts", "bills are many"}, nil)
	text, err := json.Marshal(cloudcost.StatusOf(book))
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Key, LastRun, NextRun, RefreshRate, ConnectionStatus string
		Valid                                                bool
		Runs                                                 int
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	problems := map[string]string{}
	for _, s := range got {
		if s.LastRun != "2026-11-20T11:59:00Z" || s.NextRun != "2026-11-20T12:59:00Z" || s.RefreshRate != "1h0m0s" || s.Runs != 7 || s.Valid != (s.Key == "fine") {
			t.Errorf("got %+v", s)
		}
		problems[s.Key] = s.ConnectionStatus
	}
	if diff := cmp.Diff(map[string]string{
		"fine": "Successful Connection", "half": "a.csv: row 3: odd: nothing of this delivery counts", "none": "no files were found",
		"foreign": "it does not count for the billing period from 2026-11-01: currency EUR of account payer has no rate for 2026-11: add exchangeRates: {EUR: RATE}, units of USD for 1 EUR",
	}, problems); diff != "" {
		t.Error(diff)
	}
}
