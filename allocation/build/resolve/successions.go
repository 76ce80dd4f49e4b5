package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/timeline"
)

// succession is a pod among those of its name, and when samples show that its containers ran.
type succession struct {
	*observe.Pod
	first, last int64
}

// findSuccessions finds the pods of one name that followed each other, for two of them cannot run at once unless one scrape shows both
// (SEMANTICS §2). The start that is reported of a pod caps the end of the pod before it. A pod starts no earlier than that end: the mirror of
// a static pod that is made anew has another UID and the old start, and the clock of a node may be behind.
func (rs *Resolver) findSuccessions() {
	if !rs.Sampling.Exact() {
		return // cells of a grid belong to one pod at a time
	}
	for _, pods := range observe.Each(&rs.Limits, maps.All(rs.Pods.ByName)) {
		if len(pods) > 1 {
			rs.succeed(pods)
		}
	}
}

func (rs *Resolver) succeed(pods []*observe.Pod) {
	var all []succession
	for _, p := range pods {
		if x, seen := sightsOf(p); seen {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(x, y succession) int { return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.last, y.last)) })
	for i := 1; i < len(all); i++ {
		was, next := &all[i-1], &all[i]
		if next.first <= was.last {
			continue // one scrape shows both
		}
		was.Next = next.first
		if started := next.FirstStart(anyContainer); started > was.last {
			was.Next = min(was.Next, started)
		}
		for _, c := range was.Containers {
			presence := rs.presence(c)
			runs := rs.Sampling.Runs(&presence, &rs.AbsentIn(c.Pod.Cluster).Containers)
			if n := len(runs.All); n > 0 {
				next.After = max(next.After, runs.All[n-1].End.At)
			}
		}
		next.After = max(next.After, was.After)
	}
}

// sightsOf returns when the containers of a pod were seen first and last, and whether they were seen at all.
func sightsOf(p *observe.Pod) (x succession, seen bool) {
	x = succession{p, timeline.Forever, timeline.Unborn}
	for _, c := range p.Containers {
		for _, step := range c.Running.Best() {
			if step.V != 0 {
				x.first, x.last, seen = min(x.first, step.From+1), max(x.last, step.To), true
			}
		}
	}
	return x, seen
}

func anyContainer(*observe.Container) bool { return true }
