package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
)

// TestPricedBy reads back what assets cost by the sources of their prices, whether the assets are read or not.
func TestPricedBy(t *testing.T) {
	s := history.New(history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{}), history.Options{})
	want := soundSet(3, hour(0), 3, "c1", "c2")
	for i := range want.Nodes {
		want.Nodes[i].PriceSource = [allocation.NumResources]string{"node_cpu_hourly_cost", "prices.yaml:3", "built-in defaults"}
	}
	write(t, s, want, history.WriteOptions{Complete: true})
	for name, only := range map[string]*allocation.Projection{"all": nil, "few of the assets": {FewOfAssets: true}, "no assets": {WithoutAssets: true}} {
		set, err := s.Read(t.Context(), list(t, s, history.Hourly, hour(0)), only)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.PricedBy(), set[0].PricedBy(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
