package promquery_test

import (
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// reservesNode is a node of 16 cores and 64 GiB that costs 1 a core-hour and a GiB-hour.
func reservesNode() []promtest.Series {
	node := func(v float64, name string, labels ...string) promtest.Series {
		return steadily(-600, 7800, v, name, append(labels, "node", "n1")...)
	}
	return []promtest.Series{
		node(1, "kube_node_info"), node(16, "kube_node_status_capacity", "resource", "cpu", "unit", "core"),
		node(64<<30, "kube_node_status_capacity", "resource", "memory", "unit", "byte"), node(1, "node_cpu_hourly_cost"), node(1, "node_ram_hourly_cost"),
	}
}

// steadily is a series with one value, scraped every 30 s from one second of a test's window to another.
func steadily(from, to int, v float64, name string, labels ...string) promtest.Series {
	out := regularly(30, from, to, func(int) (float64, bool) { return v, true }, name, labels...)
	out.Labels = append([]string{"__name__", name}, labels...)
	return out
}

// reserving is a container of the pod db-0 that runs between two seconds, with a request and usage in cores; a GiB of memory for each.
type reserving struct {
	name           string
	from, to       int
	request, usage float64
	init           bool
}

func (r reserving) series() []promtest.Series {
	const uid = "44440000-0000-4000-8000-000000000000"
	of := []string{"namespace", "db", "pod", "db-0", "uid", uid, "container", r.name}
	prefix := "kube_pod_container_"
	if r.init {
		prefix = "kube_pod_init_container_"
	}
	running := regularly(30, -600, 7800, func(t int) (float64, bool) {
		if r.from <= t && t < r.to {
			return 1, true
		}
		return 0, true
	}, prefix+"status_running", of[4:]...)
	out := []promtest.Series{
		running,
		steadily(max(-600, r.from), 7800, float64(lifeStart.Unix())+float64(r.from), prefix+"state_started", of...),
	}
	for resource, scale := range map[string]float64{"cpu": 1, "memory": 1 << 30} {
		if r.request > 0 {
			out = append(out, steadily(-600, 7800, r.request*scale, prefix+"resource_requests", append([]string{"resource", resource, "node", "n1"}, of...)...))
		}
	}
	cgroup := []string{"namespace", "db", "pod", "db-0", "container", r.name, "node", "n1", "id", "/kubepods.slice/kubepods-pod44440000_0000_4000_8000_000000000000.slice/cri-" + r.name + ".scope"}
	counter := regularly(30, max(-600, r.from), min(7800, r.to), func(t int) (float64, bool) { return r.usage * float64(t-r.from), true }, "container_cpu_usage_seconds_total", cgroup[4:]...)
	return append(out, counter, steadily(max(-600, r.from), min(7800, r.to), r.usage*(1<<30), "container_memory_working_set_bytes", cgroup...))
}

// TestReserves checks what a pod is allocated of what it reserves beyond its containers (SEMANTICS §3).
func TestReserves(t *testing.T) {
	t.Parallel()
	const uid = "44440000-0000-4000-8000-000000000000"
	reserved := func(v float64, labels ...string) []promtest.Series {
		of := append([]string{"namespace", "db", "pod", "db-0", "node", "n1", "job", "kube-scheduler"}, labels...)
		return []promtest.Series{
			steadily(-600, 7800, v, "kube_pod_resource_request", append(of, "resource", "cpu", "unit", "cores")...),
			steadily(-600, 7800, v*(1<<30), "kube_pod_resource_request", append(of, "resource", "memory", "unit", "bytes")...),
		}
	}
	overhead := func(v float64) []promtest.Series {
		of := []string{"namespace", "db", "pod", "db-0", "uid", uid}
		return []promtest.Series{steadily(-600, 7800, v, "kube_pod_overhead_cpu_cores", of...), steadily(-600, 7800, v*(1<<30), "kube_pod_overhead_memory_bytes", of...)}
	}
	always := func(name string, request, usage float64) reserving {
		return reserving{name, -3600, 9000, request, usage, false}
	}
	for _, tt := range []struct {
		name       string
		containers []reserving
		more       []promtest.Series
		want       map[string]float64 // core hours, and GiB hours, by container
	}{
		{"nothing beyond", []reserving{always("a", 1, 0.5)}, reserved(1), map[string]float64{"a": 2}},
		{"nothing is told", []reserving{always("a", 0, 0.5)}, nil, map[string]float64{"a": 1}},
		{"pod-level resources", []reserving{always("a", 0, 0.1), always("b", 0, 0.05)}, reserved(2), map[string]float64{"a": 0.2 + 1.85, "b": 0.1 + 1.85}},
		{"of one without usage", []reserving{always("a", 0, 0)}, reserved(2), map[string]float64{"a": 4}},
		{"beside requests", []reserving{always("a", 0.5, 0.1), always("b", 0, 0.5)}, reserved(2), map[string]float64{"a": 1 + 1, "b": 1 + 1}},
		{"more is used", []reserving{always("a", 0, 3)}, reserved(2), map[string]float64{"a": 6}},
		{"overhead", []reserving{always("a", 0.5, 0.1), always("b", 0.5, 0.1)}, overhead(0.25), map[string]float64{"a": 1.25, "b": 1.25}},
		{"overhead that the scheduler counts", []reserving{always("a", 0.5, 0.1)}, slices.Concat(reserved(0.75), overhead(0.25)), map[string]float64{"a": 1.5}},
		{"two schedulers", []reserving{always("a", 0.5, 0.1)}, slices.Concat(reserved(0.75), reserved(0.75, "instance", "b")), map[string]float64{"a": 1.5}},
		{"a container that ends", []reserving{always("a", 1, 0.1), {"b", -3600, 3600, 1, 0.1, false}}, reserved(2), map[string]float64{"a": 3, "b": 1}},
		{"the peak of an init container", []reserving{{"i", 0, 3600, 2, 1, true}, {"a", 3600, 9000, 0.5, 0.1, false}}, reserved(2), map[string]float64{"i": 2, "a": 0.5}},
		{"the peak of an init container beside a sidecar", []reserving{{"i", 0, 3600, 2, 1, true}, {"s", 0, 9000, 0.25, 0.1, true}, {"a", 3600, 9000, 0.5, 0.1, false}}, reserved(2.25), map[string]float64{"i": 2, "s": 0.5, "a": 0.5}},
		{"an init container in pod-level resources", []reserving{{"i", 0, 3600, 1, 1, true}, {"a", 3600, 9000, 0.5, 0.1, false}}, reserved(2), map[string]float64{"i": 2, "a": 2}},
		{"the peak of an init container, and overhead", []reserving{{"i", 0, 3600, 2, 1, true}, {"a", 3600, 9000, 0.5, 0.1, false}}, slices.Concat(reserved(2.25), overhead(0.25)), map[string]float64{"i": 2.25, "a": 0.75}},
		{"a node that is overcommitted", []reserving{always("a", 0, 0.5), always("b", 0, 18)}, reserved(20), map[string]float64{"a": 1 + 1.5, "b": 36 + 1.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := slices.Concat(reservesNode(), tt.more, []promtest.Series{steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", uid, "node", "n1")})
			for _, c := range tt.containers {
				series = append(series, c.series()...)
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
			db := openBlocks(t, dir)
			for _, resolution := range []time.Duration{0, time.Minute} {
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Resolution: resolution}
				set := compute(t, db, q)[0]
				for r, unit := range map[allocation.Resource]float64{allocation.CPU: 1, allocation.RAM: 1 << 30} {
					for row := range set.Len() {
						name := set.Text(allocation.Container, row)
						if got, want := set.Value(allocation.Hours.Of(r), row)/unit, tt.want[name]; math.Abs(got-want) > 0.02*want {
							t.Errorf("%s: %s of %s is allocated %.4f hours, want %.4f", allocation.ResolutionText(resolution), r, name, got, want)
						}
					}
				}
				nodesConserve(t, set)
				q.Step = time.Hour
				partsAddUp(t, db, q, regexp.MustCompile("cpu idle")) // which is rounding where nothing is left
			}
		})
	}
}

// nodesConserve checks that the cost of rows and idle cost are the cost of nodes (SEMANTICS §5).
func nodesConserve(t *testing.T, set *allocation.Set) {
	t.Helper()
	for r := range allocation.NumResources {
		rows, nodes := 0.0, 0.0
		for row := range set.Len() {
			rows += set.Value(allocation.Cost.Of(r), row)
		}
		for i := range set.Nodes {
			nodes += set.Nodes[i].Cost[r]
			rows += set.Nodes[i].Idle[r]
		}
		if math.Abs(rows-nodes) > 1e-9*nodes {
			t.Errorf("%s: rows and idle cost %v, nodes cost %v", r, rows, nodes)
		}
	}
	for _, x := range set.Residuals {
		if x.Cost > 1e-9 {
			t.Errorf("residual %+v", x)
		}
	}
}

// TestResizedInPlace checks that a container is charged what the kubelet has allocated to it, not what it asks for and does not get yet.
func TestResizedInPlace(t *testing.T) {
	t.Parallel()
	of := []string{"namespace", "db", "pod", "db-0", "uid", "44440000-0000-4000-8000-000000000000", "container", "a", "resource", "cpu"}
	resized := func(at int) func(int) (float64, bool) {
		return func(t int) (float64, bool) {
			if t >= at {
				return 3, true
			}
			return 1, true
		}
	}
	asked := regularly(30, -600, 7800, resized(1800), "kube_pod_container_resource_requests", of[4:]...)
	given := regularly(30, -600, 7800, resized(5400), "kube_pod_container_status_resource_requests", of[4:]...)
	// A scheduler reports what is asked for.
	placed := []string{"namespace", "db", "pod", "db-0", "node", "n1", "resource", "cpu", "unit", "cores"}
	scheduled := func(beyond float64) promtest.Series {
		s := regularly(30, -600, 7800, func(t int) (float64, bool) { v, _ := resized(1800)(t); return v + beyond, true }, "kube_pod_resource_request")
		s.Labels = append([]string{"__name__", "kube_pod_resource_request"}, placed...)
		return s
	}
	overhead := steadily(-600, 7800, 0.25, "kube_pod_overhead_cpu_cores", of[:6]...)
	for name, tt := range map[string]struct {
		series []promtest.Series
		want   float64
	}{
		"only what is asked for is known":                  {[]promtest.Series{asked}, 0.5*1 + 1.5*3},
		"what is allocated is known":                       {[]promtest.Series{asked, given}, 1.5*1 + 0.5*3},
		"only what is asked for is known, and a scheduler": {[]promtest.Series{asked, scheduled(0)}, 0.5*1 + 1.5*3},
		"what is allocated is known, and a scheduler":      {[]promtest.Series{asked, given, scheduled(0)}, 1.5*1 + 0.5*3},
		"overhead, what is allocated, and a scheduler":     {[]promtest.Series{asked, given, overhead, scheduled(0.25)}, 1.5*1 + 0.5*3 + 2*0.25},
		"pod-level resources, what is allocated of them":   {[]promtest.Series{asked, given, scheduled(1)}, 0.5*2 + 1.5*4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pod := steadily(-600, 7800, 1, "kube_pod_info", "namespace", "db", "pod", "db-0", "uid", of[5], "node", "n1")
			running := reserving{"a", -3600, 9000, 0, 0.1, false}.series()
			promtest.WriteBlocks(t, dir, 2*time.Hour, slices.Concat(reservesNode(), running, tt.series, []promtest.Series{pod})...)
			db := openBlocks(t, dir)
			q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}}
			if got, _ := coresAndGibs(compute(t, db, q)[0]); math.Abs(got-tt.want) > 0.05 {
				t.Errorf("%.3f core hours, want %.3f", got, tt.want)
			}
			q.Step = time.Hour
			partsAddUp(t, db, q, nil)
		})
	}
}
