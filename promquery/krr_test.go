package promquery_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// loadSeconds is how long loads last, of which the last day is looked at.
const loadSeconds = 25 * 3600

var loadStart = time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC)

// load is what the pods of a StatefulSet do in each second.
type load struct {
	name    string
	apart   float64 // how far its CPU may be from KRR's, as a part; 0 of a constant load
	scraped int     // every so many seconds
	pods    []podLoad
}

// podLoad is a pod of one container between two seconds.
type podLoad struct {
	from, to int
	use      func(second int) (cores, bytes float64)
}

// steady uses as much at all times.
func steady(cores, bytes float64) podLoad {
	return podLoad{0, loadSeconds, func(int) (float64, float64) { return cores, bytes }}
}

// loads are the constant ones, and those that change.
func loads() []load {
	random := rand.New(rand.NewPCG(1, 2))
	levels := make([]float64, loadSeconds/900+1) // of a quarter of an hour each
	noise := make([]float64, loadSeconds+1)
	for i := range noise {
		noise[i] = random.ExpFloat64()
	}
	for i := range levels {
		levels[i] = 0.2 + random.Float64()
	}
	whatever := math.Inf(1)
	all := func(use func(second int) (cores, bytes float64)) podLoad { return podLoad{0, loadSeconds, use} }
	wave := func(second int) float64 { return 0.6 + 0.4*math.Sin(2*math.Pi*float64(second)/86400) }
	return []load{
		{"one", 0, 30, []podLoad{steady(0.4321, 1.5*(1<<30))}},
		{"replicas", 0, 30, []podLoad{steady(0.4321, 1<<30), steady(0.4321, 1<<30), steady(0.4321, 1<<30)}},
		{"unlike replicas", 0, 15, []podLoad{steady(0.1, 1<<30), steady(2.345, 3<<30), steady(0.7, 1<<20)}},
		{"small", 0, 30, []podLoad{steady(0.002, 20<<20)}},
		{"idle", 0, 30, []podLoad{steady(0, 0)}},
		{"scraped once a minute", 0, 60, []podLoad{steady(0.77, 700<<20)}},
		{"rolled out", 0, 30, []podLoad{{0, 13 * 3600, steady(0.3, 1<<30).use}, {13 * 3600, loadSeconds, steady(0.5, 2<<30).use}}},
		{"wave of a day", 0.045, 30, []podLoad{all(func(s int) (float64, float64) { return wave(s), wave(s) * (1 << 30) })}},
		{"other level each quarter", 0.045, 30, []podLoad{all(func(s int) (float64, float64) { return levels[s/900], levels[s/900] * (1 << 30) })}},
		{"other level each minute", whatever, 30, []podLoad{all(func(s int) (float64, float64) { return 0.1 + noise[s/60], (1 + noise[s/60]) * (1 << 28) })}},
		{"noise each second", whatever, 30, []podLoad{all(func(s int) (float64, float64) { return noise[s], (1 + noise[s]) * (1 << 28) })}},
		{"bursts of 20 s in 10 min", whatever, 30, []podLoad{all(func(s int) (float64, float64) {
			if s%600 < 20 {
				return 2, 1 << 30
			}
			return 0.1, 1 << 29
		})}},
		{"bursts of 5 min in an hour", whatever, 30, []podLoad{all(func(s int) (float64, float64) {
			if s%3600 < 300 {
				return 2, 1 << 30
			}
			return 0.1, 1 << 29
		})}},
		{"other level each minute, scraped once a minute", whatever, 60, []podLoad{all(func(s int) (float64, float64) { return 0.1 + noise[s/60], (1 + noise[s/60]) * (1 << 28) })}},
		{"replicas of which one grows", 0.045, 30, []podLoad{steady(0.2, 1<<28), all(func(s int) (float64, float64) { return 0.2 + float64(s)/loadSeconds, float64(s) * 10_000 })}},
	}
}

// series are what exporters show of the pods.
func (l load) series() (out []promtest.Series) {
	for i, p := range l.pods {
		name, uid := fmt.Sprintf("%s-%d", l.controller(), i), fmt.Sprintf("%08x-0000-4000-8000-00000000%04d", len(l.name)*1000+int(l.name[0]), i)
		of := []string{"namespace", "loads", "pod", name, "uid", uid}
		in := append(slices.Clip(of), "container", "main")
		show := func(every int, v func(second int) float64, metric string, labels ...string) {
			first := loadStart.Unix()*1000 + int64(i*1234+len(l.name)*567)
			out = append(out, promtest.Series{
				Labels:  append([]string{"__name__", metric}, labels...),
				Samples: promtest.Regular(first+int64(p.from)*1000, loadStart.Unix()*1000+int64(p.to)*1000-1, int64(every)*1000, func(t int64) float64 { return v(int(t/1000 - loadStart.Unix())) }),
			})
		}
		always := func(v float64, metric string, labels ...string) {
			show(60, func(int) float64 { return v }, metric, labels...)
		}
		started := float64(loadStart.Unix() + int64(p.from))
		always(1, "kube_pod_info", append(of, "node", "n1")...)
		always(1, "kube_pod_owner", append(of, "owner_kind", "StatefulSet", "owner_name", l.controller(), "owner_is_controller", "true")...)
		always(1, "kube_pod_container_status_running", in...)
		always(started, "kube_pod_container_state_started", in...)
		always(1, "kube_pod_container_resource_requests", append(in, "node", "n1", "resource", "cpu", "unit", "core")...)
		cgroup := []string{"job", "kubelet", "namespace", "loads", "pod", name, "container", "main", "node", "n1", "id", "/kubepods/burstable/pod" + uid + "/main"}
		sum := make([]float64, p.to-p.from+1) // used until a second
		for s := range sum[1:] {
			cores, _ := p.use(p.from + s)
			sum[s+1] = sum[s] + cores
		}
		offset := float64((i*1234+len(l.name)*567)%1000) / 1000 // within a second
		show(l.scraped, func(second int) float64 {
			s := min(second-p.from, len(sum)-2)
			return sum[s] + offset*(sum[s+1]-sum[s])
		}, "container_cpu_usage_seconds_total", append(cgroup, "cpu", "total")...)
		show(l.scraped, func(second int) float64 { _, bytes := p.use(second); return bytes }, "container_memory_working_set_bytes", cgroup...)
	}
	return out
}

// controller is the name of the StatefulSet.
func (l load) controller() string { return strings.NewReplacer(" ", "-", ",", "").Replace(l.name) }

// askKRR asks a Prometheus what Robusta KRR does (strategy simple, its source of July 2026): the 95th percentile of rates over its step of 75 s, and the highest memory at
// each step, of the last day. It takes the largest of the pods.
func askKRR(t *testing.T, url, controller string) (cores, bytes float64) {
	t.Helper()
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		t.Fatal(err)
	}
	selector := fmt.Sprintf(`{namespace="loads",pod=~"%s-0|%[1]s-1|%[1]s-2",container="main"}`, controller)
	for into, query := range map[*float64]string{
		&cores: `quantile_over_time(0.95, max(rate(container_cpu_usage_seconds_total` + selector + `[75s])) by (container, pod, job)[1440m:75s])`,
		&bytes: `max_over_time(max(container_memory_working_set_bytes` + selector + `) by (container, pod, job)[1440m:75s])`,
	} {
		answer, _, _, err := v1.NewAPI(client).Query(t.Context(), query, loadStart.Add(loadSeconds*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		pods, ok := answer.(model.Vector)
		if !ok || len(pods) == 0 {
			t.Fatalf("%s has the answer %v", query, answer)
		}
		for _, pod := range pods {
			*into = max(*into, float64(pod.Value))
		}
	}
	return cores, bytes
}

// upThreeDigits rounds up to three digits, as recommended requests are, and at least to a thousandth.
func upThreeDigits(v, least float64) float64 {
	unit := max(least, math.Pow(10, math.Floor(math.Log10(v))-2))
	return math.Ceil(v/unit*(1-1e-9)) * unit
}

// TestKRR compares what the preset krr recommends, of hours read from a real Prometheus, with what KRR's own questions to the same Prometheus lead to, its floors included. They are equal
// where load is constant, but for rounding: KRR's requests are whole millicores and MiB, ours have three digits. CPU that changes slowly is as near as a bucket and the rounding are, and memory
// is never less: KRR does not see what is higher between its steps. All differences of changing loads are logged.
func TestKRR(t *testing.T) {
	t.Parallel()
	dir, series := t.TempDir(), []promtest.Series{}
	node := func(v float64, metric string, labels ...string) {
		series = append(series, promtest.Series{
			Labels:  append([]string{"__name__", metric, "node", "n1"}, labels...),
			Samples: promtest.Regular(loadStart.UnixMilli(), loadStart.UnixMilli()+loadSeconds*1000, 60_000, func(int64) float64 { return v }),
		})
	}
	node(1, "kube_node_info")
	node(64, "kube_node_status_capacity", "resource", "cpu", "unit", "core")
	node(256<<30, "kube_node_status_capacity", "resource", "memory", "unit", "byte")
	for _, l := range loads() {
		series = append(series, l.series()...)
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	url := promtest.Start(t, dir, promtest.Config{})
	src, err := remote.New(remote.Config{URL: url, Mode: remote.ModeRemoteRead})
	if err != nil {
		t.Fatal(err)
	}
	end := loadStart.Add(loadSeconds * time.Second)
	x := replay{window: allocation.Window{Start: end.Add(-24 * time.Hour), End: end}}
	x.sets = compute(t, src, allocation.Query{Window: x.window, Step: time.Hour, Only: withLevels()})
	list := map[string]recommended{}
	for of, to := range x.recommend(t, "krr") {
		list[of.Controller] = to
	}
	for _, l := range loads() {
		got, ok := list[l.controller()]
		if !ok {
			t.Fatalf("%s has no recommendation; there are %v", l.name, list)
		}
		cores, bytes := askKRR(t, url, l.controller())
		for r, want := range [2]float64{cores, 1.15 * bytes} {
			if l.apart == 0 && want > 0 {
				want = upThreeDigits(want, [2]float64{0.001, 1}[r])
			}
			want = max(want, [2]float64{0.010, 100 << 20}[r])
			got := got.requests[r].Request
			apart := got/want - 1
			switch r := allocation.Resource(r); {
			case l.apart == 0 && math.Abs(apart) > 1e-9, r == allocation.CPU && math.Abs(apart) > l.apart+0.01, apart < -1e-9 && r == allocation.RAM:
				t.Errorf("%s: the request of %s is %v, by KRR %v", l.name, r, got, want)
			case l.apart > 0:
				t.Logf("%s: %s %v, by KRR %v: %+.1f %%", l.name, r, got, want, 100*apart)
			}
		}
	}
}
