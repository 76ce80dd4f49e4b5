package democluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// TestSharesConserve checks that the parts of containers add up to the whole.
func TestSharesConserve(t *testing.T) {
	for name, cfg := range clusters() {
		t.Run(name, func(t *testing.T) {
			c := plan(t, cfg)
			for _, from := range []time.Time{c.Start(), c.End().Add(-37 * time.Minute)} {
				sharesConserve(t, c.Truth(from, c.End()))
			}
		})
	}
}

func sharesConserve(t *testing.T, tr *democluster.Truth) {
	t.Helper()
	sum, want := map[string]float64{}, map[string]float64{}
	for i := range tr.Containers {
		x := &tr.Containers[i]
		sum["volumes"] += x.PVCost
		sum["volume bytes"] += x.PVByteHours
		sum["network"] += x.NetworkCost
		sum["kinds of network"] += x.ZoneCost + x.RegionCost + x.InternetCost
		sum["egress bytes"] += x.ZoneBytes + x.RegionBytes + x.InternetBytes
		sum["transfer bytes"] += x.TransferBytes
		sum["receive bytes"] += x.ReceiveBytes
		sum["load balancers"] += x.LoadBalancerCost
	}
	for _, u := range tr.Unmounted {
		sum["volumes"] += u.Cost
		sum["volume bytes"] += u.ByteHours
	}
	for _, v := range tr.Volumes {
		want["volumes"] += v.Cost
		want["volume bytes"] += v.ByteHours
	}
	for _, lb := range tr.LoadBalancers {
		sum["load balancers"] += lb.UnallocatedCost
		want["load balancers"] += lb.Cost
	}
	for _, n := range tr.Networks {
		want["network"] += n.NetworkCost
		want["kinds of network"] += n.NetworkCost
		want["egress bytes"] += n.ZoneBytes + n.RegionBytes + n.InternetBytes
		want["transfer bytes"] += n.TransferBytes
		want["receive bytes"] += n.ReceiveBytes
	}
	if len(want) != 8 {
		t.Errorf("only %v compared", want)
	}
	for what, w := range want {
		if w <= 0 || relative(sum[what], w) > 1e-9 {
			t.Errorf("%s: the parts add up to %v, the whole is %v", what, sum[what], w)
		}
	}
}

// TestSharesSecondBySecond compares with the plainest way to divide: all times of the plan are whole seconds.
func TestSharesSecondBySecond(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 60, Duration: 4 * time.Hour})
	from := c.End().Add(-3 * time.Hour)
	tr := c.Truth(from, c.End())
	slow := c.SlowShares(from, c.End())
	compared := map[string]int{}
	compare := func(x *democluster.ContainerTruth, object string, got democluster.Share) {
		if got == (democluster.Share{}) {
			return
		}
		compared[object]++
		key := fmt.Sprint(x.UID, "/", x.Container, "/", object)
		if want := slow[key]; relative(got.Amount, want.Amount) > 1e-9 || relative(got.Cost, want.Cost) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
		delete(slow, key)
	}
	for i := range tr.Containers {
		x := &tr.Containers[i]
		for _, v := range x.PVs {
			compare(x, v.PersistentVolume, democluster.Share{Amount: v.ByteHours, Cost: v.Cost})
		}
		for _, lb := range x.LoadBalancers {
			compare(x, lb.Service, democluster.Share{Cost: lb.Cost})
		}
		compare(x, "network", democluster.Share{Amount: x.ZoneBytes + x.RegionBytes + x.InternetBytes, Cost: x.NetworkCost})
	}
	if compared["network"] < 15 || compared["payments/checkout"] < 3 || compared["payments/web-external"] < 2 || len(compared) < 10 || len(slow) > 0 {
		t.Errorf("compared: %v, missing: %v", compared, slow)
	}
}
