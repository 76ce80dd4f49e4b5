package build

import (
	"net"
	"slices"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

func (b *Builder) addPodFinal(s *incoming) error {
	p := b.podOf(s.pod())
	p.final = timeline.Max(p.final, b.sampling.Sights(s.p))
	return nil
}

func (b *Builder) addRestarts(s *incoming) error {
	c := b.container(s)
	c.restarts = b.shared.Max(c.restarts, b.shared.Reports(b.sampling, s.p))
	return nil
}

// ran reports whether a sample shows that a container ran.
func (c *container) ran() bool {
	return slices.ContainsFunc(c.running, func(s timeline.Steps) bool { return !s.IsZero() })
}

// hasStatus reports whether the best running signal has a container.
func (c *container) hasStatus() bool { return len(c.running) > 0 && len(c.running[0]) > 0 }

// initContainers returns the names of the init containers that ran. Only cAdvisor reports their starts, which should be read, and count
// only for init containers from now on. There are none on a grid, where starts of init containers do not matter.
func (b *Builder) initContainers() []string {
	isInit := func(c *container) bool { return c.init }
	b.takesAlternative = func(s *incoming) bool { return b.mayBeOf(s, isInit) }
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.container, b.sampling.Exact() && c.init && c.ran() })
}

// initsWithoutStatus returns the names of the init containers, native sidecars included, that the best running signal never has. Its
// alternatives should be read, and count only for them from now on.
func (b *Builder) initsWithoutStatus() []string {
	b.takesAlternative = func(s *incoming) bool { return b.mayBeOf(s, (*container).isInitWithoutStatus) }
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.container, c.isInitWithoutStatus() })
}

// podsOfInfos returns the names of pods with init containers that have no status but an info. Their phases say when these ran.
func (b *Builder) podsOfInfos() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) {
		return c.pod.name, c.isInitWithoutStatus() && len(c.running) > runningByInfo
	})
}

// isInitWithoutStatus reports whether c is an init container that the best running signal never has.
func (c *container) isInitWithoutStatus() bool { return c.init && !c.hasStatus() }

// skipsAlternative reports whether s is an alternative for a container that needs none.
func (b *Builder) skipsAlternative(s *incoming) bool {
	return s.Rank > 0 && b.takesAlternative != nil && !b.takesAlternative(s)
}

// mayBeOf reports whether s may belong to a container of some kind: by name and pod UID, or only by name if either UID is not known.
func (b *Builder) mayBeOf(s *incoming, kind func(*container) bool) bool {
	of, name := s.pod(), s.key[4]
	if c := b.pods.find(&of).container(name); c != nil && kind(c) {
		return true // mostly
	}
	return slices.ContainsFunc(b.pods.byName[of.objectKey], func(p *pod) bool {
		c := p.container(name)
		return c != nil && kind(c) && (p.uid == of.uid || p.uid == none || of.uid == none)
	})
}

// unseenPods returns the names of completed pods with containers that no scrape saw running and that have no known start. The signals
// PodFinal and ContainerRestarts decide whether these ran. There are none on a grid, where this does not matter.
func (b *Builder) unseenPods() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.pod.name, b.completedUnseen(c) })
}

func (b *Builder) completedUnseen(c *container) bool {
	completed := len(c.pod.completed.Positive()) > 0
	return b.sampling.Exact() && !c.init && completed && !c.hasStart() && !c.ran()
}

// unknownStarts returns the names of pods with containers whose start is not known all the time that they ran, or that are among
// unseenPods. The signal ContainerRestarts says whether they ran on through gaps.
func (b *Builder) unknownStarts() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) {
		if !c.ran() {
			return c.pod.name, b.completedUnseen(c)
		}
		// For other containers, cAdvisor's starts may have been read for a part of the window only.
		known := c.init && len(c.created) > 0 || len(c.started) > 0 && !slices.ContainsFunc(c.running[0], c.lacksStart)
		return c.pod.name, !known
	})
}

// lacksStart reports whether a sight of c lasts more than a lookback longer than its start is told.
func (c *container) lacksStart(s timeline.Step) bool {
	return s.V != 0 && s.To-s.From-c.started.LengthWithin(s.From, s.To) > timeline.Lookback
}

// ownerless returns the names of pods whose creator is not known. The signal PodOwner may tell who owns them.
func (b *Builder) ownerless() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) {
		return c.pod.name, c.pod.createdBy.Value == (owner{})
	})
}

// hasStart reports whether a start of c is known.
func (c *container) hasStart() bool { return len(c.started) > 0 || len(c.created) > 0 }

// namesWhere returns the names for which of returns true, sorted.
func (b *Builder) namesWhere(of func(c *container) (signals.Symbol, bool)) []string {
	var names []string
	for c := range b.every() {
		if name, ok := of(c); ok {
			names = append(names, name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nodeAt is the name of the node that a kubelet's series come from. name is the node's name, the address that it is scraped at, or
// either with a port. nodeAt is none for an address of no known node.
func (b *Builder) nodeAt(cluster, name signals.Symbol) signals.Symbol {
	if name == none || b.nodes.byName[nodeKey{cluster, name}] != nil {
		return name
	}
	host, _, err := net.SplitHostPort(name.Value())
	if err != nil {
		host = name.Value()
	}
	at := b.symbols.Of(host)
	if node, ok := b.nodes.addresses[nodeKey{cluster, at}]; ok {
		return node
	}
	if b.nodes.byName[nodeKey{cluster, at}] == nil && (err == nil || net.ParseIP(host) != nil) {
		return none
	}
	return at
}

// noteUnseenInit records an init container that no scrape saw running, of a pod that started within the window.
func (b *Builder) noteUnseenInit(c *container) {
	started := c.pod.started
	if c.init && len(c.running) > 0 && !c.ran() && started.Known() && int64(started.Value*1000) >= b.sampling.Start {
		b.pods.unseenInit = append(b.pods.unseenInit, c)
	}
}

// warnUnseenInit counts the init containers that cost nothing because no scrape saw them, though their pods ran.
func (b *Builder) warnUnseenInit() {
	var names []string
	for _, c := range b.pods.unseenInit {
		if slices.ContainsFunc(c.pod.containers, func(x *container) bool { return len(x.segments) > 0 }) {
			names = append(names, b.placed(c.pod.cluster, c.pod.namespace.Value()+"/"+c.pod.name.Value()+"/"+c.container.Value()))
		}
	}
	b.count(notices.UnseenInits, names)
	b.pods.unseenInit = nil
}
