package promquery_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/promquery/promtest"
)

// seenNode is a node of a cluster that is seen from one second to another, and when Kubernetes says that it was created.
type seenNode struct {
	cluster, name string
	from, to      int
	created       int // noStart where it is not told
}

// nodesSeen are the series of nodes, each with a container on it.
func nodesSeen(nodes ...seenNode) (out []promtest.Series) {
	for i, n := range nodes {
		on := []string{"node", n.name, "cluster", n.cluster, "job", "kube-state-metrics"}
		out = append(out,
			life(n.from, n.to, always(1), "kube_node_info", on...),
			life(n.from, n.to, always(4), "kube_node_status_capacity", append(on, "resource", "cpu", "unit", "core")...),
			inPod(i, life(n.from, n.to, always(1), "kube_pod_info", on...)),
			inPod(i, life(n.from, n.to, always(1), "kube_pod_container_status_running", append(on, "container", "main")...)),
		)
		if n.created != noStart {
			out = append(out, life(n.from, n.to, moment(n.created), "kube_node_created", on...))
		}
	}
	return out
}

// TestCovered checks how much of a window of six hours has data (SEMANTICS §1), and that the hours of it add up.
func TestCovered(t *testing.T) {
	t.Parallel()
	const hour = 3600
	for name, tt := range map[string]struct {
		nodes []seenNode
		want  string
	}{
		"all of it":                            {[]seenNode{{"a", "n1", 0, 7 * hour, -9 * hour}}, "6 of 6"},
		"data end":                             {[]seenNode{{"a", "n1", 0, 2 * hour, -9 * hour}}, "2 of 6"},
		"data begin":                           {[]seenNode{{"a", "n1", 4 * hour, 7 * hour, noStart}}, "2 of 6"},
		"a gap that the same machine outlives": {[]seenNode{{"a", "n1", 0, hour, -9 * hour}, {"a", "n1", 4 * hour, 7 * hour, -9 * hour}}, "3 of 6"},
		"scaled to zero":                       {[]seenNode{{"a", "n1", 0, hour, -9 * hour}, {"a", "n2", 4 * hour, 7 * hour, 4*hour - 40}}, "6 of 6"},
		"scaled to zero, creation unknown":     {[]seenNode{{"a", "n1", 0, hour, -9 * hour}, {"a", "n2", 4 * hour, 7 * hour, noStart}}, "3 of 6"},
		"one machine of two is new":            {[]seenNode{{"a", "n1", 0, hour, -9 * hour}, {"a", "n2", 4 * hour, 7 * hour, 4*hour - 40}, {"a", "n3", 4 * hour, 7 * hour, -9 * hour}}, "3 of 6"},
		"clusters after each other":            {[]seenNode{{"a", "n1", 0, 2 * hour, -9 * hour}, {"b", "n2", hour, 5 * hour, -9 * hour}}, "5 of 6, a 2, b 4"},
	} {
		dir := t.TempDir()
		promtest.WriteBlocks(t, dir, 2*time.Hour, nodesSeen(tt.nodes...)...)
		db := openBlocks(t, dir)
		for _, resolution := range grids() {
			for _, step := range []time.Duration{0, time.Hour} {
				t.Run(fmt.Sprintf("%s %s %s", name, allocation.ResolutionText(resolution), step), func(t *testing.T) {
					w := allocation.Window{Start: lifeStart, End: lifeStart.Add(6 * time.Hour)}
					var lists [][]allocation.Covered
					for _, s := range compute(t, db, allocation.Query{Window: w, Resolution: resolution, Step: step, After: time.Hour}) {
						lists = append(lists, s.Covered)
					}
					c := coverage.Measure(w, coverage.Join(lists...), w.End.Add(time.Hour))
					said := []string{fmt.Sprintf("%v of %v", math.Round(20*c.Hours)/20, c.Window)}
					for _, x := range c.Clusters {
						if len(c.Clusters) > 1 {
							said = append(said, fmt.Sprintf("%s %v", x.Name, math.Round(20*x.Hours)/20))
						}
					}
					if got := strings.Join(said, ", "); got != tt.want {
						t.Errorf("%s have data, want %s", got, tt.want)
					}
				})
			}
		}
	}
}
