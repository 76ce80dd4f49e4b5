package report

import "strings"

// table is a section of a report: a heading, columns and rows, or a sentence.
type table struct {
	Heading, Note string
	Columns       []column
	Rows          [][]string
}

// IsList reports whether it is no table, but a list of sentences.
func (t table) IsList() bool { return len(t.Columns) == 1 }

// column is a column of a table.
type column struct {
	Name   string
	Number bool
}

// tables are the sections of the report that have something in them, in their order.
func (r *Report) tables() []table {
	var list []table
	add := func(t table) {
		if len(t.Rows) > 0 || t.Note != "" {
			list = append(list, t)
		}
	}
	if r.NotComparable == "" {
		causes := table{Heading: causesHeading, Columns: []column{{"Cause", false}, {"Change", true}}}
		for _, c := range r.Total.Causes {
			causes.Rows = append(causes.Rows, []string{c.Title, signed(c.Amount)})
		}
		add(causes)
		movers := table{Heading: "What changed most, by " + r.By, Columns: []column{{r.By, false}, {"Owner", false}, {"Before", true}, {"After", true}, {"Change", true}, {"Why", false}}}
		for i := range r.Movers {
			m := &r.Movers[i]
			movers.Rows = append(movers.Rows, []string{m.Name, m.Owner, money(m.Before), money(m.After), signed(m.Change()), m.causes()})
		}
		add(movers.withoutEmpty())
	}
	unusual := table{Heading: "Unusual days", Columns: []column{{"Day", false}, {r.By, false}, {"Cost", true}, {"Expected", true}, {"", false}}}
	for _, u := range r.Unusual {
		unusual.Rows = append(unusual.Rows, []string{u.Day.text(), u.Name, money(u.Cost), money(u.Expected), u.word()})
	}
	add(unusual)
	budgets := table{Heading: "Budgets", Columns: []column{{"Budget", false}, {"Period", false}, {"Prices", false}, {"Amount", true}, {"Spent", true}, {"Forecast", true}, {"", false}}}
	for _, b := range r.Budgets {
		over := ""
		if b.Over() {
			over = "over budget"
		}
		budgets.Rows = append(budgets.Rows, []string{b.Name, b.Period, b.Prices, money(b.Amount), b.spent(), b.forecast(), over})
	}
	add(budgets)
	if s := r.Savings; s != nil {
		saving := table{
			Heading: "What to save", Note: s.text(r.Currency),
			Columns: []column{{"Container", false}, {"CPU", true}, {"Memory", true}, {"Saves a month", true}},
		}
		for _, x := range s.Largest {
			saving.Rows = append(saving.Rows, []string{x.Name, x.CPU, x.Memory, money(x.Monthly)})
		}
		add(saving)
	}
	quality := table{Heading: "How good the data are", Columns: []column{{"Warning", false}}, Note: r.Quality.covered()}
	for _, w := range r.Quality.Warnings {
		quality.Rows = append(quality.Rows, []string{w})
	}
	add(quality)
	return list
}

// text is what would be saved, and what would cost more, in a sentence.
func (s *Savings) text(currency string) string {
	text := "Smaller requests would save " + money(s.Monthly) + " " + currency + " a month " + s.Prices + ", once nodes shrink."
	if s.More > 0 {
		text += " Where usage is above requests, larger ones would cost " + money(s.More) + " " + currency + " a month more."
	}
	return text
}

// withoutEmpty is the table without columns of texts in which no row has one.
func (t table) withoutEmpty() table {
	out := table{Heading: t.Heading, Note: t.Note, Rows: make([][]string, len(t.Rows))}
	for i, c := range t.Columns {
		empty := true
		for _, row := range t.Rows {
			empty = empty && strings.TrimSpace(row[i]) == ""
		}
		if empty && len(t.Rows) > 0 {
			continue
		}
		out.Columns = append(out.Columns, c)
		for k, row := range t.Rows {
			out.Rows[k] = append(out.Rows[k], row[i])
		}
	}
	return out
}
