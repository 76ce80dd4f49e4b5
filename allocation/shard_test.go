package allocation_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/promcost/promcost/allocation"
)

// TestShardHas assigns nodes to shards by their FNV-1a hash, for histories are divided by it: the shard of a node must never change.
func TestShardHas(t *testing.T) {
	t.Parallel()
	for _, of := range []int{2, 3, 8} {
		for n := range 200 {
			cluster, node := fmt.Sprint("cluster-", n%7), fmt.Sprintf("node-ü%d", n)
			sum := fnv.New32a()
			fmt.Fprintf(sum, "%s\x00%s", cluster, node)
			for i := range of {
				want := int(sum.Sum32()%uint32(of)) == i
				if got := (allocation.Shard{Index: i + 1, Of: of}).Has(cluster, node); got != want {
					t.Errorf("shard %d of %d has %s of %s: %t", i+1, of, node, cluster, got)
				}
			}
		}
	}
	if !(allocation.Shard{}).Has("c", "node") {
		t.Error("the whole lacks a node")
	}
}
