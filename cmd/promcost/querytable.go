package main

import (
	"fmt"
	"io"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// tableOptions say how answers are printed.
type tableOptions struct {
	limit    int
	currency string
	billed   map[string]float64 // costs by bill, shown in place of those of a month; nil for none
	layout   texttable.Layout
}

// printTables writes the answer's sets as tables to standard output, with their costs of a month at the rate of the hours that have data.
func printTables(io streams, answer *reply, o tableOptions) error {
	sets, err := answer.sets()
	if err != nil {
		return err
	}
	for i, set := range sets {
		if i > 0 {
			fmt.Fprintln(io.out)
		}
		if set.Len() == 0 {
			fmt.Fprintln(io.out, "no allocations")
			continue
		}
		covered := answer.coverage(i, set.Window, time.Now())
		if err := o.head(io.out, set.Window, answer.Resolution, answer, &covered); err != nil {
			return err
		}
		rate := 0.0
		if o.billed == nil {
			rate = covered.Factor(coverage.MonthHours)
		}
		if err := encode.Table(io.out, set, encode.TableOptions{Limit: o.limit, Monthly: rate, Billed: o.billed, Layout: o.layout}); err != nil {
			return err
		}
	}
	return nil
}

// times is how tables write times.
const times = "2006-01-02 15:04 MST"

// head writes what a table is of: its window, how it was sampled, and which costs it has.
func (o *tableOptions) head(out io.Writer, w allocation.Window, resolution string, answer *reply, covered *coverage.Coverage) error {
	text := w.Start.Format(times) + " to " + w.End.Format(times)
	if resolution != "" {
		text += ", resolution " + resolution
	}
	text = fmt.Sprintf("%s, costs in %s %s", text, o.currency, o.note(answer, covered))
	return writeLine(out, texttable.Wrap(visible.Text(text), o.layout.Width)+"\n")
}

// pricesText says what costs are: as bills correct them until a time, or at list prices without one.
func pricesText(until *time.Time) string {
	if until == nil {
		return "at list prices"
	}
	return "as bills correct them until " + until.UTC().Format(times)
}

// note says which costs the columns have, and what those of a month are.
func (o *tableOptions) note(answer *reply, covered *coverage.Coverage) string {
	kind := pricesText(answer.BilledUntil)
	if o.billed != nil {
		return pricesText(nil) + " but BILLED"
	}
	if covered.Hours > 0 && !covered.Whole() {
		return kind + ", monthly ones of 730 hours at the rate of those with data: " + covered.Text()
	}
	return kind + ", monthly ones of 730 hours at that rate"
}
