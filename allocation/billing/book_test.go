package billing_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// at reads a time such as 2026-10-01T05.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02T15", text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// charge is a line of the bill aws for October 2026.
func charge(t *testing.T, sub string, category billing.Category, start, end string, cost float64) billing.Line {
	t.Helper()
	return billing.Line{
		Item: &billing.Item{
			Bill:    "aws",
			Account: billing.Account{ID: "payer", SubID: sub, PeriodStart: at(t, "2026-10-01T00"), PeriodEnd: at(t, "2026-11-01T00"), Currency: "USD"},
			Charge:  billing.Charge{Category: category},
		},
		Start: at(t, start), End: at(t, end),
		Costs: billing.Costs{cost, 2 * cost, cost, 3 * cost}, Known: [billing.NumCosts]bool{true, true, true, true},
		Quantity: 6, PricingQuantity: math.NaN(),
	}
}

// piece is what a test compares of a line.
type piece struct {
	Sub, Start, End string
	Cost, Quantity  float64
}

func read(t *testing.T, b *billing.Book, from, to string) (list []piece) {
	t.Helper()
	err := b.Read(context.Background(), allocation.Window{Start: at(t, from), End: at(t, to)}, func(l *billing.Line) error {
		list = append(list, piece{l.Account.SubID, l.Start.UTC().Format("02T15"), l.End.UTC().Format("02T15"), l.Cost, l.Quantity})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestBookCutsLines(t *testing.T) {
	b := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}}, Zone: time.FixedZone("+02:00", 7200)}, []billing.Line{
		charge(t, "a", billing.Usage, "2026-10-02T20", "2026-10-03T02", 6),
		charge(t, "a", billing.Usage, "2026-10-03T01", "2026-10-03T02", 1),
	})
	for _, c := range []struct {
		name, from, to string
		want           []piece
	}{
		{"both days of the zone", "2026-10-01T00", "2026-11-01T00", []piece{{"a", "02T20", "02T22", 2, 2}, {"a", "02T22", "03T02", 4, 4}, {"a", "03T01", "03T02", 1, 6}}},
		{"one day of the zone", "2026-10-02T22", "2026-10-03T22", []piece{{"a", "02T22", "03T02", 4, 4}, {"a", "03T01", "03T02", 1, 6}}},
		{"an edge within a line", "2026-10-02T21", "2026-10-02T23", []piece{{"a", "02T21", "02T22", 1, 1}, {"a", "02T22", "02T23", 1, 1}}},
		{"no line", "2026-10-04T00", "2026-10-05T00", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(t, b, c.from, c.to)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBookSpreads(t *testing.T) {
	lines := func(category billing.Category) []billing.Line {
		return []billing.Line{
			charge(t, "a", billing.Usage, "2026-10-02T00", "2026-10-02T01", 6),
			charge(t, "a", billing.Usage, "2026-10-02T00", "2026-10-02T01", 2),
			charge(t, "a", billing.Credit, "2026-10-02T00", "2026-10-02T01", -1),
			charge(t, "b", billing.Usage, "2026-10-02T00", "2026-10-02T01", 2),
			charge(t, "a", category, "2026-10-01T00", "2026-10-31T00", 4),
			charge(t, "", category, "2026-10-01T00", "2026-10-31T00", 5),
			charge(t, "c", category, "2026-10-01T00", "2026-10-02T00", 7),
		}
	}
	b := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Include: []billing.Category{billing.Tax}, Rates: billing.Rates{Currency: "USD"}}}, Zone: time.UTC}, lines(billing.Tax))
	// 4 over the 8 of a, 5 over all 10; nobody can take the 7 of c. The bill has it under c, the others first.
	want := []piece{{"a", "02T00", "02T01", 12, 6}, {"a", "02T00", "02T01", 4, 6}, {"a", "02T00", "02T01", -1, 6}, {"b", "02T00", "02T01", 3, 6}, {"c", "01T00", "02T00", 7, 6}}
	if diff := cmp.Diff(want, read(t, b, "2026-10-01T00", "2026-11-01T00")); diff != "" {
		t.Error(diff)
	}
	sum := func(list []piece) (total float64) {
		for _, p := range list {
			total += p.Cost
		}
		return total
	}
	plain := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: billing.Rates{Currency: "USD"}}}, Zone: time.UTC}, lines(billing.Tax))
	if got, want := sum(read(t, b, "2026-10-01T00", "2026-11-01T00")), sum(read(t, plain, "2026-10-01T00", "2026-11-01T00")); math.Abs(got-want) > 1e-9 {
		t.Errorf("the sum is %v with tax spread, %v without", got, want)
	}
}

func TestBookCurrencies(t *testing.T) {
	line := charge(t, "a", billing.Usage, "2026-10-02T00", "2026-10-02T01", 10)
	line.Account.Currency = "EUR"
	for _, c := range []struct {
		name    string
		rates   billing.Rates
		want    []piece
		warning string
	}{
		{"the bill's own", billing.Rates{Currency: "EUR"}, []piece{{"a", "02T00", "02T01", 10, 6}}, ""},
		{"a rate", billing.Rates{Currency: "USD", Always: map[string]float64{"EUR": 1.5}}, []piece{{"a", "02T00", "02T01", 15, 6}}, ""},
		{"a rate of the month", billing.Rates{Currency: "USD", Always: map[string]float64{"EUR": 1.5}, Months: map[string]map[string]float64{"EUR": {"2026-10": 2}}}, []piece{{"a", "02T00", "02T01", 20, 6}}, ""},
		{"none", billing.Rates{Currency: "USD"}, nil, "currency EUR of account payer has no rate for 2026-10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := billing.FromLines(billing.Options{Bills: []billing.Bill{{Name: "aws", Rates: c.rates}}, Zone: time.UTC}, []billing.Line{line})
			if diff := cmp.Diff(c.want, read(t, b, "2026-10-01T00", "2026-11-01T00")); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(b.Warnings(), "\n"); !strings.Contains(got, c.warning) || (c.warning == "") != (got == "") {
				t.Errorf("the warnings are %q, want one with %q", got, c.warning)
			}
		})
	}
}

// TestBookOfTwoBills has two bills that charge one account for the same month, and accounts that are not known.
func TestBookOfTwoBills(t *testing.T) {
	line := func(bill, account string, cost float64) billing.Line {
		l := charge(t, "a", billing.Usage, "2026-10-02T00", "2026-10-02T01", cost)
		l.Bill, l.Account.ID = bill, account
		return l
	}
	usd := billing.Rates{Currency: "USD"}
	for _, tt := range []struct {
		name    string
		bills   []billing.Bill
		lines   []billing.Line
		want    float64
		warning string
	}{
		{
			"the first counts",
			[]billing.Bill{{Name: "z", Rates: usd}, {Name: "a", Rates: usd}},
			[]billing.Line{line("a", "payer", 1), line("z", "payer", 2)},
			2,
			"bill a does not count for account payer and the billing period from 2026-10-01: bill z has that, and is named before it",
		},
		{"other accounts", []billing.Bill{{Name: "z", Rates: usd}, {Name: "a", Rates: usd}}, []billing.Line{line("a", "payer", 1), line("z", "other", 2)}, 3, ""},
		{"accounts that are not known", []billing.Bill{{Name: "z", Rates: usd}, {Name: "a", Rates: usd}}, []billing.Line{line("a", "", 1), line("z", "", 2)}, 3, ""},
		{"the first has another currency", []billing.Bill{{Name: "z", Rates: billing.Rates{Currency: "EUR"}}, {Name: "a", Rates: usd}}, []billing.Line{line("a", "payer", 1), line("z", "payer", 2)}, 1, "bill z does not count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := billing.FromLines(billing.Options{Bills: tt.bills, Zone: time.UTC}, tt.lines)
			if got := total(t, b); got != tt.want {
				t.Errorf("the total is %v, want %v", got, tt.want)
			}
			if got := strings.Join(b.Warnings(), "\n"); !strings.Contains(got, tt.warning) || (tt.warning == "") != (got == "") {
				t.Errorf("the warnings are %q, want one with %q", got, tt.warning)
			}
		})
	}
}

func TestBookReach(t *testing.T) {
	b := billing.FromLines(billing.Options{
		Bills: []billing.Bill{{Name: "aws", Settle: 24 * time.Hour, Rates: billing.Rates{Currency: "USD"}}}, Zone: time.FixedZone("+02:00", 7200), Now: at(t, "2026-10-10T12"),
	}, []billing.Line{
		charge(t, "behind", billing.Usage, "2026-10-02T00", "2026-10-05T23", 1),
		charge(t, "behind", billing.Purchase, "2026-10-01T00", "2026-11-01T00", 1),
		charge(t, "fresh", billing.Usage, "2026-10-10T10", "2026-10-10T11", 1),
		charge(t, "purchases", billing.Purchase, "2026-10-01T00", "2026-10-03T00", 1),
		charge(t, "taxes", billing.Tax, "2026-10-01T00", "2026-11-01T00", 1), // says nothing of until when usage is known
	})
	var got [][3]string
	for _, r := range b.Reach() {
		got = append(got, [3]string{r.SubAccount, r.Charged.UTC().Format("02T15"), r.Until.UTC().Format("02T15")})
	}
	want := [][3]string{{"behind", "05T23", "05T22"}, {"fresh", "10T11", "08T22"}, {"purchases", "03T00", "02T22"}, {"taxes", "10T11", "08T22"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
