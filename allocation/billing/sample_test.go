package billing_test

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

// serviceTotal are sums of the sample by account, service and month of the charge.
type serviceTotal struct {
	Account   string  `json:"account"`
	Sub       string  `json:"sub"`
	Service   string  `json:"service"`
	Month     string  `json:"month"`
	Lines     int     `json:"lines"`
	Effective float64 `json:"effective"`
	Billed    float64 `json:"billed"`
	List      float64 `json:"list"`
	Quantity  float64 `json:"quantity"` // of known ones
}

func (s serviceTotal) key() string { return s.Account + "|" + s.Sub + "|" + s.Service + "|" + s.Month }

// sample is the book of the FOCUS sample.
func sample(t *testing.T) *billing.Book {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/focus_sample.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "focus_sample.csv.gz", string(data), 0)
	return look(t, newIntake(bucketOf(t, dir)))
}

// sums are the totals of a book. A line counts in the month that it starts in; no line of the sample crosses a month.
func sums(t *testing.T, b *billing.Book) []serviceTotal {
	t.Helper()
	of := map[string]*serviceTotal{}
	err := b.Read(t.Context(), always, func(l *billing.Line) error {
		s := serviceTotal{Account: l.Account.ID, Sub: l.Account.SubID, Service: l.Service.Name, Month: l.Start.UTC().Format("2006-01")}
		if of[s.key()] == nil {
			of[s.key()] = &s
		}
		to := of[s.key()]
		to.Effective += l.Costs[billing.Effective]
		to.Billed += l.Costs[billing.Billed]
		to.List += l.Costs[billing.List]
		if !math.IsNaN(l.Quantity) {
			to.Quantity += l.Quantity
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []serviceTotal
	for _, s := range of {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b serviceTotal) int { return cmp.Compare(a.key(), b.key()) })
	return list
}

// compareTotals compares totals with those of DuckDB. Lines that are cut at days are several pieces, so lines are not compared.
func compareTotals(t *testing.T, got, want []serviceTotal) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d totals, DuckDB has %d", len(got), len(want))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.key() != w.key() || !near(g.Effective, w.Effective) || !near(g.Billed, w.Billed) || !near(g.List, w.List) || !near(g.Quantity, w.Quantity) {
			t.Errorf("total %d is %+v, DuckDB has %+v", i, g, w)
		}
	}
}

func TestSampleTotals(t *testing.T) {
	text, err := os.ReadFile("testdata/focus_sample_totals.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []serviceTotal
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	b := sample(t)
	compareTotals(t, sums(t, b), want)
	lines := int64(0)
	for _, s := range b.Statements() {
		lines += s.Lines
	}
	if len(b.Warnings()) > 0 || len(b.Statements()) != 4 || lines != 1000 {
		t.Errorf("there are %d statements with %d lines and warnings %q, want 4 with 1000 and none", len(b.Statements()), lines, b.Warnings())
	}
}

// TestSampleOddities are what the sample has that others do not expect.
func TestSampleOddities(t *testing.T) {
	b := sample(t)
	var lines []billing.Line
	if err := b.Read(t.Context(), always, func(l *billing.Line) error { lines = append(lines, *l); return nil }); err != nil {
		t.Fatal(err)
	}
	count := func(f func(*billing.Line) bool) (n int) {
		for i := range lines {
			if f(&lines[i]) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		f    func(*billing.Line) bool
		want int
	}{
		{"NULL is no text", func(l *billing.Line) bool {
			return l.Resource.Zone == "NULL" || l.Charge.Class == "NULL" || l.Resource.ID == "NULL" || l.Tags.Get("NULL") != ""
		}, 0},
		{"tags are read", func(l *billing.Line) bool { return l.Tags.Get("business_unit") == "ViennaAI" }, 6},
		{"effective costs are 0 where billed ones are not", func(l *billing.Line) bool { return l.Costs[billing.Effective] == 0 && l.Costs[billing.Billed] != 0 }, 610},
		{"data transfer names nodes", func(l *billing.Line) bool {
			return len(l.Resource.ID) > 2 && l.Resource.ID[:2] == "i-" && l.Charge.ConsumedUnit == "GB"
		}, 256},
		{"a scale set", func(l *billing.Line) bool { return l.Resource.Type == "Virtual machine scale set" }, 1},
		{"providers have short names", func(l *billing.Line) bool {
			return !slices.Contains([]string{"AWS", "Azure", "Oracle"}, l.Account.Provider)
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := count(c.f); got != c.want {
				t.Errorf("%d lines, want %d", got, c.want)
			}
		})
	}
	t.Run("times without a zone are UTC", func(t *testing.T) {
		if got := b.Statements()[1].Charged; !got.Start.Equal(time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC)) || !got.End.Equal(time.Date(2024, 10, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("the second statement is of %v to %v", got.Start, got.End)
		}
	})
	t.Run("a charge outside of its billing period counts when it was", func(t *testing.T) {
		var got []allocation.Window
		for i := range lines {
			if l := &lines[i]; l.Start.Before(l.Account.PeriodStart) {
				got = append(got, allocation.Window{Start: l.Start, End: l.End})
			}
		}
		at := time.Date(2024, 9, 30, 22, 0, 0, 0, time.UTC)
		if len(got) != 1 || !got[0].Start.Equal(at) || !got[0].End.Equal(at.Add(time.Hour)) {
			t.Errorf("such charges are of %v, want one hour from %v", got, at)
		}
	})
}
