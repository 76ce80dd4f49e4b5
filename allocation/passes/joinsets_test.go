package passes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// TestJoin joins sets of two dictionaries: their contents do not change, and the passes accept them.
func TestJoin(t *testing.T) {
	at := time.Unix(7200, 0).UTC()
	build := func(i int) *allocation.Set {
		dict := allocation.NewDict()
		for range i {
			dict.Add("x" + strings.Repeat("y", i)) // so that ids differ
		}
		from := at.Add(time.Duration(i) * time.Hour)
		s := allocation.NewSet(allocation.Window{Start: from, End: from.Add(time.Hour)}, dict)
		r := allocation.Row{
			Start: from, End: from.Add(time.Hour), Services: []string{"b", "a"}, Labels: map[string]string{"k": "v", "i": strings.Repeat("i", i)},
			Volumes:       []allocation.VolumeShare{{Key: dict.Add("key"), ProviderID: dict.Add("vol"), Cost: 1}},
			LoadBalancers: []allocation.LoadBalancerShare{{Key: dict.Add("lb"), Service: dict.Add("s"), IP: dict.Add("ip"), Cost: 2}},
		}
		r.Text[allocation.Namespace] = "ns"
		r.Values[allocation.PVCost], r.Values[allocation.LoadBalancerCost], r.Values[allocation.RunningSeconds] = 1, 2, 3600
		s.Append(&r)
		return s
	}
	given := []*allocation.Set{build(0), build(1), build(2)}
	joined := passes.Join(given)
	for i, s := range joined {
		d := s.Dict()
		v, lb := s.Volumes(0)[0], s.LoadBalancerShares(0)[0]
		got := []string{
			s.Text(allocation.Namespace, 0), d.Text(s.List(allocation.Services, 0)[0]), d.Text(v.Key), d.Text(v.ProviderID), d.Text(lb.Key), d.Text(lb.Service), d.Text(lb.IP),
		}
		if diff := cmp.Diff([]string{"ns", "b", "key", "vol", "lb", "s", "ip"}, got); diff != "" {
			t.Errorf("set %d: %s", i, diff)
		}
		if d != joined[0].Dict() || len(s.Pairs(allocation.Labels, 0)) != 2 {
			t.Errorf("set %d has a dictionary of its own, or lost labels", i)
		}
		if given[i].Text(allocation.Namespace, 0) != "ns" || i > 0 && given[i].Dict() == given[0].Dict() {
			t.Errorf("set %d was changed", i)
		}
	}
	out, err := passes.Apply(joined, passes.Options{Accumulate: allocation.All})
	if err != nil || len(out) != 1 || out[0].Len() != 1 || out[0].TotalCost(0) != 9 {
		t.Errorf("the sum is %v, %v", out, err)
	}
	if same := passes.Join(joined); same[1] != joined[1] {
		t.Error("sets of one dictionary are copied")
	}
	if passes.Join(nil) != nil {
		t.Error("something was made of nothing")
	}
	given[1].Nodes = make([]allocation.Node, 2)
	if bare := passes.WithoutRows(given[1:]); bare[0].Len() != 0 || len(bare[0].Nodes) != 2 {
		t.Errorf("without rows there are %d rows, %d nodes", bare[0].Len(), len(bare[0].Nodes))
	}
}
