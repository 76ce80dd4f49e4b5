// Package report writes what a window cost, why that changed, and what to do about it: as Markdown, as a page of HTML that needs nothing
// else, and as messages of chats.
package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Report is what is reported. Amounts are in Currency. What is not known is left out.
type Report struct {
	Title            string
	Window, Baseline Window
	By               string // the field of rows
	Currency         string
	Prices           string // what the costs are: at list prices, or as bills correct them
	NotComparable    string // why the windows cannot be compared, or empty
	Total            Row
	Movers           []Row // those that changed most, first
	Unusual          []Unusual
	Budgets          []Budget
	Savings          *Savings
	Quality          Quality
	URL              string // of the page that shows it, or empty
}

// Window is a time.
type Window struct{ Start, End time.Time }

// Row is what costs, before and after, and why that changed.
type Row struct {
	Name, Owner   string
	Before, After float64
	Causes        []Cause // the largest first
}

// Change is by how much the cost changed.
func (r *Row) Change() float64 { return r.After - r.Before }

// Cause is a reason, in words, and what it is worth.
type Cause struct {
	Title  string
	Amount float64
}

// Unusual is a day on which something cost more or less than was expected.
type Unusual struct {
	Name           string
	Day            Window
	Cost, Expected float64
}

// Budget is how a budget stands.
type Budget struct {
	Name, Period    string
	Prices          string // list or billed
	Amount          float64
	Spent, Forecast *float64
}

// Over reports whether it will be exceeded.
func (b *Budget) Over() bool { return b.Forecast != nil && *b.Forecast > b.Amount }

// Savings is what smaller requests would save a month, what larger ones would cost more where usage is above requests, and of which containers
// most is saved. Prices says what the amounts are, as in Report.
type Savings struct {
	Monthly float64
	More    float64
	Prices  string
	Largest []Saving
}

// Saving is a container, what to request, and what that saves a month.
type Saving struct {
	Name, CPU, Memory string
	Monthly           float64
}

// Quality says how much of the window has data, and what answers warn of.
type Quality struct {
	CoveredHours, WindowHours float64
	Warnings                  []string
}

// text is a window in words.
func (w Window) text() string {
	const date, minute = "2006-01-02", "2006-01-02 15:04"
	whole := func(t time.Time) bool { return t.Hour() == 0 && t.Minute() == 0 }
	if !whole(w.Start) || !whole(w.End) {
		return w.Start.Format(minute) + " to " + w.End.Format(minute+" MST")
	}
	last := w.End.AddDate(0, 0, -1)
	if last.Equal(w.Start) {
		return w.Start.Format(date)
	}
	return w.Start.Format(date) + " to " + last.Format(date)
}

// money is an amount.
func money(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// cents is an amount as it is shown.
func cents(v float64) float64 { return math.Round(v*100) / 100 }

// signed is a change.
func signed(v float64) string { return fmt.Sprintf("%+.2f", v) }

// headline is the total and its change in a sentence.
func (r *Report) headline() string {
	text := fmt.Sprintf("%s %s %s", money(r.Total.After), r.Currency, r.Prices)
	switch {
	case r.NotComparable != "":
		return text + ", not comparable with before: " + r.NotComparable
	case r.Total.Before <= 0:
		return text + ", nothing before"
	}
	return fmt.Sprintf("%s, %s (%+.1f %%) against %s", text, signed(r.Total.Change()), 100*r.Total.Change()/r.Total.Before, r.Baseline.text())
}

// causes are the largest causes in words.
func (r *Row) causes() string {
	const most, least = 3, 0.005 // the latter rounds to nothing
	var words []string
	others := cents(r.Change())
	for _, c := range r.Causes[:min(most, len(r.Causes))] {
		words, others = append(words, c.Title+" "+signed(c.Amount)), others-cents(c.Amount)
	}
	if len(r.Causes) > most && math.Abs(others) >= least {
		words = append(words, "others "+signed(others))
	}
	return cmp.Or(strings.Join(words, ", "), "–")
}

// word says how an unusual day was.
func (u *Unusual) word() string {
	if u.Cost > u.Expected {
		return "more than usual"
	}
	return "less than usual"
}

// parts of the budget, as text.
func (b *Budget) spent() string    { return known(b.Spent) }
func (b *Budget) forecast() string { return known(b.Forecast) }

func known(v *float64) string {
	if v == nil {
		return "–"
	}
	return money(*v)
}

// covered says how much of the window has data, "" if all of it has.
func (q *Quality) covered() string {
	if q.WindowHours <= 0 || math.Abs(q.WindowHours-q.CoveredHours) < 0.05 {
		return ""
	}
	return fmt.Sprintf("%.3g of %.3g hours have data", q.CoveredHours, q.WindowHours)
}
