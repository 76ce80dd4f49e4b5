package remote_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// demo is a demo cluster of ten hours, its blocks, and the answers computed from the blocks.
type demo struct {
	dir    string
	end    time.Time
	source *blocks.DB
	ran    map[string]float64 // by container, the seconds that it truly ran for within the window of compute
	hidden map[string]bool    // the containers that ended during an outage
}

// newDemo writes a demo cluster that ends at end.
func newDemo(t testing.TB, end time.Time) *demo {
	t.Helper()
	c, dir := promtest.WriteDemo(t, democluster.New, democluster.Config{End: end, Duration: 10 * time.Hour, Nodes: 4, Pods: 40, Seed: 2})
	d := &demo{dir: dir, end: end, ran: map[string]float64{}, hidden: map[string]bool{}}
	if d.learn(c); end.Equal(fixed) && len(d.hidden) == 0 {
		t.Fatal("no container ends during an outage: nothing shows what the sources make of it")
	}
	var err error
	if d.source, err = blocks.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.source.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// window is the last five hours of the demo.
func (d *demo) window() allocation.Window {
	return allocation.Window{Start: d.end.Add(-5 * time.Hour), End: d.end}
}

// learn takes the truth from the cluster.
func (d *demo) learn(c *democluster.Cluster) {
	truth := c.Truth(d.window().Start, d.window().End)
	for i := range truth.Containers {
		x := &truth.Containers[i]
		id := x.UID + "/" + x.Container
		d.ran[id] += x.RunningSeconds
		for _, o := range truth.Outages {
			if (o.Job == "" || o.Job == "kube-state-metrics") && x.LifeEnd.After(o.Start.Add(-scrape)) && x.LifeEnd.Before(o.End.Add(scrape)) {
				d.hidden[id] = true
			}
		}
	}
}

// compute is the set of the demo's window at a resolution, 0 being exact.
func (d *demo) compute(t testing.TB, src promquery.Source, resolution time.Duration) *allocation.Set {
	t.Helper()
	e := promquery.NewEngine(src, promquery.Config{
		Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default(),
	})
	sets, err := e.Compute(t.Context(), allocation.Query{Window: d.window(), Resolution: resolution})
	if err != nil {
		t.Fatal(err)
	}
	if err := passes.Check(sets[0]); err != nil {
		t.Error(err)
	}
	d.inBounds(t, sets[0])
	return sets[0]
}

// inBounds checks that each container truly ran for as long as the bounds of its row allow.
func (d *demo) inBounds(t testing.TB, s *allocation.Set) {
	t.Helper()
	const rounding = 0.001
	for row := range s.Len() {
		truth, ok := d.ran[container(s, row)]
		least, most := s.Value(allocation.LeastSeconds, row), s.Value(allocation.MostSeconds, row)
		if ok && (truth < least-rounding || truth > most+rounding) {
			t.Errorf("%s ran for %v s, outside of %v and %v", name(s, row), truth, least, most)
		}
	}
}

// scrape is the demo's scrape interval.
const scrape = 30 * time.Second

// resolutions are what servers are compared at.
var resolutions = []time.Duration{0, time.Minute, 5 * time.Minute, time.Hour}

// agree computes the demo from a server at every resolution and compares the answers with those from the blocks. Costs
// and times may differ by so many cells of the grid for each container, and containers whose whole life is within that
// may be missing, or be there in addition. In exact mode without staleness markers that is one scrape interval: a last sample lasts one
// interval where in the blocks it ends before.
func (d *demo) agree(t *testing.T, cfg remote.Config, cells float64) {
	t.Helper()
	cfg.Timeout = 10 * time.Minute
	src, err := remote.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, resolution := range append(soak.Of(resolutions[:2], resolutions), scrape) {
		t.Run(resolution.String(), func(t *testing.T) {
			got, want := d.compute(t, src, resolution), d.compute(t, d.source, resolution)
			slack := cells * resolution.Seconds()
			if resolution == 0 && cfg.Lookback > 0 {
				slack = scrape.Seconds()
			}
			d.compareRows(t, got, want, slack, resolution)
		})
	}
}

// container identifies the container of a row.
func container(s *allocation.Set, row int) string {
	return s.Text(allocation.PodUID, row) + "/" + s.Text(allocation.Container, row)
}

// name identifies a row: its key and the pod's UID.
func name(s *allocation.Set, row int) string {
	return s.Name(row) + " " + s.Text(allocation.PodUID, row)
}

// seenLonger is how many seconds more a container may count on a grid that ended during an outage of Prometheus, which leaves no
// staleness marker: PromQL sees its last sample for five minutes, and what reads raw samples for two scrapes. Either way the
// bounds reach to where it truly ended, which inBounds shows.
func seenLonger(resolution time.Duration) float64 {
	const longer = timeline.Lookback*int64(time.Millisecond) - 2*int64(scrape)
	if resolution == 0 {
		return 0
	}
	return math.Ceil(float64(longer)/float64(resolution)) * resolution.Seconds()
}

// compareRows compares running time and costs of the rows of two sets, allowing for perContainer seconds a container, and for
// those of seenLonger.
func (d *demo) compareRows(t *testing.T, got, want *allocation.Set, perContainer float64, resolution time.Duration) {
	t.Helper()
	rows := map[string]int{}
	for row := range got.Len() {
		rows[name(got, row)] = row
	}
	for i := range want.Len() {
		seconds, slack := want.Value(allocation.RunningSeconds, i), perContainer
		if d.hidden[container(want, i)] {
			slack += seenLonger(resolution)
		}
		row, ok := rows[name(want, i)]
		delete(rows, name(want, i))
		if !ok {
			if seconds > slack {
				t.Errorf("%s is missing: it ran for %v s", name(want, i), seconds)
			}
			continue
		}
		if d := math.Abs(got.Value(allocation.RunningSeconds, row) - seconds); d > slack+1e-6 {
			t.Errorf("%s ran for %v s, want %v", name(want, i), got.Value(allocation.RunningSeconds, row), seconds)
		}
		for _, c := range []allocation.Column{allocation.Cost.Of(allocation.CPU), allocation.Cost.Of(allocation.RAM)} {
			g, w := got.Value(c, row), want.Value(c, i)
			// Usage of the slack may be twice the average.
			if d := math.Abs(g - w); d > 1e-9*w+2*slack*w/max(1, seconds) {
				t.Errorf("%s: %s is %v, want %v", name(want, i), c, g, w)
			}
		}
	}
	for n, row := range rows {
		if s := got.Value(allocation.RunningSeconds, row); s > perContainer {
			t.Errorf("%s should not be there: %v s", n, s)
		}
	}
	if len(got.Nodes) != len(want.Nodes) {
		t.Errorf("%d nodes, want %d", len(got.Nodes), len(want.Nodes))
	}
}

// fixed is a time without a meaning.
var fixed = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// divided is a transport that counts the requests for namespaces, which are made to divide a request by them.
type divided struct{ n atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (d *divided) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.Contains(req.URL.Path, "/api/v1/label/") {
		d.n.Add(1)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// agreeInParts is agree with a server that refuses so much that hours, and namespaces of an hour, have to be asked for.
func (d *demo) agreeInParts(t *testing.T, base string) {
	t.Helper()
	var parts divided
	d.agree(t, remote.Config{URL: base, Mode: remote.ModeQuery, Client: &http.Client{Transport: &parts}}, 0)
	if parts.n.Load() == 0 {
		t.Error("nothing had to be divided by namespace")
	}
}

// TestVictoria computes from a real VictoriaMetrics. It takes over staleness markers and evaluates a plain selector like
// PromQL, so that a grid holds the very samples that the blocks give, and the answers are the same to rounding.
func TestVictoria(t *testing.T) {
	d := newDemo(t, fixed)
	url := promtest.StartVictoria(t, d.dir, true)
	d.agree(t, remote.Config{URL: url}, 0)
	t.Run("in parts", func(t *testing.T) {
		// It counts all samples of the blocks that a request touches, however short: hours do not help, namespaces do.
		d.agreeInParts(t, promtest.StartVictoria(t, d.dir, true, "-search.maxSamplesPerQuery=80000"))
	})
}

// TestWithoutMarkers computes from servers whose samples came without staleness markers. The last sample of a series is
// then seen for the lookback of two scrape intervals and not until the marker, which is one interval after it: that
// reaches at most one point of the grid more, so a container may seem to have run for one cell more.
func TestWithoutMarkers(t *testing.T) {
	d := newDemo(t, fixed)
	const lookback = 2 * scrape
	t.Run("VictoriaMetrics", func(t *testing.T) {
		d.agree(t, remote.Config{URL: promtest.StartVictoria(t, d.dir, false), Lookback: lookback}, 1)
	})
	t.Run("Prometheus", func(t *testing.T) {
		url := promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-remote-write-receiver"}})
		promtest.Push(t, url+"/api/v1/write", d.dir, false)
		d.agree(t, remote.Config{URL: url, Mode: remote.ModeQuery, Lookback: lookback}, 1)
	})
}

// TestPrometheusInParts computes from a real Prometheus that refuses to load many samples.
func TestPrometheusInParts(t *testing.T) {
	d := newDemo(t, fixed)
	d.agreeInParts(t, promtest.Start(t, d.dir, promtest.Config{Flags: []string{"--query.max-samples=6000"}}))
}

// TestEstimatesOfServers sees to it that real servers say how many samples they have: nothing is asked for of which there are too many.
func TestEstimatesOfServers(t *testing.T) {
	d := newDemo(t, fixed)
	for name, url := range map[string]string{
		"Prometheus": promtest.Start(t, d.dir, promtest.Config{}), "VictoriaMetrics": promtest.StartVictoria(t, d.dir, true),
	} {
		for _, step := range []int64{0, minuteMs} {
			sel := promquery.Request{Metric: "container_memory_working_set_bytes", Start: d.end.Add(-10*time.Hour).UnixMilli() + 1, End: d.end.UnixMilli(), Grid: promquery.Grid{Step: step}}
			_, stats, err := collect(t, must(remote.New(remote.Config{URL: url, Mode: remote.ModeQuery, MaxSamples: 12_000})), sel)
			if err != nil || stats.Samples < 40_000 {
				t.Errorf("%s: %d samples, %v", name, stats.Samples, err)
			}
			if stats.Requests < 1+stats.Samples/12_000 || slices.ContainsFunc(stats.Sent, func(s promquery.Sent) bool { return s.Failed }) {
				t.Errorf("%s: %d samples of %d requests, some of which failed: %+v", name, stats.Samples, stats.Requests, stats.Sent)
			}
		}
	}
}

// TestReplicas computes from a real Prometheus that holds the samples of two replicas: each sample twice, with different values of
// a label. They count once.
func TestReplicas(t *testing.T) {
	d := newDemo(t, fixed)
	base := promtest.Start(t, "", promtest.Config{Flags: []string{"--web.enable-remote-write-receiver"}, Behind: 12 * time.Hour})
	for _, replica := range []string{"a", "b"} {
		promtest.Push(t, base+"/api/v1/write", d.dir, true, "prometheus_replica", replica)
	}
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		t.Run(string(mode), func(t *testing.T) {
			d.agree(t, remote.Config{URL: base, Mode: mode, ReplicaLabels: []string{"prometheus_replica"}}, 0)
		})
	}
}
