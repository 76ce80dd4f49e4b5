package democluster_test

import (
	"fmt"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

func ExampleCluster_Truth() {
	end := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	cluster, err := democluster.New(democluster.Config{End: end})
	if err != nil {
		fmt.Println(err)
		return
	}
	truth := cluster.Truth(end.Add(-24*time.Hour), end)
	var nodes, containers, idle float64
	for _, n := range truth.Nodes {
		nodes += n.CPUCost + n.RAMCost + n.GPUCost
	}
	for _, ct := range truth.Containers {
		containers += ct.CPUCost + ct.RAMCost + ct.GPUCost
	}
	for _, i := range truth.Idle {
		idle += i.CPUCost + i.RAMCost + i.GPUCost
	}
	fmt.Printf("%d nodes cost %.2f USD: containers %.2f, idle %.2f\n", len(truth.Nodes), nodes, containers, idle)
	// Output: 11 nodes cost 173.39 USD: containers 86.63, idle 86.76
}
