package promquery_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// unseenPods are the pods of the trials of outages, by when they run, in seconds of the window; of a cluster each, "" being one without a label.
var unseenPods = []struct {
	name     string
	from, to int
}{
	{"other", -600, 7800},   // runs on both sides
	{"job", 1800, 2100},     // ends unseen
	{"before", 1200, 1700},  // ended before
	{"next", 2400, 3000},    // begins unseen
	{"within", 2100, 2400},  // runs unseen
	{"brief", 1950, 1990},   // ends just before
	{"late", 7140, 7800},    // begins at the end
	{"early", -600, 60},     // ends at the beginning
	{"again-1", 1500, 2050}, // is replaced unseen
	{"again-2", 2050, 7800},
}

// blackout is when the Prometheus of a cluster was down, or its kube-state-metrics: then markers end what was there.
type blackout struct {
	cluster  string
	interval int // of scrapes, in seconds
	from, to int
	marked   bool
}

// series are what the cluster's Prometheus stores.
func (o *blackout) series() (list []promtest.Series) {
	add := func(from, to int, v float64, name string, labels ...string) {
		if o.cluster != "" {
			labels = append(labels, "cluster", o.cluster)
		}
		for _, x := range [][2]int{{from, min(to, o.from)}, {max(from, o.to), to}} {
			if x[0] >= x[1] {
				continue
			}
			s := regularly(o.interval, (x[0]+o.interval-1)/o.interval*o.interval, x[1], func(int) (float64, bool) { return v, true }, name, labels...)
			s.Labels = append([]string{"__name__", name}, labels...)
			if len(s.Samples) == 0 {
				continue
			}
			if ends := x[1] < o.from || x[1] > o.to || o.marked; ends { // the next scrape finds it gone
				last := s.Samples[len(s.Samples)-1].T
				s.Samples = append(s.Samples, promtest.Sample{T: last + int64(o.interval)*1000, V: math.Float64frombits(value.StaleNaN)})
			}
			list = append(list, s)
		}
	}
	for _, p := range unseenPods {
		of := []string{"namespace", "batch", "pod", p.name, "uid", "uid-" + p.name}
		on := append(slices.Clone(of), "container", "c")
		add(p.from, p.to, 1, "kube_pod_info", append(of, "node", "n1")...)
		add(p.from, p.to, 1, "kube_pod_container_status_running", slices.Clone(on)...)
		add(p.from, p.to, float64(lifeStart.Unix())+float64(p.from), "kube_pod_container_state_started", slices.Clone(on)...)
		add(p.from, p.to, 0, "kube_pod_container_status_restarts_total", slices.Clone(on)...)
		add(p.from, p.to, 1, "kube_pod_container_resource_requests", append(slices.Clone(on), "resource", "cpu", "unit", "core", "node", "n1")...)
	}
	add(-600, 7800, 1, "kube_node_info", "node", "n1")
	add(-600, 7800, 4, "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core")
	return list
}

// TestOutagesByQueryAPI checks that a server that answers on a grid gives the same rows as its blocks, the seconds they ran and the bounds of
// these, over outages that leave no staleness markers: there the server shows a sample for a lookback longer.
func TestOutagesByQueryAPI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		outages []blackout // where scrapes differ, bounds do, and a grid may be too coarse to show how far apart they are
	}{
		{"ten minutes", []blackout{{"", 30, 2010, 2610, false}}},
		{"four minutes", []blackout{{"", 30, 2010, 2250, false}}},
		{"four hours", []blackout{{"", 30, 2010, 7900, false}}},
		{"scrapes each quarter of a minute", []blackout{{"", 15, 2010, 2610, false}}},
		{"scrapes each second minute", []blackout{{"", 120, 2040, 2760, false}}},
		{"only kube-state-metrics", []blackout{{"", 30, 2010, 2610, true}}},
		{"across the window's beginning", []blackout{{"", 30, -200, 400, false}}},
		{"across the window's end", []blackout{{"", 30, 7000, 7500, false}}},
		{"one of two clusters", []blackout{{"a", 30, 2010, 2610, false}, {"b", 30, 9000, 9000, false}}},
		{"clusters with scrapes of their own", []blackout{{"a", 15, 9000, 9000, false}, {"b", 15, 2010, 2610, false}, {"c", 60, 9000, 9000, false}, {"d", 120, 3100, 3700, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var list []promtest.Series
			for _, o := range tt.outages {
				list = append(list, o.series()...)
			}
			promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
			server, err := remote.New(remote.Config{URL: promtest.Start(t, dir, promtest.Config{}), Mode: remote.ModeQuery})
			if err != nil {
				t.Fatal(err)
			}
			resolutions, differ := []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute}, tt.outages[0].interval != tt.outages[len(tt.outages)-1].interval
			if differ {
				resolutions = resolutions[:1]
			}
			for _, resolution := range resolutions {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				names := func(s *allocation.Set, row int) string {
					return s.Text(allocation.Cluster, row) + " " + s.Text(allocation.Pod, row)
				}
				want, got := boundsOf(compute(t, openBlocks(t, dir), q), names), boundsOf(compute(t, server, q), names)
				same := func(a, b bounded) bool { return a == b || differ && a.counted == b.counted }
				if !maps.EqualFunc(got, want, same) {
					t.Errorf("at %s, by the query API and from blocks:", resolution)
					for _, name := range slices.Sorted(maps.Keys(want)) {
						if !same(got[name], want[name]) {
							t.Errorf("%s: %+v, %+v", name, got[name], want[name])
						}
					}
				}
				if x := got["cluster-one job"]; len(tt.outages) == 1 && !x.holds(300) {
					t.Errorf("at %s: %+v does not hold 300 s", resolution, x)
				}
			}
		})
	}
}
