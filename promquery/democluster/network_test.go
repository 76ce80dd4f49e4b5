package democluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// increase is how far a counter that never restarts has come within the samples.
func increase(s timeSeries) float64 {
	last := s.points[len(s.points)-1]
	if isStale(last) {
		last = s.points[len(s.points)-2]
	}
	return last.v - s.points[0].v
}

func traffic(t *testing.T, d data) {
	type kinds struct{ transfer, receive, zone, region, internet float64 }
	want := map[string]*kinds{}
	ran := map[string]float64{}
	for i := range d.truth.Containers {
		x := &d.truth.Containers[i]
		pod := x.Namespace + "/" + x.Pod
		if want[pod] == nil {
			want[pod] = &kinds{}
		}
		k := want[pod]
		k.transfer, k.receive = k.transfer+x.TransferBytes, k.receive+x.ReceiveBytes
		k.zone, k.region, k.internet = k.zone+x.ZoneBytes, k.region+x.RegionBytes, k.internet+x.InternetBytes
		ran[pod] = max(ran[pod], x.RunningSeconds)
	}
	got := map[string]*kinds{}
	sum := func(pod string, s timeSeries, of func(*kinds) *float64) {
		if got[pod] == nil {
			got[pod] = &kinds{}
		}
		*of(got[pod]) += increase(s)
	}
	for _, s := range d.name(t, "container_network_transmit_bytes_total") {
		sum(s.labels["namespace"]+"/"+s.labels["pod"], s, func(k *kinds) *float64 { return &k.transfer })
	}
	for _, s := range d.name(t, "container_network_receive_bytes_total") {
		sum(s.labels["namespace"]+"/"+s.labels["pod"], s, func(k *kinds) *float64 { return &k.receive })
	}
	for _, s := range d.name(t, "kubecost_pod_network_egress_bytes_total") {
		pod := s.labels["namespace"] + "/" + s.labels["pod_name"]
		switch {
		case s.labels["internet"] == "true":
			sum(pod, s, func(k *kinds) *float64 { return &k.internet })
		case s.labels["same_region"] == "false":
			sum(pod, s, func(k *kinds) *float64 { return &k.region })
		case s.labels["same_zone"] == "false":
			sum(pod, s, func(k *kinds) *float64 { return &k.zone })
		}
	}
	compared := 0
	for pod, w := range want {
		if ran[pod] < 2*3600 || got[pod] == nil {
			continue
		}
		compared++
		g := got[pod]
		for _, pair := range [][2]float64{{g.transfer, w.transfer}, {g.receive, w.receive}, {g.zone, w.zone}, {g.region, w.region}, {g.internet, w.internet}} {
			if relative(pair[0], pair[1]) > 0.01 {
				t.Errorf("%s: samples give %+v, the truth is %+v", pod, *g, *w)
			}
		}
	}
	if compared < 120 {
		t.Errorf("only %d pods compared", compared)
	}
	if prices := values(d.name(t, "kubecost_network_internet_egress_cost")[0]); !slices.Equal(prices, []float64{0.12, 0.09}) {
		t.Errorf("prices of the internet: %v", prices)
	}
}

func balancers(t *testing.T, d data) {
	byName := map[string]democluster.LoadBalancerTruth{}
	for _, lb := range d.truth.LoadBalancers {
		byName[lb.Service] = lb
		got := 0.0
		for _, s := range d.name(t, "kube_service_status_load_balancer_ingress", "namespace", lb.Namespace, "service", lb.Service, "ip", lb.IngressIP) {
			got += integrateLast(s, d.from, d.to)
		}
		if got > lb.Hours || got < lb.Hours-0.22 { // 12 minutes of outage
			t.Errorf("%+v: samples give %v hours", lb, got)
		}
	}
	checkout, external, gateway := byName["checkout"], byName["web-external"], byName["legacy-gateway"]
	prices := d.name(t, "kubecost_load_balancer_cost")
	if len(byName) != 3 || len(prices) != 1 || prices[0].labels["service_name"] != "checkout" || prices[0].labels["ingress_ip"] != checkout.IngressIP {
		t.Fatalf("load balancers %v, prices %v", byName, prices)
	}
	if relative(checkout.Cost, 24*0.0225) > 1e-12 || relative(external.Cost, 24*0.025) > 1e-12 || relative(gateway.Cost, gateway.Hours*0.025) > 1e-12 {
		t.Errorf("costs: %+v", d.truth.LoadBalancers)
	}
	if relative(gateway.UnallocatedCost, gateway.Cost) > 1e-12 || checkout.UnallocatedCost+external.UnallocatedCost != 0 || !gateway.End.Before(d.to) || !gateway.Private {
		t.Errorf("only the internal one has nothing behind it, and goes: %+v", d.truth.LoadBalancers)
	}
	before := d.c.Truth(d.c.Start(), d.c.End())
	i := slices.IndexFunc(before.LoadBalancers, func(lb democluster.LoadBalancerTruth) bool { return lb.Service == "web-external" })
	if born := before.LoadBalancers[i].Start; !born.After(d.c.Start().Add(time.Hour)) {
		t.Errorf("web-external is there from %s on", born)
	}
	both := 0
	for _, x := range d.truth.Containers {
		if slices.Equal(x.Services, []string{"web", "web-external"}) && len(x.LoadBalancers) == 1 {
			both++
		}
	}
	if both < 5 {
		t.Errorf("%d containers are behind two services, one of them a load balancer", both)
	}
	if m := d.truth.ClusterManagement; len(m) != 1 || relative(m[0].Cost, 2.4) > 1e-12 {
		t.Errorf("cluster management: %+v", m)
	}
}
