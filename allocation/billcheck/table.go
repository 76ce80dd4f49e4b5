package billcheck

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/promcost/promcost/allocation/visible"
)

// shown is how many rows of a list a table has.
const shown = 20

// WriteTable writes a report for people.
func WriteTable(w io.Writer, r *Report, zone *time.Location) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(t, visible.Row(cells...)) }
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.In(zone).Format(time.RFC3339)
	}
	row("BILL", "ACCOUNT", "SUBACCOUNT", "LINES", "DELIVERED", "CHARGED UNTIL", "FINAL UNTIL")
	for _, bill := range r.Bills {
		lines, delivered := strconv.FormatInt(bill.Lines, 10), clock(bill.Delivered)
		if len(bill.Accounts) == 0 {
			row(bill.Name, "-", "-", lines, delivered, "-", "-")
		}
		for _, a := range bill.Accounts {
			row(bill.Name, dash(a.Account), dash(a.SubAccount), lines, delivered, clock(a.Charged), clock(a.Until))
		}
	}
	r.writeDeliveries(row, clock)
	if r.Start.Before(r.End) {
		row("")
		row("From " + clock(r.Start) + " to " + clock(r.End) + ":")
		row("")
		row("LINES OF", "LINES", "COST", "SHARE")
		for _, k := range r.Kinds {
			row(k.Kind, strconv.FormatInt(k.Lines, 10), money(k.Cost), percent(k.Share))
		}
	}
	r.writeNodes(row)
	r.writeUnbilled(row)
	if r.TakenOffCost != 0 {
		row("")
		row("No line charges the own disks of billed nodes: their list cost of " + money(r.TakenOffCost) + " is taken off, as bills have them as volumes.")
	}
	r.writeUnmatched(row)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDeliveries writes the newest deliveries, and those whose place another one took.
func (r *Report) writeDeliveries(row func(cells ...string), clock func(time.Time) string) {
	if len(r.Deliveries) == 0 {
		return
	}
	row("")
	row("DELIVERY", "BILL", "FILES", "CHARGED FROM", "UNTIL", "LINES", "COST", "IN PLACE OF")
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
		row(d.Name, d.Bill, files, clock(d.Charged.Start), clock(d.Charged.End), strconv.FormatInt(d.Lines, 10), moneys(d.Costs), dash(strings.Join(replaced, ", ")))
	}
	if hidden > 0 {
		row(fmt.Sprintf("and %d older ones", hidden))
	}
}

// moneys writes costs with their currencies.
func moneys(costs map[string]float64) string {
	var parts []string
	for _, currency := range sortedKeys(costs) {
		parts = append(parts, money(costs[currency])+" "+currency)
	}
	return cmp.Or(strings.Join(parts, " + "), "0")
}

func (r *Report) writeNodes(row func(cells ...string)) {
	if len(r.Nodes) == 0 {
		return
	}
	row("")
	row("CLUSTER", "NODE TYPE", "SPOT", "LIST", "BILLED", "BILLED/LIST")
	for _, n := range r.Nodes {
		part := "-"
		if n.List != 0 {
			part = fmt.Sprintf("%.1f %%", 100*n.Billed/n.List)
		}
		row(n.Cluster, dash(n.InstanceType), strconv.FormatBool(n.Spot), money(n.List), money(n.Billed), part)
	}
}

func (r *Report) writeUnbilled(row func(cells ...string)) {
	if len(r.Unbilled) == 0 {
		return
	}
	row("")
	row("NO LINE CHARGES", "CLUSTER", "NAME", "DAYS", "LIST", "REMEDY")
	for _, u := range r.Unbilled[:min(shown, len(r.Unbilled))] {
		row(u.Kind, u.Cluster, dash(u.Name), strconv.Itoa(u.Days), money(u.Cost), u.Remedy)
	}
	row("all of them", "", "", "", money(r.UnbilledCost), "")
}

func (r *Report) writeUnmatched(row func(cells ...string)) {
	if len(r.Unmatched) == 0 {
		return
	}
	row("")
	row("MATCHES NOTHING", "SERVICE", "BILL", "LINES", "COST", "BUT", "REMEDY")
	for _, u := range r.Unmatched[:min(shown, len(r.Unmatched))] {
		row(dash(u.Resource), dash(u.Service), u.Bill, strconv.FormatInt(u.Lines, 10), money(u.Cost), u.Why, u.Remedy)
	}
	row("all of them", "", "", "", money(r.UnmatchedCost), "", "")
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
