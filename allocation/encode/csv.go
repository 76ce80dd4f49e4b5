package encode

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

// csvHeader is Kubecost's.
const csvHeader = "Name,CPU,GPU,RAM,PV,Network,LoadBalancer,External,Shared,Efficiency,Total"

// csvNumbers is how many numbers are in a line under csvHeader.
const csvNumbers = int(allocation.NumSharedKinds) + 2

// CSV writes a set under Kubecost's header: costs including adjustments, with three decimals. Idle comes first, then the other
// rows by descending cost, unless the options' page has another order.
func CSV(w io.Writer, set *allocation.Set, o Options) error {
	if err := o.require(CSVFormat, set); err != nil {
		return err
	}
	return o.writeCSV(w, set, o.linesOf(set))
}

// ToplineCSV writes the total of a set under Kubecost's header.
func ToplineCSV(w io.Writer, set *allocation.Set, o Options) error {
	if err := o.require(CSVFormat, set); err != nil {
		return err
	}
	total := passes.Total(set)
	return o.writeCSV(w, total, []namedRow{{name: "total"}}[:total.Len()])
}

// writeCSV writes rows of a set under Kubecost's header.
func (o *Options) writeCSV(w io.Writer, set *allocation.Set, rows []namedRow) error {
	s := newStream(w)
	s.b = append(s.b, csvHeader+"\n"...)
	rate := o.rate(set.Window, set.Covered)
	for _, r := range rows {
		s.b = appendCell(s.b, r.name)
		for i, v := range costsOf(set, r.row) {
			if i != csvNumbers-2 { // the efficiency
				v *= rate
			}
			s.b = appendThousandths(append(s.b, ','), o.written(v))
		}
		s.b = append(s.b, '\n')
		s.checkpoint()
	}
	return s.close()
}

// appendThousandths appends v with three decimals, or nothing where v is unknown. Zero, the most frequent cost, is written without
// formatting.
func appendThousandths(b []byte, v float64) []byte {
	switch {
	case v == 0:
		return append(b, "0.000"...)
	case math.IsNaN(v):
		return b
	}
	return strconv.AppendFloat(b, v, 'f', 3, 64)
}

// fullColumns are the columns of text before the numbers of FullCSV.
var fullColumns = []struct {
	name     string
	property allocation.Property
	text     func(string) string
}{
	{"cluster", allocation.Cluster, asIs},
	{"node", allocation.NodeName, asIs},
	{"namespace", allocation.Namespace, asIs},
	{"controllerKind", allocation.ControllerKind, asIs},
	{"controller", allocation.Controller, asIs},
	{"pod", allocation.Pod, asIs},
	{"container", allocation.Container, asIs},
	{"providerID", allocation.ProviderID, func(text string) string {
		_, id := allocation.ParseProviderID(text)
		return id
	}},
}

func asIs(text string) string { return text }

// FullCSV writes a set with a column for the name, for each property of one text, for the times, and for each number of the JSON,
// in full precision. The order is that of CSV.
func FullCSV(w io.Writer, set *allocation.Set, o Options) error {
	if err := o.require(FullCSVFormat, set); err != nil {
		return err
	}
	if err := FullCSVHeader(w); err != nil {
		return err
	}
	return FullCSVRows(w, set, o)
}

// FullCSVHeader writes the names of the columns of FullCSVRows.
func FullCSVHeader(w io.Writer) error {
	s := newStream(w)
	s.b = append(s.b, "name"...)
	for _, c := range fullColumns {
		s.b = append(append(s.b, ','), c.name...)
	}
	s.b = append(s.b, ",windowStart,windowEnd,start,end"...)
	for _, f := range fields.All() {
		s.b = append(append(s.b, ','), f.Name...)
	}
	s.b = append(s.b, '\n')
	return s.close()
}

// FullCSVRows writes the rows of a set as FullCSV does, but no header: the rows of further sets can follow.
func FullCSVRows(w io.Writer, set *allocation.Set, o Options) error {
	if err := o.require(FullCSVFormat, set); err != nil {
		return err
	}
	s := newStream(w)
	fields := fields.All()
	rate := o.rate(set.Window, set.Covered)
	for _, r := range o.linesOf(set) {
		s.b = appendCell(s.b, r.name)
		for _, c := range fullColumns {
			s.b = appendCell(append(s.b, ','), c.text(set.Text(c.property, r.row)))
		}
		for _, t := range [...]time.Time{set.Window.Start.In(o.location()), set.Window.End.In(o.location()), set.Start(r.row), set.End(r.row)} {
			s.b = t.AppendFormat(append(s.b, ','), time.RFC3339)
		}
		for i := range fields {
			v := fields[i].Value(set, r.row)
			if fields[i].Unit == "currency" {
				v *= rate
			}
			if s.b = append(s.b, ','); !math.IsNaN(o.written(v)) {
				s.b = strconv.AppendFloat(s.b, o.written(v), 'f', -1, 64)
			}
		}
		s.b = append(s.b, '\n')
		s.checkpoint()
	}
	return s.close()
}

// appendCell appends a field of CSV, in quotes where it needs them.
func appendCell(b []byte, text string) []byte {
	text = formulaSafe(text)
	if !strings.ContainsAny(text, "\",\r\n") && !strings.HasPrefix(text, " ") {
		return append(b, text...)
	}
	return append(append(append(b, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}

// formulaSafe puts an apostrophe before a text that a spreadsheet would run as a formula, as OWASP advises. It leaves numbers as
// they are.
func formulaSafe(text string) string {
	if text == "" || !strings.Contains("=+-@\t\r\n", text[:1]) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// linesOf are the rows of a set on the options' page, or all rows in the order of CSV.
func (o *Options) linesOf(set *allocation.Set) []namedRow {
	if o.Page.IsZero() {
		return byCost(set)
	}
	return o.rows(set)
}

// byCost is the rows of a set, idle first, then by total cost descending, then by name.
func byCost(set *allocation.Set) []namedRow {
	total := make([]float64, set.Len())
	for i := range total {
		total[i] = set.TotalCost(i)
		if set.Special(i) == allocation.Idle {
			total[i] = math.Inf(1)
		}
	}
	rows := namedRows(set)
	slices.SortFunc(rows, func(a, b namedRow) int {
		if x, y := total[a.row], total[b.row]; x != y {
			return cmp.Compare(y, x)
		}
		if x := total[a.row]; math.IsInf(x, 1) {
			if order := cmp.Compare(set.TotalCost(b.row), set.TotalCost(a.row)); order != 0 {
				return order
			}
		}
		return strings.Compare(a.name, b.name)
	})
	return rows
}

// costsOf is the numbers of a row in the order of csvHeader. The costs come in the order of their kinds.
func costsOf(set *allocation.Set, row int) (numbers [csvNumbers]float64) {
	for kind := range allocation.NumSharedKinds {
		for _, c := range kind.Columns() {
			numbers[kind] += set.Value(c, row)
		}
	}
	numbers[csvNumbers-2], numbers[csvNumbers-1] = fields.TotalEfficiency(set, row), set.TotalCost(row)
	return numbers
}
