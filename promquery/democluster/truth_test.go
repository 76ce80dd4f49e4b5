package democluster_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/democluster"
)

func end() time.Time { return time.Date(2026, 3, 3, 12, 34, 0, 0, time.UTC) }

func plan(t testing.TB, cfg democluster.Config) *democluster.Cluster {
	t.Helper()
	if cfg.End.IsZero() {
		cfg.End = end()
	}
	c, err := democluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clusters are the configurations on which the invariants are tested.
func clusters() map[string]democluster.Config {
	return map[string]democluster.Config{
		"default":       {},
		"seed 2":        {Seed: 2},
		"seed -7":       {Seed: -7},
		"6h":            {Duration: 6 * time.Hour, Seed: 3},
		"1h":            {Duration: time.Hour, Seed: 4},
		"smallest":      {Nodes: 4, Pods: 37, Duration: 24 * time.Hour},
		"dense":         {Nodes: 5, Pods: 480, Duration: 24 * time.Hour, Seed: 5},
		"60 nodes":      {Nodes: 60, Pods: 1500, Duration: 6 * time.Hour, Seed: 6},
		"odd sub-times": {Duration: 5*time.Hour + 17*time.Second, End: end().Add(777 * time.Millisecond), ScrapeInterval: 17 * time.Second},
	}
}

func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(math.Abs(a), math.Abs(b))
}

func TestNeverOvercommitted(t *testing.T) {
	for name, cfg := range clusters() {
		t.Run(name, func(t *testing.T) {
			most := plan(t, cfg).MaxCommitment()
			if most.CPU > 0.9 || most.Memory > 0.9 || most.GPU > 1 {
				t.Errorf("a node is overcommitted: %+v", most)
			}
			if most.CPU < 0.2 {
				t.Errorf("nodes are nearly empty: %+v", most)
			}
			if most.OutsideLife > 0 {
				t.Errorf("%d containers run on a node that is not there", most.OutsideLife)
			}
		})
	}
}

func TestTruthConserves(t *testing.T) {
	for name, cfg := range clusters() {
		t.Run(name, func(t *testing.T) {
			c := plan(t, cfg)
			tr := c.Truth(c.Start(), c.End())
			sum := map[string][3]float64{}
			for _, ct := range tr.Containers {
				s := sum[ct.Node]
				sum[ct.Node] = [3]float64{s[0] + ct.CPUCost, s[1] + ct.RAMCost, s[2] + ct.GPUCost}
			}
			for i, n := range tr.Nodes {
				idle := tr.Idle[i]
				if idle.Node != n.Name {
					t.Fatalf("idle row %d is of %s, want %s", i, idle.Node, n.Name)
				}
				s := sum[n.Name]
				for what, pair := range map[string][3]float64{
					"cpu": {s[0], idle.CPUCost, n.CPUCost}, "ram": {s[1], idle.RAMCost, n.RAMCost}, "gpu": {s[2], idle.GPUCost, n.GPUCost},
				} {
					if relative(pair[0]+pair[1], pair[2]) > 1e-9 {
						t.Errorf("node %s: %s: allocated %v + idle %v ≠ %v", n.Name, what, pair[0], pair[1], pair[2])
					}
					if pair[1] < -1e-9 {
						t.Errorf("node %s: negative idle %s cost %v", n.Name, what, pair[1])
					}
				}
			}
		})
	}
}

func TestTruthIsAdditive(t *testing.T) {
	total := func(tr *democluster.Truth) map[string]float64 {
		sum := map[string]float64{}
		for _, ct := range tr.Containers {
			id := ct.UID + "/" + ct.Container + " "
			sum[id+"seconds"] += ct.RunningSeconds
			sum[id+"cpu"] += ct.CPUCost
			sum[id+"ram"] += ct.RAMCost
			sum[id+"gpu"] += ct.GPUCost
			sum[id+"used"] += ct.CPUUsageCoreHours
			sum[id+"bytes"] += ct.RAMByteHours
			sum[id+"volumes"] += ct.PVCost
			sum[id+"network"] += ct.NetworkCost
			if ct.GPU != nil {
				sum[id+"gpu usage"] += ct.GPU.UsageHours
			}
			if ct.CPUCoreHours < max(ct.CPURequestCoreHours, ct.CPUUsageCoreHours)*(1-1e-12) {
				sum["too little allocated"]++
			}
		}
		for _, p := range tr.Pending {
			sum[p.UID+"/"+p.Container+" pending"] += p.CPUCost + p.RAMCost + p.GPUCost
		}
		for _, n := range tr.Nodes {
			sum[n.Name] += n.CPUCost + n.RAMCost + n.GPUCost
		}
		for _, v := range tr.Volumes {
			sum[v.PersistentVolume] += v.Cost
			sum["used"] += v.UsedByteHours
		}
		for _, u := range tr.Unmounted {
			sum["unmounted "+u.Namespace] += u.Cost
		}
		for _, d := range tr.LocalDisks {
			sum["disk "+d.Node] += d.Cost
			sum["disk used "+d.Node] += d.UsedByteHours
		}
		for _, lb := range tr.LoadBalancers { // not its shares: they go by the hours of each window
			sum["load balancer "+lb.Service] += lb.Cost
		}
		return sum
	}
	for _, seed := range []int64{1, 8, 9} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := plan(t, democluster.Config{Seed: seed, Duration: 24 * time.Hour})
			whole := total(c.Truth(c.Start(), c.End()))
			parts := map[string]float64{}
			cut := c.Start()
			for i, hours := range []time.Duration{1, 3, 8, 2, 10} {
				next := cut.Add(hours*time.Hour + time.Duration(i)*time.Millisecond)
				if next.After(c.End()) || i == 4 {
					next = c.End()
				}
				for k, v := range total(c.Truth(cut, next)) {
					parts[k] += v
				}
				cut = next
			}
			if len(parts) != len(whole) {
				t.Errorf("%d sums in parts, %d in the whole", len(parts), len(whole))
			}
			for k, v := range whole {
				if relative(v, parts[k]) > 1e-9 {
					t.Errorf("%s: parts sum to %v, the whole is %v", k, parts[k], v)
				}
			}
		})
	}
}

func TestTruthDoesNotDependOnHowFarThePlanReaches(t *testing.T) {
	a, b := plan(t, democluster.Config{}), plan(t, democluster.Config{})
	b.Truth(b.End(), b.End().Add(30*time.Hour))
	if diff := cmp.Diff(a.Truth(a.Start(), a.End()), b.Truth(b.Start(), b.End())); diff != "" {
		t.Errorf("truth differs after planning beyond the end (-before +after):\n%s", diff)
	}
}

// TestJobsPerHour checks that a cluster has fewer Jobs where it is to have fewer, and no more of them where it is to have more.
func TestJobsPerHour(t *testing.T) {
	cfg := democluster.Config{End: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), Duration: 12 * time.Hour, Nodes: 10, Pods: 300}
	jobs := func(perHour int) (n int) {
		cfg.JobsPerHour = perHour
		c := plan(t, cfg)
		pods := map[string]bool{}
		tr := c.Truth(c.Start(), c.End())
		for i := range tr.Containers {
			if x := &tr.Containers[i]; (x.ControllerKind == "job" || x.ControllerKind == "cronjob") && x.Start.After(c.Start()) {
				pods[x.UID] = true
			}
		}
		return len(pods)
	}
	whole := jobs(0)
	if few := jobs(20); few < 12*17 || few > 12*23 || few >= whole {
		t.Errorf("%d Jobs in 12 hours at 20 an hour, %d at the default", few, whole)
	}
	if most := jobs(1000); most < whole*9/10 || most > whole*11/10 {
		t.Errorf("%d Jobs at 1,000 an hour, want about the %d of the default", most, whole)
	}
}

// TestPodsHaveNamesOfTheirOwn checks that no two pods of a DaemonSet have one name, on more nodes than random names differ by themselves.
func TestPodsHaveNamesOfTheirOwn(t *testing.T) {
	c := plan(t, democluster.Config{End: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), Duration: time.Hour, Nodes: 6000, Pods: 18_100})
	uids := map[string]string{}
	tr := c.Truth(c.End().Add(-time.Minute), c.End())
	for i := range tr.Containers {
		if x := &tr.Containers[i]; x.ControllerKind == "daemonset" {
			name := x.Namespace + "/" + x.Pod
			if was := uids[name]; was != "" && was != x.UID {
				t.Errorf("%s is the name of two pods", name)
			}
			uids[name] = x.UID
		}
	}
	if len(uids) < 6000 {
		t.Errorf("%d pods of DaemonSets", len(uids))
	}
}

func TestConfigValidate(t *testing.T) {
	valid := democluster.Config{}.WithDefaults(end())
	for _, tc := range []struct {
		name   string
		change func(*democluster.Config)
		want   string
	}{
		{"defaults", func(*democluster.Config) {}, ""},
		{"no nodes", func(c *democluster.Config) { c.Nodes = -1 }, "validate demo nodes: -1 is too few, give at least 4"},
		{"few pods", func(c *democluster.Config) { c.Pods = 40 }, "validate demo pods: 40 is too few for 10 nodes, give at least 55 (3 on each node are daemons)"},
		{"many pods", func(c *democluster.Config) { c.Pods = 1001 }, "validate demo pods: 1001 do not fit on 10 nodes, give at most 1000 pods or more nodes"},
		{"short", func(c *democluster.Config) { c.Duration = time.Minute }, "validate demo duration: 1m0s is too short, give at least 1h0m0s"},
		{"interval", func(c *democluster.Config) { c.ScrapeInterval = time.Second }, "validate demo scrape interval: 1s is out of range, give 5s to 5m0s"},
		{"jobs", func(c *democluster.Config) { c.JobsPerHour = -1 }, "validate demo jobs: -1 an hour are too few, give at least 1, or 0 for the default"},
		{"fraction", func(c *democluster.Config) { c.ScrapeInterval = 5*time.Second + 1 }, "validate demo scrape interval: 5.000000001s is not a whole number of milliseconds"},
		{"end", func(c *democluster.Config) { c.End = time.Unix(0, 0).UTC() }, "validate demo end: 1970-01-01T00:00:00Z is not a time of this age, give an RFC 3339 time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := valid
			tc.change(&cfg)
			got := ""
			if err := cfg.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
