package promquery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/timeline"
)

// problems are the problems in the data of a source, by cluster.
type problems map[string][]string

// scraped is when a target had samples: Unix milliseconds.
type scraped struct{ first, last int64 }

// census counts what shows problems of a cluster.
type census struct {
	pods, podsWithoutUID                  int
	usage, withoutID, oddID, withoutImage int
	kubeState, promcosts, down            map[target]scraped
	collisions                            map[string]map[string]bool // by metric: names of labels
	known                                 map[string]bool            // pods of kube_pod_info by namespace/name and by UID
	used                                  map[string]string          // UIDs of pods with usage, by namespace/name; "" where it is not told
}

// Labels that name the pod of a series of kube_pod_info and of cAdvisor, those that win first.
var (
	namespaceLabels = cadvisorLabels["namespace"]
	podLabels       = append(slices.Clip(cadvisorLabels["pod"]), "pod_name")
)

// podsLabels and usageLabels are what is kept of series of kube_pod_info and of usage.
var (
	podsLabels  = slices.Concat([]string{"job", "instance", "uid", "exported_uid"}, namespaceLabels, podLabels)
	usageLabels = slices.Concat([]string{"id", "image"}, namespaceLabels, podLabels)
)

// podNamed is namespace/name of a pod as the last of the labels name it.
func podNamed(labels []Symbol) string {
	names := labels[len(labels)-len(namespaceLabels)-len(podLabels):]
	return firstOf(names[:len(namespaceLabels)]) + "/" + firstOf(names[len(namespaceLabels):])
}

// firstOf is the first value that is not empty.
func firstOf(labels []Symbol) string {
	for _, s := range labels {
		if s != none {
			return s.Value()
		}
	}
	return ""
}

// The requests that find problems, by index.
const (
	podsRequest = iota
	usageRequest
	promcostsRequest
	upRequest
	firstLabelsRequest // this index and those after it: metrics of labels
)

// labelMetrics are kube-state-metrics' lists of labels and annotations, whose names may collide.
var labelMetrics = []string{"kube_pod_labels", "kube_pod_annotations", "kube_namespace_labels", "kube_namespace_annotations", "kube_node_labels"}

// collision matches a name that kube-state-metrics gives to a label if several labels of an object become the same name.
var collision = regexp.MustCompile(`_conflict[0-9]+$`)

// findProblems looks at labels and targets. It looks at labels near the end of the window only, because usage has many series.
func (c *computation) findProblems(ctx context.Context, w allocation.Window) (problems, error) {
	labels := c.cfg.Clusters.Labels
	whole := Request{Start: w.Start.UnixMilli(), End: w.End.UnixMilli(), Input: "labels and targets"}
	late := whole
	late.Start = max(whole.Start, w.End.Add(-containerProbe).UnixMilli())
	rs := []Request{podsRequest: whole, usageRequest: late, promcostsRequest: whole, upRequest: late}
	rs[podsRequest].Metric, rs[podsRequest].Keep = "kube_pod_info", Labels(slices.Concat(podsLabels, labels)...)
	rs[usageRequest].Metric, rs[usageRequest].Keep = "container_cpu_usage_seconds_total", Labels(slices.Concat(usageLabels, labels)...)
	rs[usageRequest].Matchers = []Matcher{notEqual("container", ""), notEqual("container", "POD")}
	rs[promcostsRequest].Metric, rs[promcostsRequest].Keep = buildInfo, Labels(append([]string{"job", "instance"}, labels...)...)
	rs[upRequest].Metric, rs[upRequest].Keep = "up", Labels(append([]string{"job", "instance"}, labels...)...)
	for _, metric := range labelMetrics {
		late.Metric = metric
		rs = append(rs, late)
	}
	found := map[string]*census{}
	_, err := c.ask(ctx, "labels and targets", rs, func(s Series) error {
		if s.Request >= firstLabelsRequest {
			c.censusOf(found, pick(nil, s.Key, Labels(labels...))).recordCollisions(rs[s.Request].Metric, s.Key)
			return nil
		}
		n := len(rs[s.Request].Keep) - len(labels)
		c.censusOf(found, s.Key[n:]).count(s.Request, s.Key[:n], s.Points)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := problems{}
	for cluster, x := range found {
		out[cluster] = x.report(w.End.UnixMilli())
	}
	return out, nil
}

// censusOf is the census of the cluster that the labels of a series name.
func (c *computation) censusOf(found map[string]*census, labels []Symbol) *census {
	cluster := cmp.Or(firstOf(labels), c.cfg.Clusters.Default)
	if found[cluster] == nil {
		found[cluster] = &census{kubeState: map[target]scraped{}, promcosts: map[target]scraped{}, down: map[target]scraped{}, collisions: map[string]map[string]bool{}, known: map[string]bool{}, used: map[string]string{}}
	}
	return found[cluster]
}

// count counts a series; labels are those that its request keeps, without the cluster's.
func (x *census) count(i int, labels []Symbol, p *timeline.Points) {
	switch i {
	case podsRequest:
		x.pods++
		if labels[2] == none && labels[3] == none {
			x.podsWithoutUID++
		}
		x.known[podNamed(labels)], x.known[firstOf(labels[2:4])] = true, true
		recordTarget(x.kubeState, labels, p)
	case usageRequest:
		x.usage++
		uid, ok := PodUID(labels[0].Value())
		if p.Last()-p.First() >= leastSeen {
			x.used[podNamed(labels)] = ""
			if ok {
				x.used[podNamed(labels)] = string(uid[:])
			}
		}
		switch {
		case labels[0] == none:
			x.withoutID++
		case !ok:
			x.oddID++
		}
		if labels[1] == none {
			x.withoutImage++
		}
	case promcostsRequest:
		recordTarget(x.promcosts, labels, p)
	case upRequest:
		if v, ok := p.LastUsable(); ok && v == 0 {
			recordTarget(x.down, labels, p)
		}
	}
}

// recordTarget records when a target had samples.
func recordTarget(targets map[target]scraped, labels []Symbol, p *timeline.Points) {
	at, last := target{labels[0], labels[1]}, p.Last()
	if _, ok := p.LastUsable(); !ok {
		return
	}
	s, ok := targets[at]
	if !ok {
		s = scraped{p.First(), last}
	}
	targets[at] = scraped{min(s.first, p.First()), max(s.last, last)}
}

// recordCollisions records names that collide; key has all labels of a series.
func (x *census) recordCollisions(metric string, key []Symbol) {
	for k := 0; k+1 < len(key); k += 2 {
		if name := key[k].Value(); collision.MatchString(name) {
			if x.collisions[metric] == nil {
				x.collisions[metric] = map[string]bool{}
			}
			x.collisions[metric][name] = true
		}
	}
}

// leastSeen is for how long a pod has usage, in milliseconds, that kube-state-metrics must have seen.
const leastSeen = int64(containerProbe / 2 / time.Millisecond)

// unknown are the pods with usage that kube_pod_info does not know, where it knows any.
func (x *census) unknown() (names []string) {
	for name, uid := range x.used {
		if x.pods > 0 && !x.known[name] && (uid == "" || !x.known[uid]) {
			names = append(names, allocation.TenantName(name))
		}
	}
	slices.Sort(names)
	return names
}

// report says what is wrong. The order of counting does not matter.
func (x *census) report(end int64) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if x.podsWithoutUID > 0 {
		say("kube-state-metrics: %d of %d series of kube_pod_info have no label `uid`: a labeldrop or an aggregation takes it away. A pod that is made again under its name is told from the one before by its node and its times alone", x.podsWithoutUID, x.pods)
	}
	if names := x.unknown(); len(names) > 0 {
		out = append(out, notices.UnknownPods.Text(len(names), names))
	}
	if x.withoutID > 0 {
		say("cAdvisor: %d of %d series of container_cpu_usage_seconds_total have no label `id`: a labeldrop or an aggregation takes it away. Usage counts for whichever pod of that name ran then, and the counters of a container that restarts are told apart by their resets alone", x.withoutID, x.usage)
	}
	if x.oddID > 0 {
		say("cAdvisor: the label `id` of %d of %d series of container_cpu_usage_seconds_total is no cgroup path with a pod's UID, as if it was rewritten. Usage counts for whichever pod of that name ran then", x.oddID, x.usage)
	}
	if x.usage > 0 && x.withoutImage == x.usage {
		say("cAdvisor: no series of container_cpu_usage_seconds_total has the label `image`: a labeldrop takes it away. promcost does not read it, so no cost is wrong; dashboards that tell containers from their pods by it show nothing")
	}
	for _, metric := range slices.Sorted(maps.Keys(x.collisions)) {
		names := slices.Sorted(maps.Keys(x.collisions[metric]))
		say("kube-state-metrics: names in %s collide (%s), for it writes several names of Kubernetes alike, such as costCenter and cost-center. Which is which is only known where all of them are asked for: rename one, or let its allowlist export one of them", metric, strings.Join(names, ", "))
	}
	return append(out, x.reportTargets(end)...)
}

// reportTargets says what is wrong with the targets.
func (x *census) reportTargets(end int64) (out []string) {
	var gone, now []string
	for _, at := range sortedTargets(x.kubeState) {
		if s := x.kubeState[at]; s.last < end-timeline.Lookback && !replaced(x.kubeState, at) {
			gone = append(gone, fmt.Sprintf("%s since %s", at, instant(s.last)))
		}
	}
	for _, at := range sortedTargets(x.down) {
		if _, seen := x.kubeState[at]; !seen && slices.ContainsFunc(sortedTargets(x.kubeState), func(k target) bool { return k.job == at.job }) {
			gone = append(gone, fmt.Sprintf("%s all the time", at))
		}
	}
	if len(gone) > 0 && len(gone) < len(x.kubeState)+len(x.down) {
		out = append(out, fmt.Sprintf("kube-state-metrics: %d of its targets are down (%s) while others are scraped: where they are shards, what is in theirs is not known and costs nothing", len(gone), strings.Join(gone, ", ")))
	}
	for _, at := range sortedTargets(x.promcosts) {
		if x.promcosts[at].last >= end-timeline.Lookback {
			now = append(now, at.String())
		}
	}
	if len(now) > 1 {
		out = append(out, fmt.Sprintf("%d promcosts are scraped (%s): sums over promcost_… count each cost as often, unless each has its own --shard. Let Prometheus scrape one of them, or choose one by job or instance", len(now), strings.Join(now, ", ")))
	}
	return out
}

// replaced reports whether another target of the job began about when at ended, as happens when a pod is replaced.
func replaced(targets map[target]scraped, at target) bool {
	for other, s := range targets {
		if other != at && other.job == at.job && s.first > targets[at].first && s.first-targets[at].last <= steadyHole && targets[at].last-s.first <= steadyHole {
			return true
		}
	}
	return false
}

// String names a target as Prometheus does.
func (t target) String() string {
	return fmt.Sprintf("job=%q instance=%q", t.job.Value(), t.instance.Value())
}

// sortedTargets are targets in order.
func sortedTargets(targets map[target]scraped) []target {
	return slices.SortedFunc(maps.Keys(targets), func(a, b target) int {
		return cmp.Or(strings.Compare(a.job.Value(), b.job.Value()), strings.Compare(a.instance.Value(), b.instance.Value()))
	})
}
