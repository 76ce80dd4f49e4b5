package encode

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/texttable"
)

// TableOptions say how a table is written.
type TableOptions struct {
	// Currency is named in the header of costs, e.g. USD; empty names none.
	Currency string
	// Monthly is the factor from a cost to the cost of a month at the same rate; 0 leaves the column out.
	Monthly float64
	// Billed are the costs of rows by bill, by name, beside list costs; nil leaves the column out. A row without such a cost has a dash.
	Billed map[string]float64
	// Limit is the number of rows shown, 0 all of them. The total is of all rows in any case.
	Limit int
	// Layout is how wide the table may be. Without room for all costs, REST is what is neither of CPU, RAM nor GPUs.
	Layout texttable.Layout
}

// Table writes a set for people: a line for each row, the most expensive first, then the total of all. Cores and memory are
// averages while the row runs; the total averages over the time from the first start to the last end. Memory is in GiB (2^30
// bytes). Columns in which all rows have nothing are left out.
func Table(w io.Writer, set *allocation.Set, o TableOptions) error {
	t := o.table(set, false)
	if !t.Fits(o.Layout) {
		t = o.table(set, true)
	}
	return t.Write(w, o.Layout)
}

// table is the rows of a set; summed has fewer columns of costs.
func (o *TableOptions) table(set *allocation.Set, summed bool) *texttable.Table {
	rows := byCost(set)
	slices.SortStableFunc(rows, func(a, b namedRow) int {
		return cmp.Compare(set.TotalCost(b.row), set.TotalCost(a.row))
	})
	total := passes.Total(set)
	decimals := 4
	if total.Len() > 0 && total.TotalCost(0) >= 100 {
		decimals = 2
	}
	hidden := 0
	if o.Limit > 0 && len(rows) > o.Limit {
		rows, hidden = rows[:o.Limit], len(rows)-o.Limit
	}
	columns := o.columns(summed, decimals)
	t := &texttable.Table{}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	line := func(set *allocation.Set, name string, row int, billed float64) {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(tableRow{set, name, row, billed})
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, r := range rows {
		billed, ok := o.Billed[r.name]
		line(set, cmp.Or(r.name, "(all)"), r.row, known(billed, ok))
	}
	if hidden > 0 {
		t.Rows = append(t.Rows, []string{"… and " + strconv.Itoa(hidden) + " more"})
	}
	if total.Len() > 0 {
		billed := 0.0
		for _, name := range slices.Sorted(maps.Keys(o.Billed)) {
			billed += o.Billed[name]
		}
		line(total, "TOTAL", 0, billed)
	}
	return t
}

// tableRow is a row of a set, and what it costs by bill.
type tableRow struct {
	set    *allocation.Set
	name   string
	row    int
	billed float64
}

// tableColumn is a column and what a row has in it.
type tableColumn struct {
	texttable.Column
	cell func(r tableRow) string
}

// columns are those of the table. The ones that matter least leave a narrow one first.
func (o *TableOptions) columns(summed bool, decimals int) []tableColumn {
	unit := ""
	if o.Currency != "" {
		unit = " " + o.Currency
	}
	money := func(v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	average := func(name string, of allocation.Resource) tableColumn {
		return tableColumn{texttable.Column{Name: name, Right: true, Rank: 4}, func(r tableRow) string { return averageOf(r.set, r.row, of) }}
	}
	cost := func(name string, spare bool, of ...int) tableColumn {
		return tableColumn{texttable.Column{Name: name + unit, Right: true, Spare: spare}, func(r tableRow) string {
			costs, sum := costsOf(r.set, r.row), 0.0
			for _, i := range of {
				sum += costs[i]
			}
			return money(sum)
		}}
	}
	out := []tableColumn{
		{texttable.Column{Name: "NAME", Long: texttable.Cut}, func(r tableRow) string { return r.name }},
		average("CPU CORES", allocation.CPU), cost("CPU", false, 0), average("RAM GiB", allocation.RAM), cost("RAM", false, 2), cost("GPU", true, 1),
	}
	if summed {
		out = append(out, cost("REST", true, 3, 4, 5, 6, 7))
	} else {
		out = append(out, cost("DISK", true, 3), cost("NETWORK", true, 4), cost("LB", true, 5), cost("OTHER", true, 6, 7))
	}
	out = append(out, tableColumn{texttable.Column{Name: "TOTAL" + unit, Right: true}, func(r tableRow) string { return money(r.set.TotalCost(r.row)) }})
	if o.Billed != nil {
		out = append(out, tableColumn{texttable.Column{Name: "BILLED" + unit, Right: true}, func(r tableRow) string { return money(r.billed) }})
	}
	if o.Monthly != 0 {
		out = append(out, tableColumn{texttable.Column{Name: "MONTHLY" + unit, Right: true, Rank: 1}, func(r tableRow) string {
			return strconv.FormatFloat(r.set.TotalCost(r.row)*o.Monthly, 'f', 2, 64)
		}})
	}
	return append(out, tableColumn{texttable.Column{Name: "EFFICIENCY", Right: true, Rank: 2}, func(r tableRow) string { return percent(fields.TotalEfficiency(r.set, r.row)) }})
}

// known is a value, NaN if it is not known.
func known(v float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}

// averageOf is how much of a resource a row has on average, in cores or GiB.
func averageOf(set *allocation.Set, row int, of allocation.Resource) string {
	minutes := set.Minutes(row)
	if minutes <= 0 {
		return "0.000"
	}
	return strconv.FormatFloat(set.Value(allocation.Hours.Of(of), row)/(minutes/60)/of.PerPriceUnit(), 'f', 3, 64)
}

// percent is a ratio in percent, – where it is not known.
func percent(ratio float64) string {
	if math.IsNaN(ratio) {
		return "–"
	}
	return strconv.FormatFloat(100*ratio, 'f', 1, 64) + "%"
}
