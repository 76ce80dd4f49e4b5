package build_test

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
)

// ran is a pod x of one UID in minutes [from, to).
func ran(uid, ip string, from, to int) []given {
	return []given{
		{signal: signals.PodInfo, key: "c/ns/x/" + uid + "/n/" + ip + "/Job/j", points: minutes(1, from, to)},
		{signal: signals.ContainerRunning, key: "c/ns/x/" + uid + "/main/", points: minutes(1, from, to)},
	}
}

// seen is a signal in minutes [from, to).
func seen(signal signals.Signal, key string, from, to int) []given {
	return []given{{signal: signal, key: key, points: minutes(1, from, to)}}
}

// behind says that pod x is in the slice of a service in minutes [from, to).
func behind(service string, from, to int) []given {
	return concat(seen(signals.SliceService, "c/ns/"+service+"-x/"+service, from, to), seen(signals.SliceEndpoint, "c/ns/"+service+"-x//x", from, to))
}

// labeled says that pod x of uid has a label app in minutes [from, to).
func labeled(app string, from, to int) []given {
	return seen(signals.PodLabels, "c/ns/x/uid-x/app/"+app, from, to)
}

// selecting says that a service selects pods by a label app in minutes [from, to).
func selecting(service, app string, from, to int) []given {
	return seen(signals.ServiceSelector, "c/ns/"+service+"/app/"+app, from, to)
}

// servicesOfCases are the services of the rows of pod x, by the UID of the pod: in each of two hours, and in both as one set.
var servicesOfCases = []struct {
	name   string
	series []given
	hours  [2]map[string]string
	whole  map[string]string
}{
	{
		"it moves to another slice", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 80), behind("b", 80, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "b"}},
		map[string]string{"uid-x": "b"},
	},
	{
		"it leaves one of two services", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 80), behind("b", 1, 121)),
		[2]map[string]string{{"uid-x": "a b"}, {"uid-x": "b"}},
		map[string]string{"uid-x": "b"},
	},
	{
		"it leaves its service", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 80), seen(signals.ServiceInfo, "c/ns/a", 1, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": ""}},
		map[string]string{"uid-x": ""},
	},
	{
		"its service is made later", concat(ran("uid-x", "ip", 1, 121), behind("a", 80, 121), seen(signals.ServiceInfo, "c/ns/b", 1, 121)),
		[2]map[string]string{{"uid-x": ""}, {"uid-x": "a"}},
		map[string]string{"uid-x": "a"},
	},
	{
		"a service is made after it, in front of a pod of its name", concat(ran("uid-1", "ip1", 1, 50), ran("uid-2", "ip2", 65, 121), behind("a", 80, 121), seen(signals.ServiceInfo, "c/ns/b", 1, 121)),
		[2]map[string]string{{"uid-1": ""}, {"uid-2": "a"}},
		map[string]string{"uid-1": "", "uid-2": "a"},
	},
	{
		"another pod gets its address", concat(
			ran("uid-1", "ip", 1, 50), ran("uid-2", "ip", 65, 121),
			seen(signals.ServiceAddress, "c/ns/old/ip", 1, 50), seen(signals.ServiceAddress, "c/ns/new/ip", 65, 121),
		),
		[2]map[string]string{{"uid-1": "old"}, {"uid-2": "new"}},
		map[string]string{"uid-1": "old", "uid-2": "new"},
	},
	{
		"it is taken off its service while it ends", concat(ran("uid-x", "ip", 1, 50), seen(signals.ServiceAddress, "c/ns/a/ip", 1, 49), seen(signals.ServiceInfo, "c/ns/a", 1, 121)),
		[2]map[string]string{{"uid-x": "a"}, {}},
		map[string]string{"uid-x": "a"},
	},
	{
		"it is behind its service a scrape after it is seen", concat(ran("uid-x", "ip", 1, 121), behind("a", 2, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "a"}},
		map[string]string{"uid-x": "a"},
	},
	{
		"nothing tells of services for a while", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 45), behind("a", 75, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "a"}},
		map[string]string{"uid-x": "a"},
	},
	{
		"nothing tells of services any more", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 70)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "a"}},
		map[string]string{"uid-x": "a"},
	},
	{
		"nothing tells of services any more, for longer than any hour can see", concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 45)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": ""}},
		map[string]string{"uid-x": ""},
	},
	{
		"selectors: it gets another label", concat(ran("uid-x", "ip", 1, 121), labeled("one", 1, 80), labeled("two", 80, 121), selecting("a", "one", 1, 121), selecting("b", "two", 1, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "b"}},
		map[string]string{"uid-x": "b"},
	},
	{
		"selectors: a service selects others", concat(ran("uid-x", "ip", 1, 121), labeled("one", 1, 121), selecting("a", "one", 1, 80), selecting("a", "two", 80, 121), selecting("b", "two", 1, 80), selecting("b", "one", 80, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "b"}},
		map[string]string{"uid-x": "b"},
	},
	{
		"selectors: a service is made later", concat(ran("uid-x", "ip", 1, 50), ran("uid-2", "ip", 65, 121), labeled("one", 1, 50), seen(signals.PodLabels, "c/ns/x/uid-2/app/one", 65, 121),
			selecting("a", "one", 80, 121), selecting("b", "two", 1, 121)),
		[2]map[string]string{{"uid-x": ""}, {"uid-2": "a"}},
		map[string]string{"uid-x": "", "uid-2": "a"},
	},
	{
		"selectors: a service is deleted", concat(ran("uid-x", "ip", 1, 121), labeled("one", 1, 121), selecting("a", "one", 1, 80), selecting("b", "two", 1, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": ""}},
		map[string]string{"uid-x": ""},
	},
	{
		"selectors: nothing tells of them for a while", concat(ran("uid-x", "ip", 1, 121), labeled("one", 1, 121), selecting("a", "one", 1, 45), selecting("a", "one", 75, 121)),
		[2]map[string]string{{"uid-x": "a"}, {"uid-x": "a"}},
		map[string]string{"uid-x": "a"},
	},
}

// servicesOf are the services of the rows of pod x, by its UID.
func servicesOf(s *allocation.Set) map[string]string {
	out := map[string]string{}
	for row := range s.Len() {
		if s.Text(allocation.Pod, row) == "x" {
			var names []string
			for _, id := range s.List(allocation.Services, row) {
				names = append(names, s.Dict().Text(id))
			}
			out[s.Text(allocation.PodUID, row)] = strings.Join(names, " ")
		}
	}
	return out
}

// TestServicesOfTheirTime checks that a row has the services that its pod is behind at the end of its running time within the set.
func TestServicesOfTheirTime(t *testing.T) {
	for _, tt := range servicesOfCases {
		for _, resolution := range []time.Duration{0, time.Minute} {
			t.Run(tt.name+"/"+allocation.ResolutionText(resolution), func(t *testing.T) {
				var got []map[string]string
				for _, step := range []time.Duration{time.Hour, 0} {
					for _, s := range buildGiven(t, allocation.Query{Resolution: resolution, Step: step}, tt.series) {
						got = append(got, servicesOf(s))
					}
				}
				if diff := cmp.Diff([]map[string]string{tt.hours[0], tt.hours[1], tt.whole}, got); diff != "" {
					t.Errorf("hours and the window of both (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestBalancersOfTheirTime checks that a load balancer is charged to the pods behind its service while they are behind it, and to nobody else.
func TestBalancersOfTheirTime(t *testing.T) {
	series := concat(ran("uid-x", "ip", 1, 121), behind("a", 1, 81), behind("b", 81, 121))
	for _, service := range []string{"a", "b"} {
		series = append(series, seen(signals.Balancer, "c/ns/"+service, 1, 121)...)
		series = append(series, given{signal: signals.BalancerPrice, key: "c/ns/" + service + "/", points: minutes(0.6, 1, 121)})
	}
	// On the grid the minute before it is seen anew is of the new service, in exact mode half of it, and all begins half a minute late.
	grid := map[string]float64{"x a": 80, "x b": 40, "__unallocated__ a": 40, "__unallocated__ b": 80}
	exact := map[string]float64{"x a": 80, "x b": 39.5, "__unallocated__ a": 39.5, "__unallocated__ b": 80}
	for _, tt := range []struct {
		q    allocation.Query
		want map[string]float64 // minutes
	}{
		{allocation.Query{Resolution: time.Minute}, grid},
		{allocation.Query{Resolution: time.Minute, Step: time.Hour}, grid},
		{allocation.Query{}, exact},
		{allocation.Query{Step: time.Hour}, exact},
	} {
		got := map[string]float64{}
		for _, s := range buildGiven(t, tt.q, series) {
			for row := range s.Len() {
				for _, share := range s.LoadBalancerShares(row) {
					got[s.Text(allocation.Pod, row)+" "+strings.TrimPrefix(s.Dict().Text(share.Service), "ns/")] += share.Cost * 100
				}
			}
		}
		if !maps.EqualFunc(tt.want, got, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("step %s, %s: %v minutes, want %v", tt.q.Step, allocation.ResolutionText(tt.q.Resolution), got, tt.want)
		}
	}
}
