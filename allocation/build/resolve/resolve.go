package resolve

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// noteSeveralClusters records whether there are several clusters.
func (rs *Resolver) noteSeveralClusters() {
	seen := map[signals.Symbol]bool{}
	for key := range rs.Nodes.ByName {
		seen[key.Cluster] = true
	}
	for p := range rs.EveryPod() {
		seen[p.Cluster] = true
	}
	rs.Report.SeveralClusters = len(seen) > 1
}

// Resolve ends the phase in which everything but usage is added. It finds when nodes and containers ran, lays out the rows of
// the sets and cuts running time into sections.
func (rs *Resolver) Resolve() error {
	if rs.Phase != observe.Gathering {
		return errors.New("resolve: out of order")
	}
	if !rs.MetadataLast() {
		rs.Pods.Metadata.By = nil
	}
	if err := rs.Run(
		rs.mergeWithoutUID, rs.splitPlacements, rs.placeByHint, rs.noteSeveralClusters, rs.findAbsence, rs.placeDisks, rs.placeDevices, rs.splitNodes, rs.resolveNodes, rs.findDisks, rs.findBilling, rs.warnUnlabeled, rs.findLocations,
		rs.sortContainers, rs.reserveRows, rs.findSuccessions, rs.divideClaims, rs.findReserves, rs.resolveContainers, rs.resolveVolumes, rs.dropPodSignals,
	); err != nil {
		return err
	}
	rs.warnGaps()
	rs.warnUnseenInit()
	rs.warnUnplaced()
	rs.Count(notices.NodelessPods, rs.Report.Nodeless)
	rs.warnUnrequested()
	rs.warnBadRequests()
	rs.warnInStep()
	rs.Count(notices.UnpricedNodes, rs.Prices.Defaulted, rs.Sheet().InDollars())
	rs.Phase = observe.Measuring
	return rs.Stopped
}

// placeByHint finds the node of pods without a known node, by the address that they were scraped at.
func (rs *Resolver) placeByHint() {
	for p := range rs.EveryPod() {
		if !p.Node.Known() && p.Hint != observe.None {
			if name := rs.NodeAt(p.Cluster, p.Hint); name != observe.None {
				p.Node.Set(name, 0)
			}
		}
	}
}

// sortContainers puts containers in the order of rows.
func (rs *Resolver) sortContainers() {
	rs.Pods.Order = slices.SortedFunc(rs.Every(), compareContainers)
	for i, c := range rs.Pods.Order {
		c.Index = i
	}
}

// resolveContainers finds when containers ran, and drops the signals that say so.
func (rs *Resolver) resolveContainers() {
	for i, c := range observe.Each(&rs.Limits, slices.All(rs.Pods.Order)) {
		rs.ResolveContainer(c)
		rs.noteUnseenInit(c)
		unreported := len(c.Runs) == 0 && len(c.Running.Best()) == 0
		if rs.DropSignals(c); unreported {
			c.Pod.Containers = slices.DeleteFunc(c.Pod.Containers, func(x *observe.Container) bool { return x == c })
			c.Pod.WithoutSignal = append(c.Pod.WithoutSignal, c)
		}
		if i+1 == len(rs.Pods.Order) || rs.Pods.Order[i+1].Pod.UID != c.Pod.UID { // containers of a pod with a UID follow each other
			if len(c.Pod.Mounts) == 0 {
				c.Pod.PodSignals = &rs.Pods.NoPodSignals
			}
		}
	}
}

// dropPodSignals drops the signals of pods after all is resolved.
func (rs *Resolver) dropPodSignals() {
	for p := range rs.EveryPod() {
		p.PodSignals = &rs.Pods.NoPodSignals
	}
}

// noteUnplaced records a container of a pod on no known node, and its prices.
func (rs *Resolver) noteUnplaced(c *observe.Container, steps *prices.Node) {
	name := rs.Placed(c.Pod.Cluster, c.Pod.Namespace.Value()+"/"+c.Pod.Name.Value())
	if n := len(rs.Report.Unplaced); n == 0 || rs.Report.Unplaced[n-1] != name { // the containers of a pod follow each other
		rs.Report.Unplaced = append(rs.Report.Unplaced, name)
	}
	rs.Report.UnplacedDefault = rs.Report.UnplacedDefault || steps.HasDefault()
}

// warnUnplaced names the pods on no known node.
func (rs *Resolver) warnUnplaced() {
	prices := "what the price sheet says of any node"
	if rs.Report.UnplacedDefault {
		prices = "defaults" + rs.Sheet().InDollars()
	}
	rs.Count(notices.UnplacedPods, rs.Report.Unplaced, prices)
}

// DropSignals drops the signals that sections were made of, to free memory before usage is read.
func (rs *Resolver) DropSignals(c *observe.Container) {
	if len(c.Ended) > 0 && len(c.Started) > 0 && c.Ended[0].V <= c.Started[0].V {
		c.Pod.Restarted = true
	}
	c.Restarted = c.HasRestarted()
	c.ContainerSignals = &rs.Pods.NoSignals
}

func compareContainers(x, y *observe.Container) int {
	if x.Pod != y.Pod {
		if order := observe.ComparePods(x.Pod, y.Pod); order != 0 {
			return order
		}
	}
	return cmp.Or(signals.Compare(x.Name, y.Name), cmp.Compare(x.Pod.Nth, y.Pod.Nth))
}

// mergeWithoutUID gives the signals of pods without a UID (metrics of old kube-state-metrics) to the pods of that name with
// a UID, each for the time it existed.
func (rs *Resolver) mergeWithoutUID() {
	for name, pods := range observe.Each(&rs.Limits, maps.All(rs.Pods.ByName)) {
		i := slices.IndexFunc(pods, func(p *observe.Pod) bool { return p.UID == observe.None })
		if i < 0 || len(pods) == 1 {
			continue
		}
		nameless := pods[i]
		pods = slices.Delete(pods, i, i+1)
		rs.Pods.ByName[name] = pods
		for _, p := range pods {
			p.FillFrom(nameless)
			for _, from := range nameless.Containers {
				to := p.Container(from.Name)
				if to == nil {
					to = p.NewContainer(from.Name)
				}
				to.AddSignals(from, p.Seen, len(pods) > 1)
			}
		}
		rs.Replace(nameless)
	}
}

// findRuns finds when a container ran, on which node, and when it waited. inside is the part of both within the window and its margins.
func (rs *Resolver) findRuns(c *observe.Container) (found timeline.Runs, waits, inside timeline.Intervals) {
	presence := rs.presence(c)
	found = rs.Sampling.Runs(&presence, &rs.AbsentIn(c.Pod.Cluster).Containers)
	runs := found.Intervals()
	c.Node = rs.nodeRunning(c, &found)
	waits = rs.waiting(c, &presence, runs)
	inside = timeline.Union(slices.Concat(waits, runs)).Clip(rs.Sampling.Start, rs.Sampling.End)
	if len(inside) > 0 {
		c.Runs = runs
	}
	return found, waits, inside
}

// presence collects the signals of when c ran, and replaces those that are not known by the next best ones. An init container ends long before its pod, but native sidecars end with it.
func (rs *Resolver) presence(c *observe.Container) timeline.Presence {
	var followers []int64
	if len(c.Started) == 0 {
		c.Started = c.Created.Positive() // cAdvisor says 0 or less if it does not know
	} else if c.Init {
		followers = rs.followers(c)
	}
	p := timeline.Presence{Started: c.Started, Born: c.Pod.Born, Ended: c.Ended, Deleted: c.Pod.Deleted, Unseen: !c.Init, Followers: followers, OneSeries: c.Alone}
	if len(c.Running) > observe.RankOfInfo {
		info := timeline.Within(c.Running[observe.RankOfInfo], c.Pod.Active)
		c.Running[observe.RankOfInfo] = info
		shown := timeline.AppendIntervals(timeline.AppendIntervals(nil, c.Running[:observe.RankOfInfo].Best()), c.Started.Positive())
		p.Supposed = timeline.Union(timeline.AppendIntervals(nil, info)).Without(timeline.Union(shown))
	}
	p.Seen = c.Running.Best()
	if c.Pod.UID != observe.None || len(p.Born) > 0 { // else it may be several pods of one name, and each counts its own restarts
		p.Restarts = c.Restarts
	}
	switch {
	case rs.comesBefore(c, p.Seen):
		p.Until = c.Pod.FirstStart(func(x *observe.Container) bool { return !x.Init })
	case len(c.Pod.Completed) > 0:
		p.Completed, p.Together = c.Pod.Completed, c.Together(p.Seen)
	}
	p.After, p.Next = c.Pod.After, c.Pod.Next
	p.Once = !c.Init && len(c.Started) == 0 && c.RanOnce()
	return p
}
