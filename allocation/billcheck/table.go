package billcheck

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// shown is how many rows of a list a table has.
const shown = 20

// WriteTable writes a report for people.
func WriteTable(w io.Writer, r *Report, zone *time.Location, layout texttable.Layout) error {
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.In(zone).Format(time.RFC3339)
	}
	t := &tables{layout: layout}
	t.add(r.bills(clock))
	t.add(r.deliveries(clock))
	if r.Start.Before(r.End) {
		t.say("From " + clock(r.Start) + " to " + clock(r.End) + ":")
		t.add(r.kinds())
	}
	t.add(r.nodes())
	t.add(r.unbilled())
	if r.TakenOffCost != 0 {
		t.say("No line charges the own disks of billed nodes: their list cost of " + money(r.TakenOffCost) + " is taken off, as bills have them as volumes.")
	}
	t.add(r.unmatched())
	_, err := io.WriteString(w, t.text.String())
	return errors.Join(t.err, err)
}

// tables are tables and lines with an empty line between them.
type tables struct {
	text   strings.Builder
	layout texttable.Layout
	err    error
}

// add adds a table that has rows.
func (t *tables) add(table texttable.Table) {
	if len(table.Rows) > 0 {
		t.separate()
		t.err = errors.Join(t.err, table.Write(&t.text, t.layout))
	}
}

// say adds a line.
func (t *tables) say(line string) {
	t.separate()
	t.text.WriteString(texttable.Wrap(visible.Text(line), t.layout.Width) + "\n")
}

func (t *tables) separate() {
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
}

func (r *Report) bills(clock func(time.Time) string) texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "BILL", Long: texttable.Cut},
		{Name: "ACCOUNT", Long: texttable.Cut},
		{Name: "SUBACCOUNT", Rank: 2, Long: texttable.Cut},
		{Name: "LINES", Right: true, Rank: 1},
		{Name: "DELIVERED", Rank: 4},
		{Name: "CHARGED UNTIL", Rank: 3},
		{Name: "FINAL UNTIL"},
	}}
	for _, bill := range r.Bills {
		lines, delivered := strconv.FormatInt(bill.Lines, 10), clock(bill.Delivered)
		if len(bill.Accounts) == 0 {
			t.Rows = append(t.Rows, []string{bill.Name, "-", "-", lines, delivered, "-", "-"})
		}
		for _, a := range bill.Accounts {
			t.Rows = append(t.Rows, []string{bill.Name, dash(a.Account), dash(a.SubAccount), lines, delivered, clock(a.Charged), clock(a.Until)})
		}
	}
	return t
}

// kinds are what the lines of the window are of.
func (r *Report) kinds() texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{{Name: "LINES OF"}, {Name: "LINES", Right: true}, {Name: "COST", Right: true}, {Name: "SHARE", Right: true}}}
	for _, k := range r.Kinds {
		t.Rows = append(t.Rows, []string{k.Kind, strconv.FormatInt(k.Lines, 10), money(k.Cost), percent(k.Share)})
	}
	return t
}

// deliveries are the newest deliveries, and those whose place another one took.
func (r *Report) deliveries(clock func(time.Time) string) texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "DELIVERY", Long: texttable.Cut},
		{Name: "BILL", Long: texttable.Cut},
		{Name: "FILES", Right: true, Rank: 3},
		{Name: "CHARGED FROM", Rank: 4},
		{Name: "UNTIL", Rank: 1},
		{Name: "LINES", Right: true, Rank: 2},
		{Name: "COST", Right: true},
		{Name: "IN PLACE OF", Rank: 5, Long: texttable.Wrapped},
	}}
	hidden := max(0, len(r.Deliveries)-shown)
	for i := range r.Deliveries[hidden:] {
		d := &r.Deliveries[hidden+i]
		files := dash("")
		if d.Files > 0 {
			files = strconv.Itoa(d.Files)
		}
		var replaced []string
		for _, o := range d.Replaced {
			replaced = append(replaced, fmt.Sprintf("%s (%d lines, %s)", o.Delivery, o.Lines, moneys(o.Costs)))
		}
		t.Rows = append(t.Rows, []string{d.Name, d.Bill, files, clock(d.Charged.Start), clock(d.Charged.End), strconv.FormatInt(d.Lines, 10), moneys(d.Costs), dash(strings.Join(replaced, ", "))})
	}
	if hidden > 0 {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("and %d older ones", hidden)})
	}
	return t
}

// moneys writes costs with their currencies.
func moneys(costs map[string]float64) string {
	var parts []string
	for _, currency := range sortedKeys(costs) {
		parts = append(parts, money(costs[currency])+" "+currency)
	}
	return cmp.Or(strings.Join(parts, " + "), "0")
}

func (r *Report) nodes() texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "CLUSTER", Long: texttable.Cut}, {Name: "NODE TYPE", Long: texttable.Cut}, {Name: "SPOT"}, {Name: "LIST", Right: true}, {Name: "BILLED", Right: true}, {Name: "BILLED/LIST", Right: true},
	}}
	for _, n := range r.Nodes {
		part := "-"
		if n.List != 0 {
			part = fmt.Sprintf("%.1f %%", 100*n.Billed/n.List)
		}
		t.Rows = append(t.Rows, []string{n.Cluster, dash(n.InstanceType), strconv.FormatBool(n.Spot), money(n.List), money(n.Billed), part})
	}
	return t
}

func (r *Report) unbilled() texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "NO LINE CHARGES"}, {Name: "CLUSTER", Rank: 1, Long: texttable.Cut}, {Name: "NAME", Long: texttable.Cut}, {Name: "DAYS", Right: true}, {Name: "LIST", Right: true}, {Name: "REMEDY", Long: texttable.Wrapped},
	}}
	if len(r.Unbilled) == 0 {
		return t
	}
	for _, u := range r.Unbilled[:min(shown, len(r.Unbilled))] {
		t.Rows = append(t.Rows, []string{u.Kind, u.Cluster, dash(u.Name), strconv.Itoa(u.Days), money(u.Cost), u.Remedy})
	}
	t.Rows = append(t.Rows, []string{"all of them", "", "", "", money(r.UnbilledCost), ""})
	return t
}

func (r *Report) unmatched() texttable.Table {
	t := texttable.Table{Columns: []texttable.Column{
		{Name: "MATCHES NOTHING", Long: texttable.Cut},
		{Name: "SERVICE", Rank: 2, Long: texttable.Cut},
		{Name: "BILL", Rank: 1, Long: texttable.Cut},
		{Name: "LINES", Right: true},
		{Name: "COST", Right: true},
		{Name: "BUT", Long: texttable.Wrapped},
		{Name: "REMEDY", Rank: 3, Long: texttable.Wrapped},
	}}
	if len(r.Unmatched) == 0 {
		return t
	}
	for _, u := range r.Unmatched[:min(shown, len(r.Unmatched))] {
		t.Rows = append(t.Rows, []string{dash(u.Resource), dash(u.Service), u.Bill, strconv.FormatInt(u.Lines, 10), money(u.Cost), u.Why, u.Remedy})
	}
	t.Rows = append(t.Rows, []string{"all of them", "", "", "", money(r.UnmatchedCost), "", ""})
	return t
}

func money(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func percent(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
