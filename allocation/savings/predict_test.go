package savings_test

import (
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/manifest"
	"github.com/promcost/promcost/allocation/savings"
)

// Prices of the cluster c.
const (
	coreHour = 0.04
	gibHour  = 0.005
	diskHour = 0.0001 // a GiB of the class ssd
)

// hourly are two hours of usage of the cluster c.
func hourly(fill func(hour int, s *allocation.Set)) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		for i := range 2 {
			w := allocation.Window{Start: begin.Add(time.Duration(i) * time.Hour), End: begin.Add(time.Duration(i+1) * time.Hour)}
			s := allocation.NewSet(w, allocation.NewDict())
			s.Covered = []allocation.Covered{{Cluster: "c", Start: w.Start, End: w.End}}
			fill(i, s)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// ran adds a container that ran for a part of the hour, requested so many cores and GiB, and used so many.
func ran(s *allocation.Set, kind, controller, pod, container string, hours float64, request, use [2]float64) {
	row := allocation.Row{Start: s.Window.Start, End: s.Window.End}
	row.Text = [allocation.Services]string{"c", "n1", "shop", pod, "uid-" + pod, container, kind, controller, ""}
	v := &row.Values
	v[allocation.RunningSeconds] = hours * 3600
	for r, unit := range [2]float64{1, gib} {
		r := allocation.Resource(r)
		v[allocation.Hours.Of(r)] = max(request[r], use[r]) * hours * unit
		v[allocation.RequestHours.Of(r)], v[allocation.UsageHours.Of(r)] = request[r]*hours*unit, use[r]*hours*unit
	}
	s.Append(&row)
}

// market are the nodes and volumes of the cluster c, over a day: two nodes of 4 cores and 16 GiB, and two volumes of 10 GiB.
func market(yield func(*allocation.Set, error) bool) {
	w := day(0, 1)
	s := allocation.NewSet(w, allocation.NewDict())
	s.Covered = []allocation.Covered{{Cluster: "c", Start: w.Start, End: w.End}}
	for i, name := range []string{"n1", "n2"} {
		s.Nodes = append(s.Nodes, allocation.Node{
			Cluster: "c", Name: name, Zone: "z" + name[1:], RunningSeconds: 24 * 3600, Labels: map[string]string{"disk": []string{"ssd", "hdd"}[i]},
			Hours: [allocation.NumResources]float64{96, 384 * gib}, Cost: [allocation.NumResources]float64{96 * coreHour, 384 * gibHour},
		})
	}
	for i := range 2 {
		s.Disks = append(s.Disks, allocation.Disk{
			Cluster: "c", Name: []string{"pv-0", "pv-1"}[i], ClaimNamespace: "shop", ClaimName: []string{"data-db-0", "data-db-1"}[i], StorageClass: "ssd", Start: w.Start, End: w.End,
			ByteHours: 240 * gib, Cost: 240 * diskHour,
		})
	}
	yield(s, nil)
}

// pods is the text of an object with a container main that requests so much.
func pods(group, kind, name, replicas, requests string) string {
	template := "{spec: {containers: [{name: main, resources: {requests: {" + requests + "}}}]}}"
	if kind == "CronJob" {
		template = "{spec: {template: " + template + "}}"
		return "---\napiVersion: " + group + "\nkind: CronJob\nmetadata: {name: " + name + "}\nspec: {jobTemplate: " + template + "}\n"
	}
	return "---\napiVersion: " + group + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + replicas + "template: " + template + "}\n"
}

// predict predicts the only row of a text.
func predict(t *testing.T, text string, s savings.Setting) savings.PredictedRow {
	t.Helper()
	m, err := manifest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.Namespace, s.Usage, s.Prices = "shop", allocation.Window{Start: begin, End: begin.Add(2 * time.Hour)}, day(0, 1)
	usage := hourly(func(hour int, s *allocation.Set) {
		for _, pod := range []string{"web-1", "web-2"} { // uses 0.5 cores, then 1.5
			ran(s, "deployment", "web", pod, "main", 1, [2]float64{1, 1}, [2]float64{0.5 + float64(hour), 0.5})
		}
		if hour == 0 {
			ran(s, "cronjob", "nightly", "nightly-1", "main", 0.5, [2]float64{2, 1}, [2]float64{1, 1})
		}
		for _, pod := range []string{"api-1", "api-2", "api-3"} {
			ran(s, "deployment", "api", pod, "main", 1, [2]float64{1, 1}, [2]float64{})
			s.Table().Values[allocation.RAMScaledSeconds][s.Len()-1] = float64(hour) * 3600 // from the second hour on
		}
		ran(s, "daemonset", "agent", "agent-1", "main", 1, [2]float64{0.1, 0}, [2]float64{})
		ran(s, "", "", "debug", "main", 1, [2]float64{1, 1}, [2]float64{})
	})
	p, err := savings.Predict(m, usage, market, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Rows) != 1 || p.Cluster != "c" {
		t.Fatalf("%+v", p)
	}
	return p.Rows[0]
}

// TestPredict predicts workloads by hand: a core costs 0.04 × 730 = 29.2 a month, a GiB of memory 3.65, a GiB of a volume 0.073.
func TestPredict(t *testing.T) {
	const core, ram, disk = coreHour * 730, gibHour * 730, diskHour * 730
	cost := func(cores, gibs float64) [allocation.NumResources]float64 {
		return [allocation.NumResources]float64{cores * core, gibs * ram}
	}
	unknown := [allocation.NumResources]float64{math.NaN(), math.NaN(), math.NaN()}
	for _, tc := range []struct {
		name, text    string
		setting       savings.Setting
		replicas      [2]float64 // before and after
		before, after [allocation.NumResources]float64
		volumes       [2]float64
		note          string
	}{
		// Now: an hour of max(1, 0.5) and one of max(1, 1.5) cores, 1.25 on average. With 1.2 cores: (1.2 + 1.5) / 2.
		{"a bigger request", pods("apps/v1", "Deployment", "web", "replicas: 2, ", "cpu: 1200m, memory: 2Gi"), savings.Setting{}, [2]float64{2, 2}, cost(2.5, 2), cost(2.7, 4), [2]float64{}, ""},
		{"a request below usage", pods("apps/v1", "Deployment", "web", "replicas: 2, ", "cpu: 100m, memory: 1Gi"), savings.Setting{}, [2]float64{2, 2}, cost(2.5, 2), cost(2, 2), [2]float64{}, ""},
		{"more replicas", pods("apps/v1", "Deployment", "web", "replicas: 5, ", "cpu: 1, memory: 1Gi"), savings.Setting{}, [2]float64{2, 5}, cost(2.5, 2), cost(6.25, 5), [2]float64{}, ""},
		{"no usage", pods("apps/v1", "Deployment", "web", "replicas: 2, ", "cpu: 1200m, memory: 1Gi"), savings.Setting{NoUsage: true}, [2]float64{2, 2}, cost(2, 2), cost(2.4, 2), [2]float64{}, ""},
		{"no word of replicas", pods("apps/v1", "Deployment", "web", "", "cpu: 1, memory: 1Gi"), savings.Setting{}, [2]float64{2, 2}, cost(2.5, 2), cost(2.5, 2), [2]float64{}, "they are those that were seen"},
		{"a new workload", pods("apps/v1", "Deployment", "new", "replicas: 3, ", "cpu: 500m, memory: 1Gi"), savings.Setting{}, [2]float64{0, 3}, cost(0, 0), cost(1.5, 3), [2]float64{}, ""},
		{"a new workload of one replica", pods("apps/v1", "Deployment", "new", "", "cpu: 500m"), savings.Setting{}, [2]float64{0, 1}, cost(0, 0), cost(0.5, 0), [2]float64{}, ""},
		{
			"autoscaled", pods("apps/v1", "Deployment", "web", "replicas: 7, ", "cpu: 1, memory: 1Gi") +
				"---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {scaleTargetRef: {kind: Deployment, name: web}, minReplicas: 4, maxReplicas: 9}\n",
			savings.Setting{},
			[2]float64{2, 4},
			cost(2.5, 2), cost(5, 4),
			[2]float64{},
			"HorizontalPodAutoscaler",
		},
		{
			"autoscaled in the cluster", pods("apps/v1", "Deployment", "api", "replicas: 7, ", "cpu: 2, memory: 1Gi"),
			savings.Setting{},
			[2]float64{3, 3},
			cost(3, 3), cost(6, 3),
			[2]float64{},
			"its HorizontalPodAutoscaler was seen to make",
		},
		{"an autoscaler that is put to rest", pods("apps/v1", "Deployment", "api", "replicas: 0, ", "cpu: 2, memory: 1Gi"), savings.Setting{}, [2]float64{3, 0}, cost(3, 3), cost(0, 0), [2]float64{}, ""},
		// Ran for half an hour of two: a quarter of a replica.
		{"a job as often as seen", pods("batch/v1", "CronJob", "nightly", "", "cpu: 4, memory: 1Gi"), savings.Setting{}, [2]float64{0.25, 0.25}, cost(0.5, 0.25), cost(1, 0.25), [2]float64{}, "as often and as long"},
		{"a job that never ran", pods("batch/v1", "Job", "once", "", "cpu: 4"), savings.Setting{}, [2]float64{0, math.NaN()}, cost(0, 0), unknown, [2]float64{}, "it was not seen to run"},
		{"a DaemonSet that is there", pods("apps/v1", "DaemonSet", "agent", "", "cpu: 200m"), savings.Setting{}, [2]float64{1, 1}, cost(0.1, 0), cost(0.2, 0), [2]float64{}, ""},
		{"a DaemonSet on all nodes", pods("apps/v1", "DaemonSet", "new", "", "cpu: 200m"), savings.Setting{}, [2]float64{0, 2}, cost(0, 0), cost(0.4, 0), [2]float64{}, ""},
		{
			"a DaemonSet on one node", strings.Replace(pods("apps/v1", "DaemonSet", "new", "", "cpu: 200m"), "{containers", "{nodeSelector: {disk: ssd, kubernetes.io/os: linux, topology.kubernetes.io/zone: z1}, containers", 1),
			savings.Setting{},
			[2]float64{0, 1},
			cost(0, 0), cost(0.2, 0),
			[2]float64{},
			"",
		},
		{
			"a DaemonSet on unknown nodes", strings.Replace(pods("apps/v1", "DaemonSet", "new", "", "cpu: 200m"), "{containers", "{nodeSelector: {pool: x}, containers", 1),
			savings.Setting{},
			[2]float64{0, math.NaN()},
			cost(0, 0), unknown,
			[2]float64{},
			"which nodes it will run on is not known",
		},
		{"GPUs that no node has", pods("apps/v1", "Deployment", "new", "", "nvidia.com/gpu: 1"), savings.Setting{}, [2]float64{0, 1}, cost(0, 0), [allocation.NumResources]float64{0, 0, math.NaN()}, [2]float64{}, "no node that it would run on has a price of GPUs"},
		{"a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: debug}\nspec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}", savings.Setting{}, [2]float64{1, 1}, cost(1, 1), cost(2, 1), [2]float64{}, ""},
		{
			"volumes of replicas", strings.Replace(pods("apps/v1", "StatefulSet", "db", "replicas: 3, ", "cpu: 1"), "template:", "volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 20Gi}}}}], template:", 1),
			savings.Setting{},
			[2]float64{0, 3},
			cost(0, 0), cost(3, 0),
			[2]float64{20 * disk, 60 * disk},
			"",
		},
		{"a volume that cannot shrink", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-1}\nspec: {resources: {requests: {storage: 5Gi}}}", savings.Setting{}, [2]float64{}, cost(0, 0), cost(0, 0), [2]float64{10 * disk, 10 * disk}, ""},
		{"a volume of an unknown class", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: new}\nspec: {storageClassName: tape, resources: {requests: {storage: 5Gi}}}", savings.Setting{}, [2]float64{}, cost(0, 0), cost(0, 0), [2]float64{0, math.NaN()}, `"tape"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			row := predict(t, tc.text, tc.setting)
			got := []any{[2]float64{row.Before.Replicas, row.After.Replicas}, row.Before.Cost, row.After.Cost, [2]float64{row.Before.Volumes, row.After.Volumes}}
			want := []any{tc.replicas, tc.before, tc.after, tc.volumes}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if notes := strings.Join(row.Notes, "\n"); !strings.Contains(notes, tc.note) || tc.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
		})
	}
}

// TestPredictedCluster chooses the cluster.
func TestPredictedCluster(t *testing.T) {
	two := func(yield func(*allocation.Set, error) bool) {
		s := allocation.NewSet(day(0, 1), allocation.NewDict())
		for _, name := range []string{"a", "b"} {
			s.Covered = append(s.Covered, allocation.Covered{Cluster: name, Start: s.Window.Start, End: s.Window.End})
		}
		yield(s, nil)
	}
	none := func(func(*allocation.Set, error) bool) {}
	for _, tc := range []struct {
		name          string
		prices        iter.Seq2[*allocation.Set, error]
		cluster, own  string
		want, problem string
	}{
		{"the only one", market, "", "", "c", ""},
		{"by name", two, "b", "", "b", ""},
		{"by the configured name", market, "mine", "mine", "c", ""},
		{"none of two", two, "", "", "", "there are several: give one of a, b"},
		{"another", two, "x", "x", "", `"x": give one of a, b`},
		{"another than the only one", market, "x", "mine", "", `"x": give one of c`},
		{"no data", none, "x", "", "x", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := savings.Predict(&manifest.Manifests{}, none, tc.prices, savings.Setting{Cluster: tc.cluster, Own: tc.own, Prices: day(0, 1), Usage: day(0, 1)})
			switch {
			case tc.problem == "" && (err != nil || p.Cluster != tc.want):
				t.Errorf("%+v, %v, want %s", p, err, tc.want)
			case tc.problem != "" && (!errors.Is(err, savings.ErrCluster) || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("%v, want %s", err, tc.problem)
			}
		})
	}
}

// TestPredictWithoutData knows nothing, and says so.
func TestPredictWithoutData(t *testing.T) {
	m, err := manifest.Parse([]byte(pods("apps/v1", "Deployment", "web", "replicas: 2, ", "cpu: 1") + pods("apps/v1", "DaemonSet", "agent", "", "cpu: 1")))
	if err != nil {
		t.Fatal(err)
	}
	none := func(func(*allocation.Set, error) bool) {}
	p, err := savings.Predict(m, none, none, savings.Setting{Usage: day(0, 1), Prices: day(0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range p.Rows {
		if after := row.After.Total(); !math.IsNaN(after) || row.Before.Total() != 0 || len(row.Notes) == 0 {
			t.Errorf("%+v", row)
		}
	}
	failing := func(yield func(*allocation.Set, error) bool) { yield(nil, allocation.ErrUpstream) }
	for i, sets := range [][2]iter.Seq2[*allocation.Set, error]{{failing, none}, {none, failing}} {
		if _, err := savings.Predict(m, sets[0], sets[1], savings.Setting{}); !errors.Is(err, allocation.ErrUpstream) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if !slices.Contains(savings.HistoryNeeds().Columns, allocation.UsageHours.Of(allocation.GPU)) || savings.PriceNeeds().WithoutAssets {
		t.Error("it does not need what it looks at")
	}
}

// TestPredictByLevels predicts by the levels of usage: a container that requests a core used 4 for a quarter of the time, and nothing for the
// rest, which is charged as 0.75 × 1 + 0.25 × 4 = 1.75 cores. With two it is 0.75 × 2 + 0.25 × 4 = 2.5.
func TestPredictByLevels(t *testing.T) {
	const core = coreHour * 730
	usage := hourly(func(_ int, s *allocation.Set) {
		row := allocation.Row{Start: s.Window.Start, End: s.Window.End}
		row.Text = [allocation.Services]string{"c", "n1", "shop", "web-1", "uid", "main", "deployment", "web", ""}
		v := &row.Values
		v[allocation.RunningSeconds], v[allocation.RequestHours.Of(allocation.CPU)], v[allocation.UsageHours.Of(allocation.CPU)], v[allocation.Hours.Of(allocation.CPU)] = 3600, 1, 1, 1.75
		i := s.Append(&row)
		levels := &s.Table().Levels[allocation.CPU]
		levels.Add(i, allocation.Level{Bucket: allocation.NoUsage, Millis: 2_700_000})
		levels.Add(i, allocation.Level{Bucket: allocation.BucketOf(4), Millis: 900_000})
	})
	for _, tc := range []struct {
		request string
		change  float64 // cores
	}{{"1", 0}, {"2", 0.75}, {"4", 2.25}, {"10", 8.25}, {"0", -0.75}} {
		m, err := manifest.Parse([]byte(pods("apps/v1", "Deployment", "web", "replicas: 1, ", "cpu: "+tc.request)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := savings.Predict(m, usage, market, savings.Setting{Namespace: "shop", Usage: allocation.Window{Start: begin, End: begin.Add(2 * time.Hour)}, Prices: day(0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		row := &p.Rows[0]
		if got := row.After.Total() - row.Before.Total(); math.Abs(got-tc.change*core) > 1e-6 {
			t.Errorf("with %s cores the change is %v, want %v", tc.request, got, tc.change*core)
		}
	}
}
