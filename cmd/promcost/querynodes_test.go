package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesTable prints pools of one cluster by their names, and those of several with their clusters. What is not known is –.
func TestNodesTable(t *testing.T) {
	const (
		batch = `{"cluster":"one","nodePool":"batch","nodes":3.2,"monthlyCost":1155.1,"moving":{"cpuCores":25.2,"ramBytes":62404330114,"gpus":1,"monthlyCost":590.5},"idle":{"monthlyCost":551},` +
			`"idleElsewhere":{"cpuCores":40.2,"ramBytes":321558169738},"committedMonthlyCost":1000.5,"monthlySavings":{"least":-436,"most":1155.1}}`
		bare = `{"cluster":"CLUSTER","nodes":1,"monthlyCost":10,"moving":{"cpuCores":0,"ramBytes":0,"monthlyCost":0},"idle":{"monthlyCost":10},"idleElsewhere":{},"committedMonthlyCost":null,"monthlySavings":{"least":null,"most":10}}`
	)
	for name, tt := range map[string]struct {
		data, aggregate string
		want            []string
	}{
		"one cluster": {
			`{"data":{"window":{"start":"2026-01-24T00:00:00Z","end":"2026-01-31T00:00:00Z"},"count":3,"monthlyCost":1200,"notes":["a note"],"nodes":[` + batch + `,` + strings.ReplaceAll(bare, "CLUSTER", "one") + `]}}`,
			"nodePool",
			[]string{
				`nodes from 2026-01-24 00:00 UTC to 2026-01-31 00:00 UTC, costs in EUR a month as billed, at list prices where no bill charges`, ``,
				`POOL             NODES     COST    IDLE  IDLE %    PODS     CPU  MEMORY  GPU              ELSEWHERE  COMMITTED               SAVES`,
				`batch              3.2  1155.10  551.00     48%  590.50  25200m  58.1Gi  1.0  40200m 299Gi 0.0 GPUs    1000.50  -436.00 to 1155.10`,
				`__unallocated__    1.0    10.00   10.00    100%    0.00       –       –    –                    – –          –          – to 10.00`,
				`… and 1 more`,
				`TOTAL                   1200.00`,
				``,
				`SAVES is without the nodes, at least and at most. What would have to run elsewhere are their pods without those of DaemonSets, which are the rest of COST beside IDLE; -o wide shows how large they are, and what is idle on the cluster's other nodes.`,
				`a note`, ``,
			},
		},
		"two clusters": {
			`{"data":{"window":{"start":"2026-01-24T00:00:00Z","end":"2026-01-31T00:00:00Z"},"count":2,"monthlyCost":1200,"nodes":[` + batch + `,` + strings.ReplaceAll(bare, "CLUSTER", "two") + `]}}`,
			"node",
			[]string{`NODE`, `one/batch`, `two/__unallocated__`},
		},
		"none": {`{"data":{"window":{"start":"2026-01-24T00:00:00Z","end":"2026-01-31T00:00:00Z"},"count":0,"nodes":[]}}`, "nodePool", []string{"no nodes", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var answer nodesAnswer
			if err := json.Unmarshal([]byte(tt.data), &answer); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := answer.print(streams{out: &b}, &nodeFlags{aggregate: tt.aggregate, output: "table"}, "EUR"); err != nil {
				t.Fatal(err)
			}
			if name == "two clusters" {
				for _, want := range tt.want {
					if !strings.Contains(b.String(), "\n"+want+" ") {
						t.Errorf("no line of %s:\n%s", want, b.String())
					}
				}
				return
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
