package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// InitContainers returns the names of the init containers that ran. Only cAdvisor reports their starts, which should be read, and count
// only for init containers from now on. There are none on a grid, where starts of init containers do not matter.
func (rs *Resolver) InitContainers() []string {
	isInit := func(c *observe.Container) bool { return c.Init }
	rs.TakesAlternative = func(s *observe.Incoming) bool { return rs.MayBeOf(s, isInit) }
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) {
		return c.Name, rs.Sampling.Exact() && c.Init && len(c.Started) == 0 && c.Ran()
	})
}

// InitsWithoutStatus returns the names of the init containers, native sidecars included, that the best running signal never has. Its
// alternatives should be read, and count only for them from now on.
func (rs *Resolver) InitsWithoutStatus() []string {
	rs.TakesAlternative = func(s *observe.Incoming) bool { return rs.MayBeOf(s, (*observe.Container).IsInitWithoutStatus) }
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) { return c.Name, c.IsInitWithoutStatus() })
}

// PodsOfInfos returns the names of pods with init containers that have no status but an info. Their phases say when these ran.
func (rs *Resolver) PodsOfInfos() []string {
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) {
		return c.Pod.Name, c.IsInitWithoutStatus() && len(c.Running) > observe.RankOfInfo
	})
}

// UnseenPods returns the names of completed pods with containers that no scrape saw running and that have no known start. The signals
// PodFinal and ContainerRestarts decide whether these ran. There are none on a grid, where this does not matter.
func (rs *Resolver) UnseenPods() []string {
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) { return c.Pod.Name, rs.completedUnseen(c) })
}

func (rs *Resolver) completedUnseen(c *observe.Container) bool {
	completed := len(c.Pod.Completed.Positive()) > 0
	return rs.Sampling.Exact() && !c.Init && completed && !c.HasStart() && !c.Ran()
}

// UnknownStarts returns the names of pods with containers whose start is not known all the time that they ran, or that are among
// UnseenPods. The signal ContainerRestarts says whether they ran on through gaps.
func (rs *Resolver) UnknownStarts() []string {
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) {
		if !c.Ran() {
			return c.Pod.Name, rs.completedUnseen(c)
		}
		// For other containers, cAdvisor's starts may have been read for a part of the window only.
		known := c.Init && c.HasStart() || len(c.Started) > 0 && !slices.ContainsFunc(c.Running[0], c.LacksStart)
		return c.Pod.Name, !known
	})
}

// Ownerless returns the names of pods whose creator is not known. The signal PodOwner may tell who owns them.
func (rs *Resolver) Ownerless() []string {
	return rs.NamesWhere(func(c *observe.Container) (signals.Symbol, bool) {
		return c.Pod.Name, c.Pod.CreatedBy.Value == (observe.Owner{})
	})
}

// followers returns the reported starts of the other containers of a pod, and when the pod was gone: one of these ends an init container that no
// scrape saw running (SEMANTICS §2).
func (rs *Resolver) followers(c *observe.Container) (out []int64) {
	for _, x := range c.Pod.Containers {
		for _, s := range x.Started {
			if x != c && s.V > 0 {
				out = append(out, int64(s.V*1000))
			}
		}
	}
	if gone, lasts, seen := timeline.LastSight(c.Pod.Seen); seen {
		if gone+lasts >= rs.Sampling.End {
			gone = rs.Sampling.End
		}
		out = append(out, gone)
	}
	return timeline.SortedEdges(out)
}

// noteUnseenInit records an init container that no scrape saw running and whose start is not known, of a pod that started within the window.
func (rs *Resolver) noteUnseenInit(c *observe.Container) {
	started := c.Pod.Started
	if c.Init && len(c.Running) > 0 && len(c.Runs) == 0 && started.Known() && int64(started.Value*1000) >= rs.Sampling.Start {
		rs.Pods.UnseenInit = append(rs.Pods.UnseenInit, c)
	}
}

// warnUnseenInit counts the init containers that cost nothing because no scrape saw them, though their pods ran.
func (rs *Resolver) warnUnseenInit() {
	var names []string
	for _, c := range rs.Pods.UnseenInit {
		if slices.ContainsFunc(c.Pod.Containers, func(x *observe.Container) bool { return len(x.Sections) > 0 }) {
			names = append(names, rs.Placed(c.Pod.Cluster, c.Pod.Namespace.Value()+"/"+c.Pod.Name.Value()+"/"+c.Name.Value()))
		}
	}
	rs.Count(notices.UnseenInits, names)
	rs.Pods.UnseenInit = nil
}
