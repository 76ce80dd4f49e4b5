package encode

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/visible"
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
}

// Table writes a set for people: a line for each row, the most expensive first, then the total of all. Cores and memory are
// averages while the row runs; the total averages over the time from the first start to the last end. Memory is in GiB (2^30
// bytes). The column of other costs, shared and external ones, is left out if there are none.
func Table(w io.Writer, set *allocation.Set, o TableOptions) error {
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
	lines := [][]string{o.header()}
	for _, r := range rows {
		billed, ok := o.Billed[r.name]
		lines = append(lines, o.line(set, cmp.Or(visible.Text(r.name), "(all)"), r.row, decimals, known(billed, ok)))
	}
	if hidden > 0 {
		lines = append(lines, []string{"… and " + strconv.Itoa(hidden) + " more"})
	}
	if total.Len() > 0 {
		billed := 0.0
		for _, name := range slices.Sorted(maps.Keys(o.Billed)) {
			billed += o.Billed[name]
		}
		lines = append(lines, o.line(total, "TOTAL", 0, decimals, billed))
	}
	if total.Len() == 0 || total.Value(allocation.SharedCost, 0)+total.Value(allocation.ExternalCost, 0) == 0 {
		for i, cells := range lines {
			if len(cells) > otherCell {
				lines[i] = slices.Delete(cells, otherCell, otherCell+1)
			}
		}
	}
	s := newStream(w)
	writeAligned(s, lines)
	return s.close()
}

// otherCell is the index of shared and external costs in a line.
const otherCell = 9

func (o *TableOptions) header() []string {
	unit := ""
	if o.Currency != "" {
		unit = " " + o.Currency
	}
	cells := []string{"NAME", "CPU CORES", "CPU" + unit, "RAM GiB", "RAM" + unit, "GPU" + unit, "DISK" + unit, "NETWORK" + unit, "LB" + unit, "OTHER" + unit, "TOTAL" + unit}
	if o.Billed != nil {
		cells = append(cells, "BILLED"+unit)
	}
	if o.Monthly != 0 {
		cells = append(cells, "MONTHLY"+unit)
	}
	return append(cells, "EFFICIENCY")
}

// known is a value, NaN if it is not known.
func known(v float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}

// line is the cells of a row.
func (o *TableOptions) line(set *allocation.Set, name string, row, decimals int, billed float64) []string {
	average := func(r allocation.Resource) string {
		minutes := set.Minutes(row)
		if minutes <= 0 {
			return "0.000"
		}
		amount := set.Value(allocation.Hours.Of(r), row) / (minutes / 60) / r.PerPriceUnit()
		return strconv.FormatFloat(amount, 'f', 3, 64)
	}
	cost := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	costs := costsOf(set, row)
	cells := []string{
		name,
		average(allocation.CPU), cost(costs[0]),
		average(allocation.RAM), cost(costs[2]),
		cost(costs[1]), cost(costs[3]), cost(costs[4]), cost(costs[5]), cost(costs[6] + costs[7]),
		cost(set.TotalCost(row)),
	}
	if o.Billed != nil {
		cell := "–"
		if !math.IsNaN(billed) {
			cell = cost(billed)
		}
		cells = append(cells, cell)
	}
	if o.Monthly != 0 {
		cells = append(cells, strconv.FormatFloat(set.TotalCost(row)*o.Monthly, 'f', 2, 64))
	}
	return append(cells, percent(fields.TotalEfficiency(set, row)))
}

// percent is a ratio in percent, – where it is not known.
func percent(ratio float64) string {
	if math.IsNaN(ratio) {
		return "–"
	}
	return strconv.FormatFloat(100*ratio, 'f', 1, 64) + "%"
}

// writeAligned writes lines of cells: the first left, the others right in their columns.
func writeAligned(s *stream, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		for i, cell := range cells {
			pad := widths[i] - utf8.RuneCountInString(cell)
			if i > 0 {
				pad += 2
				s.b = append(s.b, spaces(pad)...)
			}
			s.b = append(s.b, cell...)
			if i == 0 && len(cells) > 1 {
				s.b = append(s.b, spaces(pad)...)
			}
		}
		s.b = append(s.b, '\n')
		s.checkpoint()
	}
}

func spaces(n int) []byte { return slices.Repeat([]byte{' '}, n) }
