package allocation

import "sync"

// propertySet is a set of the properties that are one string: a bit each.
type propertySet uint16

func (s propertySet) has(p Property) bool { return s>>p&1 != 0 }

// gone are the properties that results of an accumulation lack for good, by result: one that several containers of a set do not
// have in common, the sum of the period does not have either. They need not be looked for in its other sets. It is safe for concurrent use; nil knows nothing, and learns nothing.
type gone struct {
	options *Options
	mu      sync.Mutex
	periods map[int64]map[string]propertySet // by start, name
}

// period is the key of the period that a set of a window is of.
func (l *gone) period(w Window) int64 {
	if l.options.Accumulate == All {
		return 0
	}
	return l.options.Accumulate.floor(w.Start, l.options.Zone).Unix()
}

// of is what is gone of each result of a set, nil for nothing.
func (l *gone) of(w Window, names []string) []propertySet {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.periods[l.period(w)]
	if len(of) == 0 {
		return nil
	}
	list := make([]propertySet, len(names))
	for g, name := range names {
		list[g] = of[name]
	}
	return list
}

// learn notes what the results of a set lack, of whom was was known. Namespaces and clusters that differ are looked for each time: metadata of a namespace stay where
// they agree.
func (l *gone) learn(s *Set, was []propertySet) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var of map[string]propertySet
	for g, name := range s.names {
		lacks := propertySet(0)
		for p := range Services {
			if s.merged[g] == several && !s.unread.properties[p] && s.ids[p][g] == 0 && p != Cluster && p != Namespace {
				lacks |= 1 << p
			}
		}
		if lacks == 0 || was != nil && was[g]|lacks == was[g] {
			continue
		}
		if of == nil {
			at := l.period(s.Window)
			if of = l.periods[at]; of == nil {
				of = map[string]propertySet{}
				l.periods[at] = of
			}
		}
		of[name] |= lacks
	}
}

// forget drops what was learned of the period of a window, which is over.
func (l *gone) forget(w Window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.periods, l.period(w))
}
