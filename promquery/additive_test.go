package promquery_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// TestPartsAddUp holds the law of SEMANTICS §2: of every column that is a sum, the parts of a window that are computed each by
// itself add up to the window, and their maximum is the window's.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	c, db := demoBlocks(t)
	r := rand.New(rand.NewPCG(11, 1))
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
	type part struct {
		name string
		q    allocation.Query
	}
	start, end := c.Start().Add(time.Hour), c.End().Add(-time.Hour)
	parts := []part{
		{"exact, hours", allocation.Query{Window: allocation.Window{Start: start, End: end}, Step: time.Hour}},
		{"1m, hours", allocation.Query{Window: allocation.Window{Start: start, End: end}, Step: time.Hour, Resolution: time.Minute}},
		{"5m, hours", allocation.Query{Window: allocation.Window{Start: start, End: end}, Step: time.Hour, Resolution: 5 * time.Minute}},
		{"10m, hours", allocation.Query{Window: allocation.Window{Start: start, End: end}, Step: time.Hour, Resolution: 10 * time.Minute}},
	}
	for range 3 {
		w := allocation.Window{Start: start.Add(seconds(3600)), End: end.Add(-seconds(3600))}
		parts = append(parts, part{"exact, any second", allocation.Query{Window: w, Step: 20*time.Minute + seconds(3600)}})
	}
	for _, x := range parts {
		t.Run(fmt.Sprintf("%s %s", x.name, x.q.Step), func(t *testing.T) { partsAddUp(t, db, x.q, nil) })
	}
}

// partsAddUp compares a window with its steps, each computed by itself.
func partsAddUp(t *testing.T, src promquery.Source, q allocation.Query, leftOut *regexp.Regexp) {
	t.Helper()
	q.After = time.Hour
	own := q
	own.Alone = true
	apart, err := promquery.NewEngine(src, config).Compute(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	q.Step = 0
	compareFigures(t, figuresOf(compute(t, src, q)), figuresOf(apart), leftOut)
}

// overOutages is what is not held over outages: shares, as slack says.
var overOutages = regexp.MustCompile(shares + "$")

// TestPartsAddUpOverOutages checks the same if targets, or all of Prometheus, are down around the border between two parts: for so
// short that it is bridged, and for longer.
func TestPartsAddUpOverOutages(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	original := seriesOf(t, dir)
	border := c.Start().Add(4 * time.Hour)
	minutes := func(n int) time.Time { return border.Add(time.Duration(n) * time.Minute) }
	for i, d := range []down{
		{from: minutes(-20), to: minutes(30)},
		{from: minutes(-50), to: minutes(8), marked: true},
		{from: minutes(-2), to: minutes(50), job: "kube-state-metrics", marked: true},
		{from: minutes(-40), to: minutes(15), job: "kube-state-metrics"},
		{from: minutes(-30), to: minutes(20), job: "kubelet", marked: true},
		{from: minutes(-70), to: minutes(75), job: "kubelet", marked: true},
		{from: minutes(-30), to: minutes(47), job: "kube-state-metrics", marked: true},
		{from: minutes(-100), to: minutes(85), job: "opencost", marked: true},
		{from: minutes(-90), to: minutes(75)},
		{from: minutes(-61), to: minutes(3)},
		{from: minutes(-45), to: minutes(40)},
		{from: minutes(4), to: minutes(70)}, // in which a container starts again
	} {
		broken := t.TempDir()
		promtest.WriteBlocks(t, broken, 2*time.Hour, interrupted(original, d)...)
		db := openBlocks(t, broken)
		for k, q := range []allocation.Query{
			{Window: allocation.Window{Start: minutes(-120), End: minutes(120)}, Step: time.Hour},
			{Window: allocation.Window{Start: minutes(-120).Add(17 * time.Second), End: minutes(118)}, Step: 37*time.Minute + 13*time.Second},
			{Window: allocation.Window{Start: minutes(-120), End: minutes(120)}, Step: time.Hour, Resolution: 2 * time.Minute},
			{Window: allocation.Window{Start: minutes(-120), End: minutes(120)}, Step: time.Hour, Resolution: 10 * time.Minute},
		} {
			if i%4 != k && (i+k)%4 != 3 && !soak.On() { // both diagonals of every four outages
				continue
			}
			t.Run(fmt.Sprintf("%s/%s %s", d, q.Step, allocation.ResolutionText(q.Resolution)), func(t *testing.T) { partsAddUp(t, db, q, overOutages) })
		}
	}
}

// TestPartsAddUpAtOutages checks the same if an outage begins or ends just at the border between two parts, and if only samples
// beyond a part show what ran on or started in it.
func TestPartsAddUpAtOutages(t *testing.T) {
	t.Parallel()
	made := demos{}
	at := func(h, m, s int) time.Time { return time.Date(2026, 3, 2, h, m, s, 0, time.UTC) }
	hours := allocation.Window{Start: at(13, 0, 0), End: at(17, 0, 0)}
	for _, x := range []struct {
		name    string
		seed    int64
		scrape  time.Duration
		down    down
		q       allocation.Query
		leftOut *regexp.Regexp
	}{
		{
			"kubelets are down when the window starts", 5, 30 * time.Second,
			down{from: at(13, 37, 5), to: at(13, 55, 57), job: "kubelet", marked: true},
			allocation.Query{Window: allocation.Window{Start: at(13, 49, 18), End: at(16, 37, 5)}, Step: 40 * time.Minute},
			overOutages,
		},
		{
			"the last scrape is that of a border", 5, time.Minute,
			down{from: at(14, 59, 39), to: at(15, 37, 48)},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: time.Minute},
			overOutages,
		},
		{
			"counters are read in two stretches", 5, time.Minute,
			down{from: at(16, 19, 20), to: at(16, 29, 40), job: "kubelet"},
			allocation.Query{Window: allocation.Window{Start: at(16, 1, 0), End: at(16, 31, 0)}, Step: 10 * time.Minute, Resolution: time.Minute},
			overOutages,
		},
		{
			"a container starts just before a border", 2, 30 * time.Second,
			down{from: at(14, 26, 51), to: at(15, 2, 24), job: "kubelet"},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: 5 * time.Minute},
			overOutages,
		},
		{
			"pods start while kubelets are down", 5, 30 * time.Second,
			down{from: at(13, 37, 5), to: at(14, 5, 57), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour},
			overOutages,
		},
		{
			"kubelets are down for more than an hour", 5, time.Minute,
			down{from: at(13, 29, 22), to: at(14, 41, 40), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour},
			overOutages,
		},
		{
			"a container starts again while kubelets are down for more than an hour", 5, time.Minute,
			down{from: at(14, 20, 25), to: at(15, 45, 58), job: "kubelet", marked: true},
			allocation.Query{Window: allocation.Window{Start: at(14, 0, 0), End: at(15, 44, 0)}, Step: 26 * time.Minute},
			overOutages,
		},
		{
			"kubelets are down for more than an hour, just after a container was seen first", 5, time.Minute,
			down{from: at(13, 24, 25), to: at(14, 49, 58), job: "kubelet", marked: true},
			allocation.Query{Window: allocation.Window{Start: at(13, 4, 0), End: at(14, 48, 0)}, Step: 26 * time.Minute},
			overOutages,
		},
		{
			"a container starts while kubelets are down for more than an hour", 1, time.Minute,
			down{from: at(13, 40, 25), to: at(15, 5, 58), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour},
			overOutages,
		},
		{
			"kube-state-metrics goes down just after a container started", 3, 30 * time.Second,
			down{from: at(13, 25, 56), to: at(14, 1, 0), job: "kube-state-metrics"},
			allocation.Query{Window: allocation.Window{Start: at(13, 3, 57), End: at(13, 55, 9)}, Step: 25*time.Minute + 36*time.Second},
			overOutages,
		},
		{
			"a container starts again while kube-state-metrics is down for more than an hour", 3, time.Minute,
			down{from: at(13, 27, 13), to: at(14, 30, 50), job: "kube-state-metrics"},
			allocation.Query{Window: allocation.Window{Start: at(12, 56, 22), End: at(14, 34, 4)}, Step: 32*time.Minute + 34*time.Second},
			overOutages,
		},
		{
			"an outage ends just before a border", 2, 15 * time.Second,
			down{from: at(13, 29, 33), to: at(13, 59, 49)},
			allocation.Query{Window: allocation.Window{Start: at(13, 0, 0), End: at(15, 0, 0)}, Step: time.Hour},
			overOutages,
		},
		{
			"containers start again while kubelets are down", 5, time.Minute,
			down{from: at(14, 31, 39), to: at(15, 1, 20), job: "kubelet"},
			allocation.Query{Window: allocation.Window{Start: at(14, 0, 0), End: at(15, 20, 0)}, Step: 40 * time.Minute},
			overOutages,
		},
		{
			"on a grid, a window ends just after the last sample", 5, time.Minute,
			down{from: at(13, 29, 22), to: at(14, 41, 40), job: "kubelet", marked: false},
			allocation.Query{Window: allocation.Window{Start: at(13, 15, 0), End: at(13, 45, 0)}, Step: 12 * time.Minute, Resolution: time.Minute},
			overOutages,
		},
		{
			"on a grid, a container is first measured long after its start", 4, time.Minute,
			down{from: at(14, 31, 39), to: at(15, 1, 20), job: "kubelet"},
			allocation.Query{Window: hours, Step: 15 * time.Minute, Resolution: 5 * time.Minute},
			overOutages,
		},
		{
			"no point of the grid sees the last scrape before a long outage", 3, 15 * time.Second,
			down{from: at(13, 54, 38), to: at(15, 16, 58)},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: 5 * time.Minute},
			overOutages,
		},
		{
			"kubelets are down at the end of a window, kube-state-metrics just after it", 1, time.Minute,
			down{from: at(16, 43, 50), to: at(17, 38, 54), job: "kubelet", marked: true},
			allocation.Query{Window: allocation.Window{Start: at(16, 26, 8), End: at(17, 2, 8)}, Step: 18 * time.Minute, Resolution: time.Minute},
			overOutages,
		},
		{
			"on a grid, a marker follows the last sample before a long outage", 5, time.Minute,
			down{from: at(13, 29, 22), to: at(14, 41, 40), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: time.Minute},
			overOutages,
		},
		{
			"on a grid, a container is seen once before a long outage", 5, time.Minute,
			down{from: at(13, 29, 22), to: at(14, 41, 40), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: 5 * time.Minute},
			overOutages,
		},
		{
			"on a grid, a container starts in a long outage, and is measured after the hour", 5, time.Minute,
			down{from: at(13, 44, 24), to: at(15, 39, 31), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: time.Minute},
			overOutages,
		},
		{
			"on a grid, an hour begins with the first sample after an outage", 4, time.Minute,
			down{from: at(14, 1, 12), to: at(14, 58, 23), job: "kubelet", marked: true},
			allocation.Query{Window: hours, Step: time.Hour, Resolution: 5 * time.Minute},
			overOutages,
		},
		{
			"on a grid, a window is read from just before the marker of an outage", 5, time.Minute,
			down{from: at(14, 1, 12), to: at(14, 58, 23), job: "kubelet", marked: true},
			allocation.Query{Window: allocation.Window{Start: at(14, 6, 13), End: at(14, 18, 13)}, Step: 2 * time.Minute, Resolution: time.Minute},
			overOutages,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			partsAddUp(t, made.interrupted(t, demoPlan{x.seed, 6 * time.Hour, x.scrape}, x.down), x.q, x.leftOut)
		})
	}
}

// demoPlan names a demo cluster until 18:00.
type demoPlan struct {
	seed             int64
	duration, scrape time.Duration
}

// demos are the series of demo clusters, each made once.
type demos map[demoPlan][]promtest.Series

// interrupted is a demo cluster with outages.
func (made demos) interrupted(t *testing.T, d demoPlan, outages ...down) promquery.Source {
	t.Helper()
	if made[d] == nil {
		end := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
		c, err := democluster.New(democluster.Config{End: end, Duration: d.duration, Nodes: 4, Pods: 60, Seed: d.seed, ScrapeInterval: d.scrape})
		if err != nil {
			t.Fatal(err)
		}
		// Without series that name their pods by exported_pod, as in a cluster without GPUs, usage beyond a window is read by name.
		made[d] = slices.DeleteFunc(seriesOfCluster(t, c), func(s promtest.Series) bool { return slices.Contains(s.Labels, "exported_pod") })
	}
	list := made[d]
	for _, o := range outages {
		list = interrupted(list, o)
	}
	broken := t.TempDir()
	promtest.WriteBlocks(t, broken, 2*time.Hour, list...)
	return openBlocks(t, broken)
}

// TestPartsAddUpOverLongOutages checks the same for decisions near an outage of about an hour or more: about traffic and usage in
// it, its running time, and prices and volumes in it.
func TestPartsAddUpOverLongOutages(t *testing.T) {
	t.Parallel()
	made := demos{}
	at := func(h, m, s int) time.Time { return time.Date(2026, 3, 2, h, m, s, 0, time.UTC) }
	for _, x := range []struct {
		name   string
		seed   int64
		scrape time.Duration
		downs  []down
		q      allocation.Query
	}{
		{
			"the price of traffic changes while Prometheus is down", 1, 30 * time.Second,
			[]down{{from: at(15, 44, 24), to: at(16, 38, 43)}},
			allocation.Query{Window: allocation.Window{Start: at(15, 42, 40), End: at(16, 0, 40)}, Step: 6 * time.Minute, Resolution: time.Minute},
		},
		{
			"several kubelets tell how full a volume is", 7, time.Minute,
			[]down{{from: at(12, 58, 18), to: at(13, 29, 54), job: "kubelet", marked: true}},
			allocation.Query{Window: allocation.Window{Start: at(13, 0, 0), End: at(15, 0, 0)}, Step: time.Hour},
		},
		{
			"an hour lies between two samples of traffic", 1, time.Minute,
			[]down{{from: at(11, 27, 14), to: at(12, 26, 34), job: "kubelet", marked: true}},
			allocation.Query{Window: allocation.Window{Start: at(11, 0, 0), End: at(13, 0, 0)}, Step: time.Hour},
		},
		{
			"a kubelet is down while kube-state-metrics is", 1, time.Minute,
			[]down{{from: at(15, 43, 45), to: at(17, 27, 17), job: "kube-state-metrics"}},
			allocation.Query{Window: allocation.Window{Start: at(15, 31, 16), End: at(16, 1, 16)}, Step: 10 * time.Minute, Resolution: time.Minute},
		},
		{
			"a pod follows another of its name", 1, time.Minute,
			[]down{{from: at(11, 9, 5), to: at(12, 27, 13), job: "kubelet"}, {from: at(15, 27, 57), to: at(17, 4, 6), job: "kube-state-metrics", marked: true}},
			allocation.Query{Window: allocation.Window{Start: at(11, 16, 4), End: at(16, 23, 26)}, Step: time.Hour + 17*time.Minute + 16*time.Second},
		},
		{
			"a container starts again while its kubelet is down", 7, time.Minute,
			[]down{{from: at(13, 10, 11), to: at(14, 54, 34), job: "kubelet"}},
			allocation.Query{Window: allocation.Window{Start: at(13, 41, 36), End: at(14, 53, 27)}, Step: 23*time.Minute + 57*time.Second},
		},
		{
			"a container starts again at the end of an hour, while its kubelet is down", 6, time.Minute,
			[]down{{from: at(13, 55, 53), to: at(14, 34, 1), job: "kubelet", marked: true}},
			allocation.Query{Window: allocation.Window{Start: at(13, 0, 0), End: at(15, 0, 0)}, Step: time.Hour},
		},
		{
			"an init container is seen once after an outage", 7, 30 * time.Second,
			[]down{{from: at(15, 18, 26), to: at(15, 39, 52)}},
			allocation.Query{Window: allocation.Window{Start: at(15, 26, 19), End: at(15, 47, 19)}, Step: 7 * time.Minute, Resolution: time.Minute},
		},
		{
			"a window begins just after an outage of two hours", 2, 15 * time.Second,
			[]down{{from: at(13, 54, 29), to: at(15, 52, 54)}},
			allocation.Query{Window: allocation.Window{Start: at(15, 43, 54), End: at(16, 3, 54)}, Step: 10 * time.Minute, Resolution: time.Minute},
		},
		{
			"not all is seen again at once after an outage", 7, 15 * time.Second,
			[]down{{from: at(10, 52, 28), to: at(12, 46, 48)}},
			allocation.Query{Window: allocation.Window{Start: at(11, 44, 49), End: at(12, 56, 49)}, Step: 12 * time.Minute, Resolution: time.Minute},
		},
		{
			"a start is told more than an hour later", 4, time.Minute,
			[]down{{from: at(13, 51, 28), to: at(15, 13, 26), job: "kube-state-metrics"}},
			allocation.Query{Window: allocation.Window{Start: at(13, 0, 0), End: at(16, 0, 0)}, Step: time.Hour},
		},
		{
			"a container waits before kube-state-metrics is down and is gone after it", 2, time.Minute,
			[]down{{from: at(13, 32, 8), to: at(15, 21, 56), job: "kube-state-metrics"}},
			allocation.Query{Window: allocation.Window{Start: at(14, 4, 17), End: at(15, 25, 13)}, Step: 40*time.Minute + 28*time.Second},
		},
		{
			"a container is seen once after an outage, by its kubelet alone", 2, time.Minute,
			[]down{{from: at(10, 26, 43), to: at(12, 25, 20)}},
			allocation.Query{Window: allocation.Window{Start: at(11, 0, 0), End: at(13, 0, 0)}, Step: time.Hour},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			partsAddUp(t, made.interrupted(t, demoPlan{x.seed, 8 * time.Hour, x.scrape}, x.downs...), x.q, overOutages)
		})
	}
}

// seriesOfCluster are all series of a demo cluster.
func seriesOfCluster(t *testing.T, c *democluster.Cluster) []promtest.Series {
	t.Helper()
	dir := t.TempDir()
	if err := c.WriteBlocks(t.Context(), dir, c.Start(), c.End(), nil); err != nil {
		t.Fatal(err)
	}
	return seriesOf(t, dir)
}
