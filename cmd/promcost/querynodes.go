package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/texttable"
	"github.com/promcost/promcost/allocation/visible"
)

// nodeFlags ask what nodes are used for, and what would be paid without them.
type nodeFlags struct {
	window, aggregate, filter, unbilled, output string
	limit                                       int
}

// defineQueryNodes is the query nodes subcommand, which asks a Prometheus or a running promcost.
func defineQueryNodes(clause *kingpin.CmdClause, io streams, logs *logFlags) executor {
	return addNodeFlags(clause, io, anyPromcost(clause, io, logs))
}

// defineKubectlNodes is the kubectl nodes subcommand, which asks the promcost of a cluster.
func defineKubectlNodes(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	return addNodeFlags(clause, io, clusterPromcost(clause, io))
}

// addNodeFlags adds the flags of the question to a subcommand, which asks whom open opens.
func addNodeFlags(clause *kingpin.CmdClause, io streams, open opener) executor {
	f := &nodeFlags{}
	clause.Flag("window", "What time to look at: 7d, lastweek, or two times separated by a comma.").Default("7d").StringVar(&f.window)
	oneOf(clause, "aggregate", "What a line is about: nodePool for the nodes of a pool, or node.", &f.aggregate, "nodePool", "node")
	clause.Flag("filter", `Which nodes: nodePool:"batch"+cluster:"prod" and the like.`).PlaceHolder("EXPR").StringVar(&f.filter)
	addUnbilled(clause, &f.unbilled)
	outputOf(clause, &f.output, "json", "csv")
	countOf(clause, "limit", "Most lines to show, the most expensive first; 0 for all. The total is of all.", &f.limit, 0).Default("0")
	return open.then(f.query, io, &f.output)
}

// query asks, and prints the answer.
func (f *nodeFlags) query(ctx context.Context, who *answerer, io streams) error {
	v := given(map[string]string{"window": f.window, "aggregate": f.aggregate, "filter": f.filter, "unbilled": f.unbilled, "limit": strconv.Itoa(f.limit)})
	var answer nodesAnswer
	body, err := who.askFor(ctx, io, "/model/savings/nodes", v, &answer)
	if err != nil {
		return err
	}
	switch f.output {
	case "json":
		return writeLine(io.raw, body)
	case "csv":
		return answer.writeCSV(io.raw)
	}
	return answer.print(io, f, who.currency(ctx))
}

// nodesAnswer is the answer of the API.
type nodesAnswer struct {
	Data struct {
		Window      struct{ Start, End time.Time }
		Count       int
		MonthlyCost float64
		Notes       []string
		Nodes       []nodeLine
	}
}

// nodeLine is a pool or a node.
type nodeLine struct {
	Cluster, NodePool, Node string
	Nodes, MonthlyCost      float64
	Moving, Idle            struct{ CPUCores, RAMBytes, GPUs, MonthlyCost float64 }
	IdleElsewhere           struct{ CPUCores, RAMBytes, GPUs float64 }
	CommittedMonthlyCost    *float64
	MonthlySavings          struct{ Least, Most *float64 }
}

// print writes a table: what pools or nodes cost, how much of that is idle, what would have to run elsewhere, and what is saved without them,
// at least and at most.
func (a *nodesAnswer) print(io streams, f *nodeFlags, currency string) error {
	d := &a.Data
	if len(d.Nodes) == 0 {
		return writeLine(io.out, "no nodes")
	}
	what := map[string]string{"node": "NODE", "nodePool": "POOL"}[f.aggregate]
	layout := io.layout(f.output)
	head := fmt.Sprintf("nodes from %s to %s, costs in %s a month as billed, at list prices where no bill charges", d.Window.Start.Format(times), d.Window.End.Format(times), visible.Text(currency))
	if err := writeLine(io.out, texttable.Wrap(head, layout.Width)+"\n"); err != nil {
		return err
	}
	t := texttable.Table{Columns: []texttable.Column{
		{Name: what, Long: texttable.Cut},
		{Name: "NODES", Right: true, Rank: 3},
		{Name: "COST", Right: true},
		{Name: "IDLE", Right: true},
		{Name: "IDLE %", Right: true, Rank: 1},
		{Name: "PODS", Right: true, Rank: 1},
		{Name: "CPU", Right: true, Rank: 2},
		{Name: "MEMORY", Right: true, Rank: 2},
		{Name: "GPU", Right: true, Spare: true, Rank: 2},
		{Name: "ELSEWHERE", Right: true, Rank: 1},
		{Name: "COMMITTED", Right: true, Spare: true},
		{Name: "SAVES", Right: true},
	}}
	idle := 0.0
	several := slices.ContainsFunc(d.Nodes, func(n nodeLine) bool { return n.Cluster != d.Nodes[0].Cluster })
	for i := range d.Nodes {
		n := &d.Nodes[i]
		idle += n.Idle.MonthlyCost
		name := cmp.Or(n.Node, n.NodePool, allocation.UnallocatedName)
		if several {
			name = n.Cluster + "/" + name
		}
		t.Rows = append(t.Rows, []string{
			name, strconv.FormatFloat(n.Nodes, 'f', 1, 64), money(n.MonthlyCost), money(n.Idle.MonthlyCost), partText(n.Idle.MonthlyCost, n.MonthlyCost), money(n.Moving.MonthlyCost),
			coresText(&n.Moving.CPUCores), bytesText(&n.Moving.RAMBytes), gpusText(n.Moving.GPUs), n.elsewhere(),
			moneyOrNone(n.CommittedMonthlyCost), moneyOrNone(n.MonthlySavings.Least) + " to " + moneyOrNone(n.MonthlySavings.Most),
		})
	}
	if more := d.Count - len(d.Nodes); more > 0 {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("… and %d more", more)})
	}
	total := []string{"TOTAL", "", money(d.MonthlyCost)}
	if d.Count == len(d.Nodes) {
		total = append(total, money(idle), partText(idle, d.MonthlyCost))
	}
	t.Rows = append(t.Rows, total)
	if err := t.Write(io.out, layout); err != nil {
		return err
	}
	notes := append([]string{"\nSAVES is without the nodes, at least and at most. What would have to run elsewhere are their pods without those of DaemonSets, which are the rest of COST beside IDLE; -o wide shows how large they are, and what is idle on the cluster's other nodes."}, d.Notes...)
	for _, note := range notes {
		if err := writeLine(io.out, texttable.Wrap(visible.Lines(note), layout.Width)); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a line for each pool or node. What is not known is empty.
func (a *nodesAnswer) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	lines := [][]string{{
		"Start", "End", "Cluster", "NodePool", "Node", "Nodes", "MonthlyCost", "IdleMonthlyCost", "MovingMonthlyCost", "MovingCPUCores", "MovingRAMBytes", "MovingGPUs",
		"IdleElsewhereCPUCores", "IdleElsewhereRAMBytes", "IdleElsewhereGPUs", "CommittedMonthlyCost", "LeastMonthlySavings", "MostMonthlySavings",
	}}
	for i := range a.Data.Nodes {
		n := &a.Data.Nodes[i]
		line := []string{a.Data.Window.Start.Format(time.RFC3339), a.Data.Window.End.Format(time.RFC3339), n.Cluster, n.NodePool, n.Node}
		for _, v := range [...]*float64{
			&n.Nodes, &n.MonthlyCost, &n.Idle.MonthlyCost, &n.Moving.MonthlyCost, &n.Moving.CPUCores, &n.Moving.RAMBytes, &n.Moving.GPUs,
			&n.IdleElsewhere.CPUCores, &n.IdleElsewhere.RAMBytes, &n.IdleElsewhere.GPUs, n.CommittedMonthlyCost, n.MonthlySavings.Least, n.MonthlySavings.Most,
		} {
			line = append(line, numberOrEmpty(v))
		}
		lines = append(lines, line)
	}
	if err := w.WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// elsewhere is what is idle on the other nodes. GPUs are named where some are wanted.
func (n *nodeLine) elsewhere() string {
	text := coresText(&n.IdleElsewhere.CPUCores) + " " + bytesText(&n.IdleElsewhere.RAMBytes)
	if n.Moving.GPUs > 0 {
		text += fmt.Sprintf(" %.1f GPUs", n.IdleElsewhere.GPUs)
	}
	return text
}

// partText is a part of a whole in percent, – of nothing.
func partText(part, whole float64) string {
	if !(whole > 0) {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*part/whole)
}

// moneyOrNone is an amount of money, – where it is not known.
func moneyOrNone(v *float64) string {
	if v == nil {
		return "–"
	}
	return money(*v)
}

// gpusText is a number of GPUs, – for none.
func gpusText(n float64) string {
	if n == 0 {
		return "–"
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}
