package observe

import (
	"slices"

	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

func (ob *Observer) addPodFinal(s *Incoming) error {
	p := ob.PodOf(s.Pod())
	p.final = timeline.Max(p.final, ob.Sampling.Sights(s.Points))
	return nil
}

func (ob *Observer) addRestarts(s *Incoming) error {
	c := ob.container(s)
	c.Restarts = ob.shared.Max(c.Restarts, ob.shared.Reports(ob.Sampling, s.Points))
	return nil
}

// Ran reports whether a sample shows that a container ran.
func (c *Container) Ran() bool {
	return slices.ContainsFunc(c.Running, func(s timeline.Steps) bool { return !s.IsZero() })
}

// HasStatus reports whether the best running signal has a container.
func (c *Container) HasStatus() bool { return len(c.Running) > 0 && len(c.Running[0]) > 0 }

// IsInitWithoutStatus reports whether c is an init container that the best running signal never has.
func (c *Container) IsInitWithoutStatus() bool { return c.Init && !c.HasStatus() }

// skipsAlternative reports whether s is an alternative for a container that needs none.
func (ob *Observer) skipsAlternative(s *Incoming) bool {
	return s.Rank > 0 && ob.TakesAlternative != nil && !ob.TakesAlternative(s)
}

// MayBeOf reports whether s may belong to a container of some kind: by name and pod UID, or only by name if either UID is not known.
func (ob *Observer) MayBeOf(s *Incoming, kind func(*Container) bool) bool {
	of, name := s.Pod(), s.Key[4]
	if c := ob.Pods.Find(&of).Container(name); c != nil && kind(c) {
		return true // mostly
	}
	return slices.ContainsFunc(ob.Pods.ByName[of.ObjectKey], func(p *Pod) bool {
		c := p.Container(name)
		return c != nil && kind(c) && (p.UID == of.UID || p.UID == None || of.UID == None)
	})
}

// NamesWhere returns the names for which of returns true, sorted.
func (ob *Observer) NamesWhere(nameOf func(c *Container) (signals.Symbol, bool)) []string {
	var names []string
	for c := range ob.Every() {
		if name, ok := nameOf(c); ok {
			names = append(names, name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
