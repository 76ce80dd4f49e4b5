package build

import (
	"maps"
	"net"
	"slices"

	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

func (b *Builder) addPodFinal(s *seen) error {
	p := b.podOf(s.pod())
	p.final = timeline.Max(p.final, b.sampling.Sights(s.p))
	return nil
}

func (b *Builder) addRestarts(s *seen) error {
	c := b.container(s)
	c.restarts = timeline.Max(c.restarts, b.sampling.Reports(s.p))
	return nil
}

// ran reports whether a sample shows that a container ran.
func (c *container) ran() bool {
	return slices.ContainsFunc(c.running, func(s timeline.Steps) bool { return len(sights(s)) > 0 })
}

// hasStatus reports whether the best running signal tells of a container.
func (c *container) hasStatus() bool { return len(c.running) > 0 && len(c.running[0]) > 0 }

// InitContainers are the names of the init containers that ran, whose starts only cAdvisor knows: those should be read, and count
// for init containers alone from now on. On a grid they do not matter.
func (b *Builder) InitContainers() []string {
	isInit := func(c *container) bool { return c.init }
	b.takesAlternative = func(s *seen) bool { return b.mayBeOf(s, isInit) }
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.container, b.sampling.Exact() && c.init && c.ran() })
}

// BlindInits are the names of the init containers, native sidecars among them, that the best running signal never tells of:
// its alternatives should be read as well, and count for them alone from now on.
func (b *Builder) BlindInits() []string {
	b.takesAlternative = func(s *seen) bool { return b.mayBeOf(s, (*container).isBlindInit) }
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.container, c.isBlindInit() })
}

// isBlindInit reports whether c is an init container that the best running signal never tells of.
func (c *container) isBlindInit() bool { return c.init && !c.hasStatus() }

// ofOthers reports whether s is an alternative that tells of a container that alternatives were not read for.
func (b *Builder) skipsAlternative(s *seen) bool {
	return s.Rank > 0 && b.takesAlternative != nil && !b.takesAlternative(s)
}

// tellsOf reports whether s may tell of a container of some kind: of its pod, or where the UID of either is not known, of its name.
func (b *Builder) mayBeOf(s *seen, kind func(*container) bool) bool {
	return slices.ContainsFunc(b.pods.byName[s.object()], func(p *pod) bool {
		c := p.container(s.key[4])
		return c != nil && kind(c) && (p.uid == s.pod().uid || p.uid == none || s.pod().uid == none)
	})
}

// UnseenPods are the names of pods that completed, with containers that no scrape saw running and of which no start is known:
// what signals PodFinal and ContainerRestarts say of them decides whether they ran. On a grid they do not matter.
func (b *Builder) UnseenPods() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) { return c.name, b.completedUnseen(c) })
}

func (b *Builder) completedUnseen(c *container) bool {
	completed := len(c.pod.completed.Positive()) > 0
	return b.sampling.Exact() && !c.init && completed && !c.hasStart() && !c.ran()
}

// UnknownStarts are the names of pods with containers of which no start is known, and that ran or are among UnseenPods: signal
// ContainerRestarts says whether they ran through what no scrape shows.
func (b *Builder) UnknownStarts() []string {
	return b.namesWhere(func(c *container) (signals.Symbol, bool) {
		// Of others, cAdvisor's starts may have been read for a part of the window.
		known := len(c.started) > 0 || c.init && len(c.created) > 0
		return c.name, c.ran() && !known || b.completedUnseen(c)
	})
}

// hasStart reports whether a start of c is known.
func (c *container) hasStart() bool { return len(c.started) > 0 || len(c.created) > 0 }

// namesWhere are the names of some containers or their pods, sorted.
func (b *Builder) namesWhere(of func(c *container) (signals.Symbol, bool)) []string {
	found := map[string]bool{}
	for c := range b.every() {
		if name, ok := of(c); ok {
			found[name.Value()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// nodeAt is the name of the node that a kubelet's series come from: name is that, the address it is scraped at, or either with
// a port. It is none where only an address is known, and that of no node.
func (b *Builder) nodeAt(cluster, name signals.Symbol) signals.Symbol {
	if name == none || b.nodes.byName[nodeKey{cluster, name}] != nil {
		return name
	}
	host, _, err := net.SplitHostPort(name.Value())
	if err != nil {
		host = name.Value()
	}
	at := signals.Sym(host)
	if node, ok := b.nodes.addresses[nodeKey{cluster, at}]; ok {
		return node
	}
	if b.nodes.byName[nodeKey{cluster, at}] == nil && (err == nil || net.ParseIP(host) != nil) {
		return none
	}
	return at
}

// noteUnseenInit notes an init container that no scrape saw running, of a pod that started within the window.
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
			names = append(names, b.placed(c.cluster, c.namespace.Value()+"/"+c.name.Value()+"/"+c.container.Value()))
		}
	}
	b.count(notices.UnseenInits, names)
	b.pods.unseenInit = nil
}
