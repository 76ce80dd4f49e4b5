package build_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// francs are the built-in prices, with answers in another currency.
type francs struct{ *pricing.Sheet }

func (francs) Currency() string { return "CHF" }

// nodeOf are the signals of another node of 4 cores, at a price of its own for each core-hour.
func nodeOf(cluster, name string, price *timeline.Points) []given {
	out := []given{
		{signal: signals.NodeInfo, key: cluster + "/" + name + "/id-" + name, points: minutes(1, 1, 121)},
		{signal: signals.NodeCapacity, key: cluster + "/" + name, points: minutes(4, 1, 121)},
	}
	if price != nil {
		out = append(out, given{signal: signals.NodePrice, key: cluster + "/" + name + "/t/r/a/id", points: price})
	}
	return out
}

// podOf are the signals of a pod that runs on a node.
func podOf(name, node string) []given {
	return []given{
		{signal: signals.PodInfo, key: "c/ns/" + name + "/u-" + name + "/" + node + "/ip/Job/j", points: minutes(1, 1, 121)},
		{signal: signals.ContainerRunning, key: "c/ns/" + name + "/u-" + name + "/main/", points: minutes(1, 1, 121)},
	}
}

// TestPriceWarnings checks the warnings about suspicious prices, missing prices and prices of unknown things.
func TestPriceWarnings(t *testing.T) {
	nan := &timeline.Points{}
	nan.AppendRun(clusterStart.Add(time.Minute).UnixMilli(), time.Minute.Milliseconds(), 120, math.NaN())
	for _, tt := range []struct {
		name   string
		series []given
		rates  rates.Rates
		want   []string
		not    string
	}{
		{name: "reference prices", series: nodeOf("c", "m", minutes(0.03, 1, 121)), not: "price"},
		{
			name: "by the month", series: nodeOf("c", "m", join(minutes(0.03, 1, 60), minutes(22, 61, 121))),
			want: []string{"prices by metrics of CPU of 1 node are up to 733 times what is usual (m): are they by the hour, not by the month?"},
		},
		{name: "before the window", series: nodeOf("c", "m", join(minutes(22, -9, -7), minutes(0.03, 1, 121))), not: "times what is usual"},
		{name: "by the month twice", series: nodeOf("c", "m", minutes(0.00003, 1, 121)), want: []string{"prices by metrics of CPU of 1 node are down to 0.001 times what is usual (m)"}},
		{
			name: "nothing, in two clusters", series: concat(nodeOf("c", "m", minutes(0, 1, 121)), nodeOf("d", "n", minutes(0, 1, 121))),
			want: []string{"prices by metrics are 0 for CPU of 2 nodes (c/m, d/n)"},
		},
		{
			name: "no number", series: nodeOf("c", "m", nan), not: "has neither",
			want: []string{"prices by metrics of CPU of 1 node that are NaN or infinite are left out (m)"},
		},
		{
			name: "infinite for a while", series: nodeOf("c", "m", join(minutes(0.03, 1, 60), minutes(math.Inf(1), 61, 121))),
			want: []string{"that are NaN or infinite are left out (m)"},
		},
		{
			name: "a volume", series: concat(disk("v", "", 1, 121)[:2], []given{{signal: signals.VolumePrice, key: "c/v", points: minutes(0.04, 1, 121)}}),
			want: []string{"prices by metrics of 1 volume are up to 800 times what is usual (v): are they by the hour, not by the month?"},
		},
		{
			name: "series that differ", series: concat(nodeOf("c", "m", minutes(0.03, 1, 121)), nodeOf("c", "m", minutes(0.02, 50, 121))),
			want: []string{"prices by metrics of CPU of 1 node differ between series of node_cpu_hourly_cost at the same time (m): the highest counts. If one of them is what a promcost exposes (--collector.opencost), let Prometheus keep job and instance of it and of promcost_build_info, or name it with --prometheus.exclude; else scrape one exporter of it"},
		},
		{name: "a price that changes as its exporter is replaced", series: concat(nodeOf("c", "m", minutes(0.03, 1, 60)), nodeOf("c", "m", minutes(0.02, 56, 121))), not: "differ"},
		{name: "equal series", series: concat(nodeOf("c", "m", minutes(0.03, 1, 121)), nodeOf("c", "m", minutes(0.03, 7, 121))), not: "differ"},
		{
			name: "a free volume", series: concat(disk("v", "", 1, 121)[:2], []given{{signal: signals.VolumePrice, key: "c/v", points: minutes(0, 1, 121)}}),
			want: []string{"prices by metrics are 0 for 1 volume (v)"},
		},
		{
			name: "a load balancer", series: []given{{signal: signals.BalancerPrice, key: "c/ns/web/203.0.113.9", points: minutes(18, 1, 121)}},
			want: []string{"prices by metrics of 1 load balancer are up to 720 times what is usual (ns/web)"},
		},
		{
			name: "management", series: []given{{signal: signals.ManagementPrice, key: "c/EKS", points: minutes(73, 1, 121)}},
			want: []string{"prices by metrics of 1 cluster's management are up to 730 times what is usual (c)"},
		},
		{name: "free management", series: []given{{signal: signals.ManagementPrice, key: "c/AKS", points: minutes(0, 1, 121)}}, not: "management"},
		{
			name: "traffic", series: []given{{signal: signals.InternetEgressPrice, key: "c", points: minutes(90, 1, 121)}},
			want: []string{"prices by metrics of 1 cluster's network traffic are up to 900 times what is usual (c): are they by the GiB?"},
		},
		{
			name: "defaults in another currency", rates: francs{pricing.Default()},
			series: concat(nodeOf("c", "m", nil), disk("v", "", 1, 121)[:2], []given{
				{signal: signals.Balancer, key: "c/ns/web", points: minutes(1, 1, 121)}, {signal: signals.NodeDisk, key: "c/n/sda1", points: minutes(gib, 1, 121)},
			}),
			want: []string{
				"1 node lacks a price: some of its resources have neither a node_*_hourly_cost series nor a rule of the price sheet; default prices were used (m), which are in USD, not converted to CHF.",
				"the default price was used (v), which are in USD, not converted to CHF.", "(ns/web), which are in USD, not converted to CHF.",
				"disks of 1 node have the default price (n), which are in USD, not converted to CHF.",
			},
		},
		{
			name: "no node, and one that nothing is known of", series: concat(podOf("a", ""), podOf("b", "ghost")),
			want: []string{"1 pod ran on no known node (ns/a): priced by defaults;", "1 pod (ns/b) ran for more than 5 minutes while its node was no node of the cluster: that time costs nothing."},
		},
		{
			name: "a claim that is bound to nothing known", series: []given{{signal: signals.VolumeClaim, key: "c/ns/data/gone", points: minutes(1, 1, 121)}},
			want: []string{"1 claim costs nothing: nothing is known of the volume that it is bound to (ns/data)"},
		},
		{
			name: "nodes of several clusters", series: concat(nodeOf("c", "m", nil), nodeOf("d", "m", nil)), want: []string{"default prices were used (c/m, d/m)"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rates := tt.rates
			if rates == nil {
				rates = flat{cpu: 1}
			}
			set := buildRated(t, allocation.Query{Resolution: time.Minute}, rates, tt.series)[0]
			for _, want := range tt.want {
				checkWarning(t, set, want)
			}
			if tt.not != "" && slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, tt.not) }) {
				t.Errorf("warnings of %q: %q", tt.not, set.Warnings)
			}
		})
	}
}
