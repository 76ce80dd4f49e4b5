package mcp

import "context"

// nodesWithout is the answer about what would be paid without nodes, as the API has it and as assistants get it: money a month, amounts in the
// mean in cores, bytes and devices, null where unknown (SEMANTICS §12).
type nodesWithout struct {
	Aggregate   string     `json:"aggregate"`
	Currency    string     `json:"currency"`
	Count       int        `json:"count"`
	MonthlyCost float64    `json:"monthlyCost"`
	Notes       []string   `json:"notes"`
	Nodes       []nodeUsed `json:"nodes"`
}

// nodeUsed is a pool or a node: Moving is what pods but those of DaemonSets have there.
type nodeUsed struct {
	Cluster              string      `json:"cluster"`
	NodePool             string      `json:"nodePool"`
	Node                 string      `json:"node,omitempty"`
	NodeTypes            []string    `json:"nodeTypes"`
	Nodes                float64     `json:"nodes"`
	MonthlyCost          float64     `json:"monthlyCost"`
	Moving               partOfNodes `json:"moving"`
	DaemonSets           partOfNodes `json:"daemonSets"`
	Idle                 partOfNodes `json:"idle"`
	IdleElsewhere        meanAmounts `json:"idleElsewhere"`
	CommittedMonthlyCost *float64    `json:"committedMonthlyCost"`
	BilledPart           float64     `json:"billedPart"`
	MonthlySavings       struct {
		Least *float64 `json:"least"`
		Most  float64  `json:"most"`
	} `json:"monthlySavings"`
}

type partOfNodes struct {
	meanAmounts
	MonthlyCost float64 `json:"monthlyCost"`
}

type meanAmounts struct {
	CPUCores float64 `json:"cpuCores"`
	RAMBytes float64 `json:"ramBytes"`
	GPUs     float64 `json:"gpus"`
}

// nodes answers with what pools of nodes are used for, and what would be saved without them.
func (s *server) nodes(ctx context.Context, args arguments) ([]byte, error) {
	var out nodesWithout
	warnings, err := s.listed(ctx, "/model/savings/nodes", args, &out)
	if err != nil {
		return nil, err
	}
	out.Currency = s.currency(ctx)
	shorten(&out.MonthlyCost, 100)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		for _, v := range [...]*float64{&n.MonthlyCost, &n.Moving.MonthlyCost, &n.DaemonSets.MonthlyCost, &n.Idle.MonthlyCost, n.CommittedMonthlyCost, n.MonthlySavings.Least, &n.MonthlySavings.Most, &n.Nodes} {
			shorten(v, 100)
		}
		for _, a := range [...]*meanAmounts{&n.Moving.meanAmounts, &n.DaemonSets.meanAmounts, &n.Idle.meanAmounts, &n.IdleElsewhere} {
			shorten(&a.CPUCores, 1e3)
			shorten(&a.RAMBytes, 1)
			shorten(&a.GPUs, 1e3)
		}
		shorten(&n.BilledPart, 1e4)
	}
	return short(out, warnings)
}
