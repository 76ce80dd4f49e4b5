package costapi

import (
	"fmt"
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/nodeuse"
)

// nodeAnswer is the answer about what bills would be without nodes. Money is a month's, as billed where it is not said to be listed.
type nodeAnswer struct {
	Window          timeWindow  `json:"window"`
	Aggregate       string      `json:"aggregate"`
	Count           int         `json:"count"`
	MonthlyCost     float64     `json:"monthlyCost"`
	MonthlyListCost float64     `json:"monthlyListCost"`
	Notes           []string    `json:"notes"`
	Nodes           []nodeGroup `json:"nodes"`
}

// nodeGroup is a pool or a node.
type nodeGroup struct {
	Cluster              string      `json:"cluster"`
	NodePool             string      `json:"nodePool"`
	Node                 string      `json:"node,omitempty"`
	NodeTypes            []string    `json:"nodeTypes"`
	Nodes                float64     `json:"nodes"` // in the mean
	MonthlyCost          float64     `json:"monthlyCost"`
	MonthlyListCost      float64     `json:"monthlyListCost"`
	Moving               nodePart    `json:"moving"`
	DaemonSets           nodePart    `json:"daemonSets"`
	Idle                 nodePart    `json:"idle"`
	IdleElsewhere        nodeAmounts `json:"idleElsewhere"`
	CommittedMonthlyCost *float64    `json:"committedMonthlyCost"` // null where bills charge nothing
	BilledPart           float64     `json:"billedPart"`
	MonthlySavings       bounds      `json:"monthlySavings"`
}

// nodeAmounts are amounts in the mean.
type nodeAmounts struct {
	CPUCores float64 `json:"cpuCores"`
	RAMBytes float64 `json:"ramBytes"`
	GPUs     float64 `json:"gpus"`
}

// nodePart is a part of what nodes have.
type nodePart struct {
	nodeAmounts
	MonthlyCost     float64 `json:"monthlyCost"`
	MonthlyListCost float64 `json:"monthlyListCost"`
}

// bounds are the least and the most of a number; null where unknown.
type bounds struct {
	Least *float64 `json:"least"`
	Most  float64  `json:"most"`
}

// serveNodeSavings answers with what nodes are used for, and what would be paid without them.
func (a *api) serveNodeSavings(w http.ResponseWriter, q *request) error {
	said := &headers{}
	window := whole(q.timing.windows)
	list, err := nodeuse.Groups(said.of(a.stream(q, &filterMatches{})), window, q.now, q.output.aggregate == "node", q.selectsNode)
	if err != nil {
		return err
	}
	if err := q.selection.steps.Err(); err != nil {
		return fmt.Errorf("filter nodes: %w", err)
	}
	out := nodeAnswer{Window: timeWindow{window.Start.In(a.cfg.Zone), window.End.In(a.cfg.Zone)}, Aggregate: q.output.aggregate, Count: len(list), Notes: nodeuse.Notes(list), Nodes: []nodeGroup{}}
	for i := range list {
		g := &list[i]
		out.MonthlyCost, out.MonthlyListCost = out.MonthlyCost+g.Cost.Billed, out.MonthlyListCost+g.Cost.List
		if limit := q.output.page.Limit; limit == 0 || i < limit {
			out.Nodes = append(out.Nodes, nodeGroupOf(g))
		}
	}
	return q.writeAnswer(w, out, said.sets)
}

// selectsNode reports whether the filter of the request selects a node.
func (q *request) selectsNode(n *allocation.Node) bool {
	if q.assets.Filter == nil {
		return true
	}
	a := assets.OfNode(n)
	return q.assets.Filter(&a)
}

func nodeGroupOf(g *nodeuse.Group) nodeGroup {
	least, most := g.Savings()
	return nodeGroup{
		Cluster: g.Cluster, NodePool: g.Pool, Node: g.Node, NodeTypes: append([]string{}, g.InstanceTypes...), Nodes: g.Count, MonthlyCost: g.Cost.Billed, MonthlyListCost: g.Cost.List,
		Moving: nodePartOf(&g.Moving), DaemonSets: nodePartOf(&g.DaemonSets), Idle: nodePartOf(&g.Idle), IdleElsewhere: nodeAmountsOf(g.Elsewhere),
		CommittedMonthlyCost: known(g.Committed), BilledPart: g.BilledPart, MonthlySavings: bounds{known(least), most},
	}
}

func nodePartOf(p *nodeuse.Part) nodePart {
	return nodePart{nodeAmountsOf(p.Amounts), p.Cost.Billed, p.Cost.List}
}

func nodeAmountsOf(of [allocation.NumResources]float64) nodeAmounts {
	return nodeAmounts{of[allocation.CPU], of[allocation.RAM], of[allocation.GPU]}
}
