package build

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/prices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// segment is a stretch of a container's running time within which only usage changes, and the row it counts for.
type segment struct {
	from, to int64
	ref      rowRef
	*terms
}

// terms are what the charge for a container depends on besides its usage. Segments share them: there are few of them in a cluster.
type terms struct {
	request, price [allocation.NumResources]float64
	inside         [allocation.NumResources]bool // the node exists and has the resource
}

// cuts is scratch of resolveContainer, and what it remembers of containers before.
type cuts struct {
	edges    []int64
	segments []segment
	terms    map[terms]*terms
	joined   joinedLabels
	services []string // scratch of servicesAt
}

// resolveAll ends the phase in which everything but usage is added. It finds when nodes and containers ran, lays out the rows of
// the sets and cuts running time into segments.
func (b *Builder) resolveAll() error {
	if b.phase != gathering {
		return errors.New("resolve: out of order")
	}
	if !b.metadataLast() {
		b.pods.metadata.by = nil
	}
	if err := b.run(
		b.mergeWithoutUID, b.splitPlacements, b.placeByHint, b.noteSeveralClusters, b.findAbsence, b.splitNodes, b.resolveNodes, b.warnUnlabeled, b.findLocations,
		b.sortContainers, b.reserveRows, b.resolveContainers, b.resolveVolumes,
	); err != nil {
		return err
	}
	b.warnGaps()
	b.warnUnseenInit()
	b.warnUnplaced()
	b.warnUnrequested()
	b.warnBadRequests()
	b.warnInStep()
	b.count(notices.UnpricedNodes, b.prices.defaulted, b.sheet().InDollars())
	b.phase = measuring
	return b.stopped
}

// placeByHint finds the node of pods without a known node, by the address that they were scraped at.
func (b *Builder) placeByHint() {
	for p := range b.everyPod() {
		if !p.node.Known() && p.hint != none {
			if name := b.nodeAt(p.cluster, p.hint); name != none {
				p.node.Set(name, 0)
			}
		}
	}
}

// sortContainers puts containers in the order of rows.
func (b *Builder) sortContainers() {
	b.pods.order = slices.SortedFunc(b.every(), compareContainers)
	for i, c := range b.pods.order {
		c.index = i
	}
}

// resolveContainers finds when containers ran, and drops the signals that say so.
func (b *Builder) resolveContainers() {
	for i, c := range each(&b.limits, slices.All(b.pods.order)) {
		b.resolveContainer(c)
		b.noteUnseenInit(c)
		untold := len(c.runs) == 0 && len(c.running.Best()) == 0
		if b.dropSignals(c); untold {
			c.pod.containers = slices.DeleteFunc(c.pod.containers, func(x *container) bool { return x == c })
			c.pod.withoutSignal = append(c.pod.withoutSignal, c)
		}
		if i+1 == len(b.pods.order) || b.pods.order[i+1].pod.uid != c.pod.uid { // containers of a pod with a UID follow each other
			c.pod.podSignals = &b.pods.noPodSignals
		}
	}
	for p := range b.everyPod() {
		p.podSignals = &b.pods.noPodSignals
		p.findNode()
	}
}

// findNode notes the node of a pod's containers.
func (p *pod) findNode() {
	if len(p.containers) > 0 {
		p.on = p.containers[0].node
	}
}

// noteUnplaced records a container of a pod on no known node, and its prices.
func (b *Builder) noteUnplaced(c *container, steps *prices.Node) {
	name := b.placed(c.pod.cluster, c.pod.namespace.Value()+"/"+c.pod.name.Value())
	if n := len(b.report.unplaced); n == 0 || b.report.unplaced[n-1] != name { // the containers of a pod follow each other
		b.report.unplaced = append(b.report.unplaced, name)
	}
	b.report.unplacedDefault = b.report.unplacedDefault || steps.HasDefault()
}

// warnUnplaced names the pods on no known node.
func (b *Builder) warnUnplaced() {
	prices := "what the price sheet says of any node"
	if b.report.unplacedDefault {
		prices = "defaults" + b.sheet().InDollars()
	}
	b.count(notices.UnplacedPods, b.report.unplaced, prices)
}

// dropSignals drops the signals that segments were made of, to free memory before usage is read.
func (b *Builder) dropSignals(c *container) {
	if len(c.ended) > 0 && len(c.started) > 0 && c.ended[0].V <= c.started[0].V {
		c.pod.restarted = true
	}
	c.restarted = c.hasRestarted()
	c.containerSignals = &b.pods.noSignals
}

func compareContainers(x, y *container) int {
	if x.pod != y.pod {
		if order := comparePods(x.pod, y.pod); order != 0 {
			return order
		}
	}
	return cmp.Or(signals.Compare(x.container, y.container), cmp.Compare(x.pod.nth, y.pod.nth))
}

// mergeWithoutUID gives the signals of pods without a UID (metrics of old kube-state-metrics) to the pods of that name with
// a UID, each for the time it existed.
func (b *Builder) mergeWithoutUID() {
	for name, pods := range each(&b.limits, maps.All(b.pods.byName)) {
		i := slices.IndexFunc(pods, func(p *pod) bool { return p.uid == none })
		if i < 0 || len(pods) == 1 {
			continue
		}
		nameless := pods[i]
		pods = slices.Delete(pods, i, i+1)
		b.pods.byName[name] = pods
		for _, p := range pods {
			p.fillFrom(nameless)
			for _, from := range nameless.containers {
				to := p.container(from.container)
				if to == nil {
					to = p.newContainer(from.container)
				}
				to.addSignals(from, p.seen, len(pods) > 1)
			}
		}
		b.replace(nameless)
	}
}

// fillFrom takes over what is not known of p.
func (p *pod) fillFrom(from *pod) {
	if !p.owner.Known() {
		p.owner = from.owner
	}
	if !p.scheduled.Known() {
		p.scheduled = from.scheduled
	}
	if len(p.pending) == 0 {
		p.pending = from.pending
	}
	if len(p.mounts) == 0 {
		p.mounts = from.mounts
	}
	if len(p.labels) == 0 {
		p.labels = from.labels
	}
	if len(p.annotations) == 0 {
		p.annotations = from.annotations
	}
	if !p.node.Known() {
		p.node = from.node
	}
}

// addSignals adds from's signals. If clip is set, it adds only those of the time that seen covers.
func (c *container) addSignals(from *container, seen timeline.Steps, clip bool) {
	take := func(s timeline.Steps) timeline.Steps {
		if clip {
			return timeline.Within(s, seen)
		}
		return s
	}
	c.init = c.init || from.init
	for rank, s := range from.running {
		c.running.Add(rank, take(s))
	}
	for r := range allocation.NumResources {
		for rank, s := range from.request[r] {
			c.request[r].Add(rank, take(s))
		}
		for rank, s := range from.limit[r] {
			c.limit[r].Add(rank, take(s))
		}
	}
	c.addDevices(from.devices, take)
	c.started = timeline.Max(c.started, take(from.started))
	c.created = timeline.Max(c.created, take(from.created))
	c.ended = timeline.Max(c.ended, take(from.ended))
	c.restarts = timeline.Max(c.restarts, take(from.restarts))
}

func sortedSymbols[V any](m map[signals.Symbol]V) []signals.Symbol {
	return slices.SortedFunc(maps.Keys(m), signals.Compare)
}

// findRuns finds when a container ran, on which node, and when it waited. inside is the part of both within the window and its margins.
func (b *Builder) findRuns(c *container) (found timeline.Runs, waits, inside timeline.Intervals) {
	if len(c.started) == 0 {
		c.started = c.created.Positive() // cAdvisor says 0 or less if it does not know
	}
	presence := b.presence(c)
	found = b.sampling.Runs(&presence, &b.absentIn(c.pod.cluster).containers)
	runs := found.Intervals()
	c.node = b.nodeRunning(c, &found)
	waits = b.waiting(c, &presence, runs)
	inside = timeline.Union(slices.Concat(waits, runs)).Clip(b.sampling.Start, b.sampling.End)
	if len(inside) > 0 {
		c.runs = runs
	}
	return found, waits, inside
}

// resolveContainer cuts the time that is charged for a container into segments.
func (b *Builder) resolveContainer(c *container) {
	found, waits, inside := b.findRuns(c)
	if len(inside) == 0 {
		return
	}
	if c.node != nil {
		for _, run := range inside {
			c.node.extendLife(run.From)
		}
	}
	b.outages.bridged.add(c.pod.name.Value(), b.asked(found.Bridged))
	n := c.node
	c.resolveDevices(n, b.dict)
	var request, limit [allocation.NumResources]timeline.Steps
	edges := append(b.cuts.edges[:0], b.borders...)
	for r := range allocation.NumResources {
		request[r], limit[r] = b.fillGaps(c.request[r].Best()), b.fillGaps(c.limit[r].Best())
		edges = limit[r].Edges(request[r].Edges(edges))
		b.noteRequest(c, r, request[r], limit[r], inside)
	}
	var unknown prices.Node // prices for an unknown node
	if n != nil {
		edges = n.edges(edges)
	} else {
		unknown = b.sheet().Node(rates.NodeAttributes{Cluster: c.pod.cluster.Value()})
		if len(b.asked(inside)) > 0 {
			b.noteUnplaced(c, &unknown)
		}
		edges = append(edges, unknown.Changes...)
	}
	b.cuts.edges, b.cuts.segments = edges, b.cuts.segments[:0]
	edges = timeline.SortedEdges(edges)
	for _, run := range inside {
		for from := run.From; from < run.To; {
			to := timeline.NextEdge(edges, from, run.To)
			ref := b.row(c, from, to)
			var of terms
			for r := range allocation.NumResources {
				of.request[r] = max(0, request[r].Value(to))
				if n != nil {
					of.price[r], of.inside[r] = n.priceAt(r, to), n.has(r, to)
				} else {
					of.price[r] = unknown.At(to, false).Price[r]
				}
				b.add(ref, allocation.RequestHours.Of(r), of.request[r]*hours(from, to))
				b.add(ref, allocation.LimitHours.Of(r), max(0, limit[r].Value(to))*hours(from, to))
			}
			b.cuts.add(segment{from, to, ref, b.cuts.shared(&of)})
			from = to
		}
	}
	c.segments = slices.Clone(b.cuts.segments)
	for _, ref := range c.rows {
		if ref.row != noRow {
			b.describe(c, b.rows[ref.set], ref.row)
		}
	}
	b.bound(c, &found, waits)
}

// hours is the length of (from, to] in hours.
func hours(from, to int64) float64 { return float64(to-from) / 3.6e6 }

// add appends a segment. It joins it with the segment before if nothing changed between them.
func (x *cuts) add(seg segment) {
	if n := len(x.segments); n > 0 {
		if last := &x.segments[n-1]; last.to == seg.from && last.ref == seg.ref && last.terms == seg.terms {
			last.to = seg.to
			return
		}
	}
	x.segments = append(x.segments, seg)
}

// shared returns terms that are equal to t, the same ones each time.
func (x *cuts) shared(t *terms) *terms {
	if n := len(x.segments); n > 0 && *x.segments[n-1].terms == *t {
		return x.segments[n-1].terms // mostly
	}
	of := x.terms[*t]
	if of == nil {
		of = &terms{}
		*of = *t
		x.terms[*t] = of
	}
	return of
}

// presence collects the signals of when c ran. An init container ends long before its pod, but native sidecars end with it.
func (b *Builder) presence(c *container) timeline.Presence {
	p := timeline.Presence{Started: c.started, Born: c.pod.born, Ended: c.ended, Deleted: c.pod.deleted, Unseen: !c.init, OneSeries: c.alone}
	if len(c.running) > runningByInfo {
		info := timeline.Within(c.running[runningByInfo], c.pod.active)
		c.running[runningByInfo] = info
		shown := timeline.AppendIntervals(timeline.AppendIntervals(nil, c.running[:runningByInfo].Best()), c.started.Positive())
		p.Supposed = timeline.Union(timeline.AppendIntervals(nil, info)).Without(timeline.Union(shown))
	}
	p.Seen = c.running.Best()
	if c.pod.uid != none || len(p.Born) > 0 { // else it may be several pods of one name, and each counts its own restarts
		p.Restarts = c.restarts
	}
	switch {
	case b.comesBefore(c, p.Seen):
		p.Until = c.pod.firstStart(func(x *container) bool { return !x.init })
	case len(c.pod.completed) > 0:
		p.Completed, p.Together = c.pod.completed, c.together(p.Seen)
	}
	p.Once = !c.init && len(c.started) == 0 && c.ranOnce()
	return p
}

// together reports whether the pod has another container, no init container, that was last seen together with c. If c was never seen,
// any other one counts.
func (c *container) together(mine timeline.Steps) bool {
	last, lasts, seen := timeline.LastSight(mine)
	return slices.ContainsFunc(c.pod.containers, func(x *container) bool {
		if x == c || x.init {
			return false
		}
		other, _, _ := timeline.LastSight(x.running.Best())
		return !seen || last-other < lasts && other-last < lasts
	})
}

// ranOnce reports whether a container of a pod that is over was never restarted.
func (c *container) ranOnce() bool {
	over := slices.ContainsFunc(c.pod.final, func(x timeline.Step) bool { return x.V != 0 })
	return over && len(c.restarts) > 0 && !slices.ContainsFunc(c.restarts, func(x timeline.Step) bool { return x.V != 0 })
}

// edges appends the instants at which the node's life, capacity or price changes.
func (n *node) edges(dst []int64) []int64 {
	dst = n.life.Edges(dst)
	for r := range allocation.NumResources {
		dst = n.priceEdges(r, n.amount[r].Edges(dst))
	}
	return dst
}

// has reports whether the node exists at t and its capacity of the resource is known.
func (n *node) has(r allocation.Resource, t int64) bool {
	_, alive := n.life.Find(t)
	_, known := n.amount[r].At(t)
	return alive && known
}

// row returns the row of c in the set that (from, to] lies in, and counts that time as running. It makes the row if it is new and of this
// shard.
func (b *Builder) row(c *container, from, to int64) rowRef {
	i, _ := slices.BinarySearch(b.borders, to)
	set := int32(i - 1)
	if n := len(c.rows); n == 0 || c.rows[n-1].set != set {
		ref := rowRef{set, noRow}
		switch {
		case i <= b.first || i > b.last:
		case b.hasRows(c.pod):
			ref.row = int32(b.rows[set].Add(allocation.Workload, from, to))
		default:
			b.sets[set].OtherShards = true
		}
		c.rows = append(c.rows, ref)
	}
	ref := c.rows[len(c.rows)-1]
	if ref.row != noRow {
		b.rows[set].Ends()[ref.row] = to
	}
	b.add(ref, allocation.RunningSeconds, float64(to-from)/1000)
	return ref
}

// add adds v to a column of a row, where there is one.
func (b *Builder) add(ref rowRef, c allocation.Column, v float64) {
	if ref.row != noRow && v != 0 {
		b.rows[ref.set].Column(c)[ref.row] += v
	}
}

// describe fills in a row's properties after its running time is known: those at the end of that time.
func (b *Builder) describe(c *container, rows *allocation.Rows, row int32) {
	p, end := c.pod, rows.Ends()[row]
	controller := b.controller(p)
	text := [allocation.Services]signals.Symbol{
		allocation.Cluster: p.cluster, allocation.Namespace: p.namespace, allocation.Pod: p.name, allocation.PodUID: p.uid,
		allocation.Container: c.container, allocation.ControllerKind: controller.kind, allocation.Controller: controller.name,
	}
	if p.node.Known() {
		text[allocation.NodeName] = p.node.Value
	}
	for prop, symbol := range text {
		if id := &rows.IDs(allocation.Property(prop))[row]; prop == int(allocation.ProviderID) && c.node != nil {
			*id = c.node.provider
		} else {
			*id = b.id(symbol)
		}
	}
	labels, annotations := b.pods.namespaces[objectKey{p.cluster, p.namespace, none}].at(end)
	rows.IDs(allocation.Services)[row] = b.dict.AddList(b.servicesAt(p, end))
	if len(b.pods.metadata.by) == 0 {
		b.describeMetadata(c, rows, row)
	} else {
		rows.IDs(allocation.Labels)[row], rows.IDs(allocation.Annotations)[row] = metadata.Unread, metadata.Unread
	}
	rows.IDs(allocation.NamespaceLabels)[row], rows.IDs(allocation.NamespaceAnnotations)[row] = labels, annotations
	rows.IDs(allocation.GPUDevices)[row] = c.gpu
}

// labelsOf joins the labels of a pod, its namespace and its node at t. The pod's win over the namespace's, and these over the node's.
func (b *Builder) labelsOf(c *container, t int64, in, own allocation.ID) allocation.ID {
	of := [3]allocation.ID{0, in, own}
	if c.node != nil {
		of[0] = c.node.reported.labels.At(t)
	}
	if b.cuts.joined.of != of {
		b.cuts.joined = joinedLabels{of, b.dict.Overlay(of[:]...)}
	}
	return b.cuts.joined.all
}
