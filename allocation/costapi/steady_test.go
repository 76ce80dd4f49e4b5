package costapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/allocation/windows"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// steadyScrape is the scrape interval of the steady cluster, in milliseconds.
const steadyScrape = 60_000

// steady is a source of a cluster in which one pod with one container, one node and one volume have always been there and
// never change: counters grow by rate a second, everything else keeps its value.
type steady struct {
	now int64 // the last scrape was at or before it, Unix milliseconds
	raw bool  // whether it gives raw samples without being asked for them in range selectors
}

// steadySeries are the series of the steady cluster.
var steadySeries = []struct {
	metric, labels string
	value, rate    float64
}{
	{"kube_node_info", "node=n1 provider_id=aws:///z/i-1 internal_ip=10.0.0.1", 1, 0},
	{"kube_node_status_capacity", "node=n1 resource=cpu unit=core", 4, 0},
	{"kube_node_status_capacity", "node=n1 resource=memory unit=byte", 16 << 30, 0},
	{"kube_node_status_capacity", "node=n1 resource=nvidia_com_gpu unit=integer", 2, 0},
	{"node_cpu_hourly_cost", "node=n1", 0.5, 0},
	{"node_ram_hourly_cost", "node=n1", 0.125, 0},
	{"node_gpu_hourly_cost", "node=n1", 2, 0},
	{"kube_pod_info", "namespace=web pod=p uid=u1 node=n1 host_ip=10.0.0.1", 1, 0},
	{"kube_pod_container_status_running", "namespace=web pod=p uid=u1 container=c", 1, 0},
	{"kube_pod_container_resource_requests", "namespace=web pod=p uid=u1 container=c node=n1 resource=cpu unit=core", 2, 0},
	{"kube_pod_container_resource_requests", "namespace=web pod=p uid=u1 container=c node=n1 resource=memory unit=byte", 2 << 30, 0},
	{"kube_pod_container_resource_requests", "namespace=web pod=p uid=u1 container=c node=n1 resource=nvidia_com_gpu unit=integer", 1, 0},
	{"kube_pod_container_resource_limits", "namespace=web pod=p uid=u1 container=c node=n1 resource=cpu unit=core", 3, 0},
	{"container_cpu_usage_seconds_total", "namespace=web pod=p container=c id=/kubepods/podu1/c1 node=n1", 0, 1},
	{"container_memory_working_set_bytes", "namespace=web pod=p container=c id=/kubepods/podu1/c1 node=n1", 3 << 30, 0},
	{"container_network_transmit_bytes_total", "namespace=web pod=p interface=eth0 id=/kubepods/podu1 node=n1", 0, 3000},
	{"container_network_receive_bytes_total", "namespace=web pod=p interface=eth0 id=/kubepods/podu1 node=n1", 0, 5000},
	{"kube_persistentvolume_capacity_bytes", "persistentvolume=pv1", 10 << 30, 0},
	{"kube_persistentvolume_info", "persistentvolume=pv1 storageclass=fast csi_volume_handle=vol-1", 1, 0},
	{"kube_persistentvolumeclaim_info", "namespace=web persistentvolumeclaim=data volumename=pv1", 1, 0},
	{"kube_pod_spec_volumes_persistentvolumeclaims_info", "namespace=web pod=p uid=u1 persistentvolumeclaim=data", 1, 0},
	{"pv_hourly_cost", "persistentvolume=pv1", 0.25, 0},
}

// steadyRates are what an hour of the steady cluster is, by the field of answers: of the container, of the node, of the volume.
var steadyRates = []map[string]float64{
	{
		"minutes": 60, "cpuCoreHours": 2, "ramByteHours": 3 << 30, "gpuHours": 1, "pvByteHours": 10 << 30,
		"cpuCoreRequestAverage": 2, "cpuCoreUsageAverage": 1, "cpuCoreLimitAverage": 3, "ramByteRequestAverage": 2 << 30, "ramByteUsageAverage": 3 << 30,
		"networkTransferBytes": 3000 * 3600, "networkReceiveBytes": 5000 * 3600,
		"cpuCost": 2 * 0.5, "ramCost": 3 * 0.125, "gpuCost": 2, "pvCost": 10 * 0.25, "totalCost": 1 + 0.375 + 2 + 2.5,
	},
	{"minutes": 60, "cpuCoreHours": 4, "ramByteHours": 16 << 30, "GPUHours": 2, "cpuCost": 2, "ramCost": 2, "gpuCost": 4, "totalCost": 8},
	{"minutes": 60, "byteHours": 10 << 30, "totalCost": 2.5},
}

// Raw implements promquery.Sampler.
func (s steady) Raw(context.Context, int64, int64) bool { return s.raw }

// Select implements promquery.Source.
func (s steady) Select(ctx context.Context, rs []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) { return s.read(ctx, rs, yield) })
}

func (s steady) read(ctx context.Context, sels []promquery.Request, yield promquery.Yield) (stats promquery.Stats, err error) {
	keys := chunks.NewKeys(nil, chunks.NewSymbols(promquery.SymbolsOf(ctx)))
	var p timeline.Points
	for i, sel := range sels {
		matchers, err := chunks.Matchers(&sel)
		if err != nil {
			return stats, err
		}
	series:
		for _, x := range steadySeries {
			if x.metric != sel.Metric {
				continue
			}
			labels := map[string]string{"__name__": x.metric}
			for pair := range strings.FieldsSeq(x.labels) {
				name, value, _ := strings.Cut(pair, "=")
				labels[name] = value
			}
			for _, m := range matchers {
				if !m.Matches(labels[m.Name]) {
					continue series
				}
			}
			keys.Begin(&sel)
			for name, value := range labels {
				keys.Label(name, value)
			}
			p.Reset()
			s.fill(&p, &sel, x.value, x.rate)
			p.SetSeries(keys.Series())
			if stats.Count(int64(p.Len())); p.Len() == 0 {
				continue
			}
			if err := yield(i, keys.Key(), &p); err != nil {
				return stats, err
			}
		}
	}
	return stats, nil
}

// fill appends the samples that a selector asks for.
func (s steady) fill(p *timeline.Points, sel *promquery.Request, value, rate float64) {
	at := func(t int64) float64 { return value + rate*float64(t)/1000 }
	if sel.Grid.Times {
		at = func(t int64) float64 { return float64(t) / 1000 }
	}
	scraped := func(t int64) int64 { return t - t%steadyScrape }
	if s.raw || sel.Grid.Step == 0 {
		for t := scraped(sel.Start + steadyScrape - 1); t <= min(sel.End, s.now); t += steadyScrape {
			p.Append(t, at(t))
		}
		return
	}
	first := sel.End - (sel.End-sel.Start)/sel.Grid.Step*sel.Grid.Step
	for t := first; t <= sel.End; t += sel.Grid.Step {
		if seen := scraped(min(t, s.now)); t-seen < timeline.Lookback {
			p.Append(t, at(seen))
		}
	}
	p.MarkSampled()
}

// steadyCase is a question to the steady cluster.
type steadyCase struct {
	path, window, resolution, step string
	now                            time.Time
	zone                           *time.Location
	raw                            bool
}

func (c steadyCase) String() string {
	return fmt.Sprintf("%s?window=%s&resolution=%s&step=%s, raw samples %t, at %s", c.path, c.window, c.resolution, c.step, c.raw, c.now.In(c.zone).Format(time.RFC3339Nano))
}

// randomSteadyCase is any of them.
func randomSteadyCase(t *testing.T, r *rand.Rand) steadyCase {
	t.Helper()
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	zone, err := time.LoadLocation(pick("UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"))
	if err != nil {
		t.Fatal(err)
	}
	c := steadyCase{
		path: pick("/model/allocation", "/model/allocation/compute", "/allocation", "/allocation/compute", "/model/assets", "/assets"),
		now:  time.UnixMilli(1_774_000_000_000 + r.Int64N(30_000_000_000)), zone: zone, raw: r.IntN(2) == 0,
	}
	switch r.IntN(4) {
	case 0:
		c.window = pick("today", "yesterday")
	case 1: // instants; the end may be in the future
		start := c.now.Add(-time.Duration(1+r.IntN(50*3600)) * time.Second)
		c.window = fmt.Sprintf("%d,%d", start.Unix(), start.Unix()+60+r.Int64N(50*3600))
	default:
		c.window = pick("1m", "7m", "90m", "1h", "5h", "36h", "1d", "2d", "50h", "90m offset 20m", "1d offset 3h")
	}
	c.resolution = pick("", "auto", "exact", "1m", "2m", "7m", "10m", "1h", "90m", "7h", "1d", fmt.Sprint(60+r.IntN(4000), "s"))
	if c.path == "/model/allocation/compute" || c.path == "/allocation" {
		c.step = pick("", "", "7h", "day", "100m")
	}
	return c
}

// unevenCounters reports whether the points of a grid see the last sample of a counter at different ages, so that its increase
// over a window is off by what is counted in a scrape interval at most.
func (c steadyCase) unevenCounters() bool {
	r, err := windows.ParseDuration(cmp.Or(c.resolution, "auto"))
	return err == nil && r.Milliseconds()%steadyScrape != 0
}

// TestAlwaysRunningIsTheWholeWindow: whatever the window, the resolution and the path, what always runs counts exactly the part
// of the window before now, to the millisecond, in minutes and in every sum.
func TestAlwaysRunningIsTheWholeWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 5))
	answered := map[string]int{}
	for n := range soak.Of(200, 1000) {
		c := randomSteadyCase(t, r)
		answered[c.path] += checkSteady(t, fmt.Sprintf("case %d: %s", n, c), c)
	}
	for path, n := range answered {
		if n < soak.Of(10, 80) {
			t.Errorf("%s answered %d questions: that is few", path, n)
		}
	}
}

// checkSteady asks one question. It returns 1 if that is answered, 0 if the resolution is refused because it is longer than the
// window.
func checkSteady(t *testing.T, name string, c steadyCase) int {
	t.Helper()
	now := func() time.Time { return c.now }
	engine := promquery.NewEngine(steady{c.now.UnixMilli(), c.raw}, promquery.Config{Clusters: promquery.Clusters{Default: "one"}, Rates: pricing.Default()})
	l := ledger.New(engine, log.NewNopLogger(), ledger.Options{Now: now, Zone: c.zone, Resolution: allocation.AutoResolution})
	w := get(costapi.New(l, log.NewNopLogger(), costapi.Config{Now: now, Zone: c.zone}), c.path, "window="+c.window, "resolution="+c.resolution, "step="+c.step, "shareTenancyCosts=false")
	if w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "longer than the window") {
		return 0
	}
	if w.Code != http.StatusOK {
		t.Errorf("%s: status %d: %.300s", name, w.Code, w.Body)
		return 0
	}
	start, end, sums := steadySums(t, w.Body.Bytes())
	if end.After(c.now) {
		end = c.now.Truncate(time.Millisecond)
	}
	hours := end.Sub(start).Hours()
	for i, fields := range steadyRates {
		if (i == 0) == strings.HasSuffix(c.path, "assets") {
			continue // these belong to the other kind of path
		}
		for field, rate := range fields {
			slack := rate * 0.5 / 3_600_000
			if c.unevenCounters() && (field == "cpuCoreUsageAverage" || strings.HasPrefix(field, "network")) {
				slack = rate * steadyScrape / 3_600_000
			}
			if got, want := sums[i][field], rate*hours; math.Abs(got-want) > slack {
				t.Errorf("%s: from %s to %s: %s of %v, want %v", name, start, end, field, got, want)
			}
		}
	}
	checkLength(t, name, c, start, end)
	return 1
}

// checkLength checks that a duration keeps its length if sets are not days or hours, and ends at the last step that has passed.
func checkLength(t *testing.T, name string, c steadyCase, start, end time.Time) {
	t.Helper()
	text, _, _ := strings.Cut(c.window, " offset")
	length, err := windows.ParseDuration(text)
	if c.path != "/model/allocation/compute" || err != nil {
		return
	}
	if end.Sub(start) != length {
		t.Errorf("%s: %s long", name, end.Sub(start))
	}
	step := time.Minute
	if r, err := windows.ParseDuration(cmp.Or(c.resolution, "auto")); err == nil {
		step = min(r, time.Hour)
	}
	year, month, day := end.In(c.zone).Date()
	if since := end.Sub(time.Date(year, month, day, 0, 0, 0, 0, c.zone)); since%step != 0 {
		t.Errorf("%s: it ends at %s, %s after midnight", name, end.In(c.zone), since)
	}
}

// steadySums are the sums over the sets of an answer, by kind of row and field, and the window of all sets.
func steadySums(t *testing.T, body []byte) (start, end time.Time, sums [3]map[string]float64) {
	t.Helper()
	type row = map[string]any
	var one struct{ Data map[string]row }
	var many struct{ Data []map[string]row }
	if json.Unmarshal(body, &one) == nil { // OpenCost's assets are one set
		many.Data = append(many.Data, one.Data)
	} else if err := json.Unmarshal(body, &many); err != nil {
		t.Fatal(err)
	}
	for i := range sums {
		sums[i] = map[string]float64{}
	}
	for _, set := range many.Data {
		for name, x := range set {
			kind := map[any]int{"Node": 1, "Disk": 2, nil: 0}[x["type"]]
			if strings.Contains(name, "__idle__") {
				continue
			}
			window, _ := x["window"].(map[string]any)
			from, to := clockOf(t, window["start"]), clockOf(t, window["end"])
			if start.IsZero() || from.Before(start) {
				start = from
			}
			end = slices.MaxFunc([]time.Time{end, to}, time.Time.Compare)
			minutes, _ := x["minutes"].(float64)
			for field, v := range x {
				v, _ := v.(float64)
				if strings.HasSuffix(field, "Average") {
					v *= minutes / 60
				}
				sums[kind][field] += v
			}
		}
	}
	return start, end, sums
}

func clockOf(t *testing.T, text any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, fmt.Sprint(text))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
