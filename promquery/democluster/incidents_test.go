package democluster_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// endsUnseen says whether a container ended while Prometheus did not run.
func endsUnseen(tr *democluster.Truth, x *democluster.ContainerTruth) bool {
	return slices.ContainsFunc(tr.Outages, func(o democluster.OutageTruth) bool {
		return o.Job == "" && x.End.After(o.Start) && x.End.Before(o.End)
	})
}

func jobsInStep(t *testing.T, d data) {
	starts := map[string][]time.Time{}
	for _, x := range d.truth.Containers {
		lasts := map[string]time.Duration{"drain-queue": 25 * time.Second, "hourly-report": 5 * time.Minute}[x.Controller]
		if lasts == 0 || x.LifeStart.Before(d.from) || x.LifeEnd.After(d.to) {
			continue
		}
		starts[x.Controller] = append(starts[x.Controller], x.LifeStart)
		if x.LifeStart.Second() != 3 || x.RunningSeconds != lasts.Seconds() || x.LifeEnd.Sub(x.LifeStart) != lasts {
			t.Errorf("%s ran from %v to %v, for %v s", x.Pod, x.LifeStart, x.LifeEnd, x.RunningSeconds)
		}
		if hour := x.LifeStart.Hour(); x.Controller == "drain-queue" && hour%4 != 0 || x.Controller == "hourly-report" && x.LifeStart.Minute() != 0 {
			t.Errorf("%s started at %v", x.Pod, x.LifeStart)
		}
	}
	if len(starts["drain-queue"]) != 6*60 || len(starts["hourly-report"]) != 24 {
		t.Errorf("%d jobs of 25 s and %d of 5 minutes", len(starts["drain-queue"]), len(starts["hourly-report"]))
	}
}

// A Prometheus that stops writes no markers, and when it runs again none for what has ended meanwhile.
func nothingIsScraped(t *testing.T, d data) {
	outages := map[string]democluster.OutageTruth{}
	for _, o := range d.truth.Outages {
		outages[o.Job] = o
	}
	stopped := outages[""]
	if len(d.truth.Outages) != 3 || len(outages) != 3 || stopped.End.Sub(stopped.Start) != 7*time.Minute {
		t.Fatalf("outages %v", d.truth.Outages)
	}
	unmarked, bridged := 0, 0
	for _, s := range d.series(t) {
		for i, p := range s.points {
			at := time.UnixMilli(p.t)
			if s.labels["__name__"] != "container_cpu_usage_seconds_total" && !at.Before(stopped.Start) && at.Before(stopped.End) {
				t.Fatalf("%v has a sample at %v", s.labels, at)
			}
			if at.Before(stopped.Start.Add(-time.Minute)) || !at.Before(stopped.Start) || isStale(p) || s.labels["__name__"] != "kube_pod_info" {
				continue
			}
			switch {
			case i+1 == len(s.points):
				unmarked++
			case time.UnixMilli(s.points[i+1].t).After(stopped.End):
				bridged++
			}
		}
	}
	if unmarked < 2 || bridged < 140 {
		t.Errorf("of %d pods nothing says that they have ended, %d are there after", unmarked, bridged)
	}
}

func namespaceMadeAgain(t *testing.T, d data) {
	teams := map[string]int{}
	for i := range d.truth.Containers {
		x := &d.truth.Containers[i]
		n := d.truth.NamespaceOf(x)
		if n.Namespace != x.Namespace {
			t.Errorf("%s ran in no namespace %s from %v to %v", x.Pod, x.Namespace, x.Start, x.End)
		}
		if x.Namespace == "previews" {
			teams[n.Labels["team"]]++
		}
	}
	if want := map[string]int{"team-b": 2, "team-c": 2}; !maps.Equal(teams, want) {
		t.Errorf("teams of previews %v, want %v", teams, want)
	}
	for _, s := range d.name(t, "kube_namespace_labels", "namespace", "previews") {
		n := d.truth.Namespaces[slices.IndexFunc(d.truth.Namespaces, func(n democluster.NamespaceTruth) bool {
			return n.Namespace == "previews" && n.Labels["team"] == s.labels["label_team"]
		})]
		for _, p := range s.points {
			if at := time.UnixMilli(p.t); !isStale(p) && (at.Before(n.Start) || !at.Before(n.End)) {
				t.Errorf("labels of %s at %v, not from %v to %v", s.labels["label_team"], at, n.Start, n.End)
			}
		}
	}
}

// kube-state-metrics writes names in snake case.
func camelCase(t *testing.T, d data) {
	for _, row := range []struct{ metric, label string }{
		{"kube_node_labels", "label_eks_amazonaws_com_capacity_type"},
		{"kube_namespace_labels", "label_cost_center"},
		{"kube_pod_labels", "label_git_branch"},
	} {
		if !slices.ContainsFunc(d.name(t, row.metric), func(s timeSeries) bool { return s.labels[row.label] != "" }) {
			t.Errorf("no %s has %s", row.metric, row.label)
		}
	}
}

// TestCrashLoop sums the series of kube-state-metrics about a crashing container, scraped so often that nothing is missed.
func TestCrashLoop(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 6 * time.Hour, ScrapeInterval: 5 * time.Second})
	d := data{c: c, from: c.Start().Add(5 * time.Hour), to: c.End()}
	d.q, d.truth = openBlocks(t, writeBlocks(t, c, d.from, d.to)), c.Truth(d.from, d.to)
	i := slices.IndexFunc(d.truth.Containers, func(x democluster.ContainerTruth) bool { return x.Container == "webhook" && !x.LifeEnd.IsZero() })
	if i < 0 {
		t.Fatal("no container was replaced")
	}
	x := d.truth.Containers[i]
	told := func(metric string) (all []float64) {
		for _, s := range d.name(t, metric, "uid", x.UID) {
			all = append(all, values(s)...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	starts, ends, last := told("kube_pod_container_state_started"), told("kube_pod_completion_time"), told("kube_pod_container_status_last_terminated_timestamp")
	restarts := told("kube_pod_container_status_restarts_total")
	if n := len(starts); n < 5 || len(ends) != n || len(last) < n-1 || restarts[len(restarts)-1] != float64(n-1) {
		t.Fatalf("starts %v, ends %v, last ends %v, restarts %v", starts, ends, last, restarts)
	}
	seconds := 0.0
	for i, start := range starts {
		seconds += ends[i] - max(start, float64(d.from.Unix()))
		if i < len(last) && last[i] != ends[i] {
			t.Errorf("end %v, last terminated %v", ends[i], last[i])
		}
		if i > 0 && start-ends[i-1] < 10 {
			t.Errorf("restarted after %v s", start-ends[i-1])
		}
	}
	if seconds != x.RunningSeconds || x.Restarts != len(starts)-1 {
		t.Errorf("ran %v s in %d runs, the truth is %v s and %d restarts", seconds, len(starts), x.RunningSeconds, x.Restarts)
	}
	phases := map[string]bool{}
	for _, s := range d.name(t, "kube_pod_status_phase", "uid", x.UID) {
		if slices.Contains(values(s), 1) {
			phases[s.labels["phase"]] = true
		}
	}
	if !phases["Running"] || phases["Pending"] || phases["Succeeded"] {
		t.Errorf("phases %v, want Running", phases)
	}
}
