package build_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// given is one series.
type given struct {
	signal signals.Signal
	key    string
	points *timeline.Points
	rank   int
	scale  float64

	resource allocation.Resource
	init     bool
}

// counted has the samples of a counter, one a minute in minutes [from, to). It grows by rate a minute and is 0 a minute before the first
// sample.
func counted(rate float64, from, to int) *timeline.Points {
	values := make([]float64, to-from)
	for i := range values {
		values[i] = rate * float64(i+1)
	}
	return sampled(clusterStart.Add(time.Duration(from)*time.Minute), time.Minute, values...)
}

// buildGiven builds the sets of a case (see caseSignals) with further series.
func buildGiven(t *testing.T, q allocation.Query, list []given) []*allocation.Set {
	t.Helper()
	return buildRated(t, q, flat{cpu: 1}, list)
}

// buildRated is buildGiven with other prices.
func buildRated(t *testing.T, q allocation.Query, rates rates.Rates, list []given) []*allocation.Set {
	t.Helper()
	q.Window = allocation.Window{Start: clusterStart, End: clusterStart.Add(2 * time.Hour)}
	b, err := build.NewBuilder(t.Context(), q, time.Minute, rates, symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := feed{t: t, b: b}
	inputs := caseSignals()
	for _, s := range caseSeries {
		if p := inputs[s.name]; p != nil {
			f.add(s.series, s.key, p)
		}
	}
	use := []signals.Signal{signals.PodTransmitted, signals.PodReceived, signals.PodEgress, signals.NodeDiskUsed, signals.ClaimUsed, signals.ContainerLevel, signals.ContainerUse}
	give := func(after bool) {
		for _, x := range list {
			if slices.Contains(use, x.signal) == after {
				f.add(signals.Series{Signal: x.signal, Resource: x.resource, Rank: x.rank, Scale: x.scale, Init: x.init}, x.key, x.points)
			}
		}
	}
	give(false)
	b.Beyond()
	b.Silent()
	if err := b.Resolve(); err != nil {
		t.Fatal(err)
	}
	give(true)
	b.UnseenBefore()
	b.UnseenAfter()
	if again, err := b.Finalize(); err != nil || again != nil {
		t.Fatalf("Finalize: %v, %v", again, err)
	}
	sets, err := b.Sets()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if err := passes.Check(s); err != nil {
			t.Error(err)
		}
		if err := conserved(s); err != nil {
			t.Error(err)
		}
	}
	return sets
}

// conserved checks that rows are charged the cost of volumes, load balancers and traffic, and that the rows' columns are the sums of
// their shares.
func conserved(s *allocation.Set) error {
	var rows, shares, assets [3]float64
	for row := range s.Len() {
		rows[0] += s.Value(allocation.PVCost, row)
		rows[1] += s.Value(allocation.LoadBalancerCost, row)
		for _, c := range []allocation.Column{allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost} {
			rows[2] += s.Value(c, row)
		}
		for _, v := range s.Volumes(row) {
			shares[0] += v.Cost
		}
		for _, v := range s.LoadBalancerShares(row) {
			shares[1] += v.Cost
		}
	}
	for i := range s.Disks {
		if !s.Disks[i].Local {
			assets[0] += s.Disks[i].Cost
		}
	}
	for i := range s.Balancers {
		assets[1] += s.Balancers[i].Cost
	}
	for i := range s.Networks {
		assets[2] += s.Networks[i].TotalCost()
	}
	shares[2] = assets[2]
	for k, what := range [...]string{"volumes", "load balancers", "traffic"} {
		for _, sum := range [...]float64{rows[k], shares[k]} {
			if math.Abs(sum-assets[k]) > 1e-9*assets[k] {
				return fmt.Errorf("%s cost %v, rows are charged %v, their shares are %v", what, assets[k], rows[k], shares[k])
			}
		}
	}
	return nil
}

// other is a pod q on the node, which runs in minutes [from, to).
func other(from, to int) []given {
	at := float64(clusterStart.Add(time.Duration(from-1) * time.Minute).Unix())
	return []given{
		{signal: signals.PodInfo, key: "c/ns/q/uid-q/n/ip2/Job/j", points: minutes(1, from, to)},
		{signal: signals.ContainerRunning, key: "c/ns/q/uid-q/main/", points: minutes(1, from, to)},
		{signal: signals.ContainerStarted, key: "c/ns/q/uid-q/main", points: minutes(at, from, to)},
	}
}

// side is a second container of pod p, which runs in minutes [from, to).
func side(from, to int) []given {
	at := float64(clusterStart.Add(time.Duration(from-1) * time.Minute).Unix())
	return []given{
		{signal: signals.ContainerRunning, key: "c/ns/p/uid/side/", points: minutes(1, from, to)},
		{signal: signals.ContainerStarted, key: "c/ns/p/uid/side", points: minutes(at, from, to)},
	}
}

// disk is a volume of 100 GiB at 1 an hour in minutes [from, to), and its claim.
func disk(name, claim string, from, to int) []given {
	out := []given{
		{signal: signals.VolumeCapacity, key: "c/" + name, points: minutes(100*gib, from, to)},
		{signal: signals.VolumeInfo, key: "c/" + name + "/fast/vol-" + name + "//////", points: minutes(1, from, to)},
		{signal: signals.VolumePrice, key: "c/" + name, points: minutes(0.01, from, to)},
	}
	if claim != "" {
		out = append(out, given{signal: signals.VolumeClaim, key: "c/ns/" + claim + "/" + name, points: minutes(1, from, to)})
	}
	return out
}

// mounts says that a pod mounts a claim.
func mounts(pod, uid, claim string) []given {
	return []given{{signal: signals.PodMount, key: "c/ns/" + pod + "/" + uid + "/" + claim + "/", points: minutes(1, 1, 121)}}
}

// balancer is a service with a load balancer of 0.5 an hour in minutes [from, to), and the pods behind it.
func balancer(from, to int, pods ...string) []given {
	out := []given{
		{signal: signals.Balancer, key: "c/ns/web", points: minutes(1, from, to)},
		{signal: signals.BalancerIngress, key: "c/ns/web/203.0.113.9/", points: minutes(1, from, to)},
		{signal: signals.BalancerPrice, key: "c/ns/web/203.0.113.9", points: minutes(0.5, from, to)},
		{signal: signals.SliceService, key: "c/ns/web-x/web", points: minutes(1, 1, 121)},
	}
	for _, pod := range pods {
		out = append(out, given{signal: signals.SliceEndpoint, key: "c/ns/web-x//" + pod, points: minutes(1, 1, 121)})
	}
	return out
}

// bySliceName is a load balancer whose pods are in a slice without labels, beside a service.
func bySliceName(service string) []given {
	return append(slices.DeleteFunc(balancer(1, 121, "p"), func(g given) bool { return g.signal == signals.SliceService }),
		given{signal: signals.ServiceInfo, key: "c/ns/" + service, points: minutes(1, 1, 121)})
}

// byCutName is a load balancer whose pod is in a slice without labels, beside other services. The name of its service is so long that
// Kubernetes cuts it in the name of the slice.
func byCutName(others ...string) []given {
	service := strings.Repeat("web", 20)
	list := []given{
		{signal: signals.Balancer, key: "c/ns/" + service, points: minutes(1, 1, 121)},
		{signal: signals.BalancerPrice, key: "c/ns/" + service + "/203.0.113.9", points: minutes(0.5, 1, 121)},
		{signal: signals.SliceEndpoint, key: "c/ns/" + service[:58] + "x7k2p//p", points: minutes(1, 1, 121)},
	}
	for _, name := range append(others, service) {
		list = append(list, given{signal: signals.ServiceInfo, key: "c/ns/" + name, points: minutes(1, 1, 121)})
	}
	return list
}

// selects is a load balancer whose service has only a selector, and the labels of two pods, "" for none.
func selects(selector, p, q string) []given {
	list := slices.DeleteFunc(balancer(1, 121), func(g given) bool { return g.signal == signals.SliceService })
	for _, x := range []struct {
		signal      signals.Signal
		key, labels string
	}{{signals.ServiceSelector, "c/ns/web", selector}, {signals.PodLabels, "c/ns/p/uid", p}, {signals.PodLabels, "c/ns/q/uid-q", q}} {
		list = append(list, given{signal: x.signal, key: strings.TrimSuffix(x.key+"/"+x.labels, "/"), points: minutes(1, 1, 121)})
	}
	return list
}

func concat(parts ...[]given) []given { return slices.Concat(parts...) }

const (
	onlyStorage  = 0.00005479452 * 100 * 2 // of 100 GiB for two hours at the default price
	sentInternet = "c/ns/p/uid/true/false/false//i"
)

// TestAssetCosts checks what rows are charged for volumes, load balancers and traffic in the two hours of a case, by
// pod/container, on a grid and in exact mode.
func TestAssetCosts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		series  []given
		pv      map[string]float64
		lb      map[string]float64
		network map[string]float64
		warning string
	}{
		{name: "one pod mounts a volume", series: concat(disk("v", "data", 1, 121), mounts("p", "uid", "data")), pv: map[string]float64{"p/main": 2}},
		{
			name: "two pods share a claim while both run", series: concat(other(61, 121), disk("v", "data", 1, 121), mounts("p", "uid", "data"), mounts("q", "uid-q", "data")),
			pv: map[string]float64{"p/main": 1.5, "q/main": 0.5},
		},
		{
			name: "two containers share their pod's volume while both run", series: concat(side(61, 121), disk("v", "data", 1, 121), mounts("p", "uid", "data")),
			pv: map[string]float64{"p/main": 1.5, "p/side": 0.5},
		},
		{
			name: "nobody mounts a claim at first", series: concat(other(61, 121), disk("v", "data", 1, 121), mounts("q", "uid-q", "data")),
			pv: map[string]float64{"ns-unmounted-pvcs/__unmounted__": 1, "q/main": 1},
		},
		{name: "a volume without a claim", series: disk("v", "", 1, 121), pv: map[string]float64{"__unmounted__/__unmounted__": 2}},
		{name: "a volume that goes", series: concat(disk("v", "data", 1, 61), mounts("p", "uid", "data")), pv: map[string]float64{"p/main": 1}},
		{
			name: "a claim without a volume", series: mounts("p", "uid", "data"), pv: map[string]float64{},
			warning: "1 claim is mounted, but its volume is not known (ns/data)",
		},
		{
			name: "a claim that is bound anew", series: concat(disk("v", "data", 1, 61), disk("w", "data", 61, 121), mounts("p", "uid", "data")),
			pv: map[string]float64{"p/main": 2},
		},
		{
			name: "kubelets alone know the size, nobody the price", series: concat([]given{
				{signal: signals.ClaimCapacity, key: "c/ns/data", points: minutes(100*gib, 1, 121)},
				{signal: signals.VolumeClaim, key: "c/ns/data/v", points: minutes(1, 1, 121)},
			}, mounts("p", "uid", "data")),
			pv: map[string]float64{"p/main": onlyStorage}, warning: "1 volume lacks a price",
		},
		{
			name: "a volume of no known size", series: concat([]given{{signal: signals.VolumeInfo, key: "c/v/fast/vol-v//////", points: minutes(1, 1, 121)}}),
			pv: map[string]float64{"__unmounted__/__unmounted__": 0}, warning: "1 volume costs nothing, for its capacity is not known (v)",
		},
		{
			name: "negative prices are none", series: concat(disk("v", "data", 1, 121), mounts("p", "uid", "data"), []given{{signal: signals.VolumePrice, key: "c/v", points: minutes(-7, 1, 121)}}),
			pv: map[string]float64{"p/main": 2}, warning: "negative prices by metrics of 1 volume are left out (v)",
		},
		{
			name: "OpenCost says what a pod mounts", series: concat(disk("v", "", 1, 121), []given{{signal: signals.PodMount, key: "c/ns/p//data/v", points: minutes(1, 1, 121), rank: 1}}),
			pv: map[string]float64{"p/main": 2},
		},
		{name: "a load balancer", series: balancer(1, 121, "p"), lb: map[string]float64{"p/main": 1}},
		{name: "a load balancer of two pods", series: concat(other(61, 121), balancer(1, 121, "p", "q")), lb: map[string]float64{"p/main": 0.75, "q/main": 0.25}},
		{name: "a load balancer of two pods, one of which goes", series: concat(other(1, 61), balancer(31, 121, "p", "q")), lb: map[string]float64{"p/main": 0.5 + 0.25/2, "q/main": 0.25 / 2}},
		{name: "a load balancer of two containers", series: concat(side(61, 121), balancer(1, 121, "p")), lb: map[string]float64{"p/main": 0.75, "p/side": 0.25}},
		{name: "a load balancer without endpoints", series: balancer(1, 121), lb: map[string]float64{"__unallocated__/__unallocated__": 1}},
		{name: "a service by the name of its slice", series: bySliceName("web"), lb: map[string]float64{"p/main": 1}},
		{name: "a slice of which no service has the name", series: bySliceName("other"), lb: map[string]float64{"__unallocated__/__unallocated__": 1}},
		{name: "a service by the name of its slice, which is cut", series: byCutName("web", "other"), lb: map[string]float64{"p/main": 1}},
		{name: "a slice whose name may be of two services", series: byCutName(strings.Repeat("web", 21)), lb: map[string]float64{"__unallocated__/__unallocated__": 1}},
		{name: "a service by its selector", series: concat(other(1, 121), selects("app/x", "app/x/team/y", "app/z")), lb: map[string]float64{"p/main": 1}},
		{name: "a selector in another spelling", series: selects("example_com_appName/x", "example_com_app_name/x", ""), lb: map[string]float64{"p/main": 1}},
		{name: "a selector of two labels, of which a pod has one", series: selects("app/x/team/y", "app/x", ""), lb: map[string]float64{"__unallocated__/__unallocated__": 1}},
		{name: "a selector of nothing", series: selects("", "app/x", ""), lb: map[string]float64{"__unallocated__/__unallocated__": 1}},
		{
			name: "a selector beside endpoints", series: concat(other(1, 121), selects("app/x", "app/x", "app/x"), balancer(1, 121, "q")),
			lb: map[string]float64{"q/main": 1},
		},
		{
			name: "a load balancer at the default price", series: []given{{signal: signals.Balancer, key: "c/ns/web", points: minutes(1, 1, 121)}},
			lb: map[string]float64{"__unallocated__/__unallocated__": 0.05}, warning: "1 load balancer lacks a price",
		},
		{
			name: "traffic", series: []given{{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)}},
			network: map[string]float64{"p/main": 0.12 * 120}, warning: "network traffic of 1 cluster lacks a price",
		},
		{
			name: "where traffic goes", series: []given{
				{signal: signals.PodEgress, key: "c/ns/q//false/false/true//i", points: counted(gib, 61, 121)},
				{signal: signals.PodEgress, key: "c/ns/p//false/false/false//i", points: counted(gib, 1, 121)},
				{signal: signals.PodEgress, key: "c/ns/p//false/true/true//i", points: counted(gib, 1, 121)},
			},
			network: map[string]float64{"p/main": 0.01 * 120},
		},
		{
			name: "a price of traffic that changes", series: []given{
				{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)},
				{signal: signals.InternetEgressPrice, key: "c", points: join(minutes(1, 1, 60), minutes(2, 61, 121))},
			},
			network: map[string]float64{"p/main": 60 + 2*60},
		},
		{
			name: "a pod that is born sends from 0", series: concat(other(61, 121), side(91, 121), []given{
				{signal: signals.PodEgress, key: "c/ns/q//true/false/false//i", points: counted(gib, 61, 121)},
				{signal: signals.InternetEgressPrice, key: "c", points: minutes(1, 1, 121)},
			}),
			network: map[string]float64{"q/main": 60},
		},
		{
			name: "replicas of a scrape count once", series: []given{
				{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)},
				{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)},
				{signal: signals.InternetEgressPrice, key: "c", points: minutes(1, 1, 121)},
			},
			network: map[string]float64{"p/main": 120},
		},
	} {
		for _, q := range []allocation.Query{{Resolution: time.Minute}, {}, {Resolution: time.Minute, Step: 25 * time.Minute}} {
			t.Run(tt.name+"/"+allocation.ResolutionText(q.Resolution)+"/"+q.Step.String(), func(t *testing.T) {
				slack := 1e-9
				if q.Resolution == 0 {
					slack = 0.025
				}
				sets := buildGiven(t, q, tt.series)
				if tt.lb == nil || q.Step == 0 { // load balancers are divided by the hours of each set
					compareRows(t, sets, tt.pv, slack, allocation.PVCost)
					compareRows(t, sets, tt.lb, slack, allocation.LoadBalancerCost)
					compareRows(t, sets, tt.network, slack, allocation.NetworkInternetCost, allocation.NetworkCrossRegionCost, allocation.NetworkCrossZoneCost)
				}
				checkWarning(t, sets[0], tt.warning)
			})
		}
	}
}

// TestEgressBytes counts the bytes of egress with a price: all but those that stay in their zone.
func TestEgressBytes(t *testing.T) {
	sets := buildGiven(t, allocation.Query{Resolution: time.Minute}, concat(side(1, 121), []given{
		{signal: signals.PodEgress, key: sentInternet, points: counted(gib, 1, 121)},
		{signal: signals.PodEgress, key: "c/ns/p//false/false/false//i", points: counted(gib, 1, 121)},
		{signal: signals.PodEgress, key: "c/ns/p//false/false/true//i", points: counted(2*gib, 1, 121)},
		{signal: signals.PodEgress, key: "c/ns/p//false/true/true//i", points: counted(gib, 1, 121)},
	}))
	compareRows(t, sets, map[string]float64{"p/main": 240 * gib, "p/side": 240 * gib}, 1e-9, allocation.NetworkEgressBytes)
}

// compareRows compares the sums of columns by pod/container, zeros left out.
func compareRows(t *testing.T, sets []*allocation.Set, want map[string]float64, slack float64, columns ...allocation.Column) {
	t.Helper()
	got := map[string]float64{}
	for _, s := range sets {
		for row := range s.Len() {
			for _, c := range columns {
				got[s.Text(allocation.Pod, row)+"/"+s.Text(allocation.Container, row)] += s.Value(c, row)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if math.Abs(got[name]-want[name]) > slack*max(1, want[name]) {
			t.Errorf("%s of %s: got %v, want %v", columns[0], name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			t.Errorf("no row of %s", name)
		}
	}
}

func checkWarning(t *testing.T, s *allocation.Set, text string) {
	t.Helper()
	if text != "" && !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, text) }) {
		t.Errorf("no warning of %q: %q", text, s.Warnings)
	}
}

// TestAssets checks all fields of one asset of each kind.
func TestAssets(t *testing.T) {
	series := concat(disk("v", "data", 1, 121), mounts("p", "uid", "data"), balancer(1, 61, "p"), []given{
		{signal: signals.ClaimUsed, key: "c/ns/data", points: join(minutes(40*gib, 1, 60), minutes(60*gib, 61, 121))},
		{signal: signals.ManagementPrice, key: "c/EKS", points: minutes(0.1, 1, 121)},
		{signal: signals.NodeDisk, key: "c/n/sda1", points: minutes(30*gib, 1, 121), rank: 1},
		{signal: signals.NodeDisk, key: "c/n/sdb1", points: minutes(20*gib, 1, 121), rank: 1},
		{signal: signals.NodeDiskUsed, key: "c/n/sda1", points: join(minutes(6*gib, 1, 60), minutes(8*gib, 61, 121))},
		{signal: signals.NodeDiskUsed, key: "c/n/sdb1", points: minutes(3*gib, 1, 121)},
		{signal: signals.NodeCapacity, key: "c/n", points: minutes(3, 1, 121), rank: 2},
		{signal: signals.NodeAddress, key: "c/n/10.0.0.1", points: minutes(1, 1, 121)},
		{signal: signals.NodeMemoryTotal, key: "c/10.0.0.1:9100", points: minutes(100, 1, 121)},
		{signal: signals.NodeMemoryAvailable, key: "c/10.0.0.1:9100", points: minutes(60, 1, 121)},
		{signal: signals.NodeMemoryBuffers, key: "c/10.0.0.1:9100", points: minutes(5, 1, 121)},
		{signal: signals.NodeMemoryCached, key: "c/10.0.0.1:9100", points: minutes(15, 1, 121)},
	})
	for mode, seconds := range map[string][2]float64{"idle": {100, 170}, "user": {30, 45}, "system": {5, 15}, "iowait": {1, 6}} {
		series = append(
			series,
			given{signal: signals.NodeTime, key: "c/10.0.0.1:9100/" + mode, points: minutes(seconds[0], -1, 0)},
			given{signal: signals.NodeTime, key: "c/10.0.0.1:9100/" + mode, points: minutes(seconds[1], 119, 120)},
		)
	}
	s := buildGiven(t, allocation.Query{Resolution: time.Minute}, series)[0]
	end := clusterStart.Add(2 * time.Hour)
	if len(s.Disks) != 2 || len(s.Balancers) != 1 || len(s.Management) != 1 || len(s.Networks) != 0 || len(s.Nodes) != 1 {
		t.Fatalf("%d disks, %d load balancers, %d managements, %d networks, %d nodes", len(s.Disks), len(s.Balancers), len(s.Management), len(s.Networks), len(s.Nodes))
	}
	local, volume := s.Disks[1], s.Disks[0]
	equalText(t, "volume", volume, allocation.Disk{
		Cluster: "c", Name: "v", ProviderID: "vol-v", StorageClass: "fast", ClaimNamespace: "ns", ClaimName: "data", Start: clusterStart, End: end,
		ByteHours: 200 * gib, UsedByteHours: 100 * gib, UsedMax: 60 * gib, Cost: 2, PriceSource: "pv_hourly_cost",
	})
	equalText(t, "local disk", local, allocation.Disk{
		Cluster: "c", Name: "n", ProviderID: "id", Local: true, StorageClass: allocation.LocalStorage, Start: clusterStart, End: end, ByteHours: 100 * gib,
		UsedByteHours: 20 * gib, UsedMax: 8 * gib, Cost: onlyStorage / 2, PriceSource: "built-in defaults",
	})
	equalText(t, "load balancer", s.Balancers[0], allocation.LoadBalancer{
		Cluster: "c", Namespace: "ns", Service: "web", IP: "203.0.113.9", Start: clusterStart, End: clusterStart.Add(time.Hour), Hours: 1, Cost: 0.5,
		PriceSource: "kubecost_load_balancer_cost",
	})
	equalText(t, "management", s.Management[0], allocation.Management{
		Cluster: "c", Provisioner: "EKS", Start: clusterStart, End: end, Cost: 0.2, PriceSource: "kubecost_cluster_management_cost",
	})
	n := s.Nodes[0]
	equalText(t, "cpu", n.CPUBreakdown, allocation.Breakdown{Idle: 0.7, User: 0.15, System: 0.1, Other: 0.05})
	equalText(t, "ram", n.RAMBreakdown, allocation.Breakdown{Idle: 0.4, User: 0.4, Other: 0.2})
	equalText(t, "overhead", n.Overhead, [allocation.NumResources]float64{0.25})
	row := slices.IndexFunc(columnOf(s, allocation.PVCost), func(v float64) bool { return v > 0 })
	share := s.Volumes(row)[0]
	if got := s.Dict().Text(share.Key) + " " + s.Dict().Text(share.ProviderID); got != "cluster=c:name=v vol-v" || share.ByteHours != s.Value(allocation.PVByteHours, row) {
		t.Errorf("share %s: %+v", got, share)
	}
	lb := s.LoadBalancerShares(row)[0]
	if got := s.Dict().Text(lb.Key) + " " + s.Dict().Text(lb.Service) + " " + s.Dict().Text(lb.IP); got != "c/ns/web ns/web 203.0.113.9" || lb.Hours != 1 || lb.Private {
		t.Errorf("share %s: %+v", got, lb)
	}
}

// equalText compares values as they print, to nine digits.
func equalText(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+.9v", got), fmt.Sprintf("%+.9v", want); g != w {
		t.Errorf("%s: got  %s\nwant %s", what, g, w)
	}
}

// TestPrivateBalancers checks which load balancers are private: the internet does not reach them.
func TestPrivateBalancers(t *testing.T) {
	for address, private := range map[string]bool{
		"203.0.113.9": false, "10.1.2.3": true, "192.168.0.1": true, "fd00::1": true, "lb.example.com": false, "internal-a.eu.elb.example.com": true,
	} {
		s := buildGiven(t, allocation.Query{Resolution: time.Minute}, []given{
			{signal: signals.Balancer, key: "c/ns/web", points: minutes(1, 1, 121)},
			{signal: signals.BalancerIngress, key: "c/ns/web//" + address, points: minutes(1, 1, 121)},
		})[0]
		if b := s.Balancers[0]; b.IP != address || b.Private != private {
			t.Errorf("%+v, want private %t", b, private)
		}
	}
}
