package allocation

import (
	"fmt"
	"slices"
)

// Filter selects rows. Package filter implements it.
type Filter interface {
	// Bind prepares the filter for the rows of s and returns a function that reports whether it selects a row.
	Bind(s *Set) func(row int) bool
}

// Apply runs the passes that o asks for, in the order of SEMANTICS §6: idle, filter, aggregate, accumulate. It returns
// new sets, oldest first as given, and leaves those given as they are. The sets must be as a Builder yields them, over one
// Dict: one that Apply has made already is an error, as are sets of several dictionaries.
//
// Merging follows SEMANTICS §3 and SHAPES §2. A property stays where all merged rows agree; services go, labels and
// annotations too unless AggregatedMetadata is set; those of the namespace stay while the namespace agrees. What is one
// and the same container in several sets keeps everything that did not change, and its running minutes add; a row that
// nothing was merged into keeps all it has.
func Apply(sets []*Set, o Options) ([]*Set, error) {
	dict, err := passDict(sets, &o)
	if err != nil {
		return nil, err
	}
	out := make([]*Set, len(sets))
	for i, s := range sets {
		w := &work{set: s, dict: dict}
		for _, run := range passes {
			run(w, &o)
		}
		out[i] = w.set
	}
	if o.Accumulate != NoPeriod && len(out) > 0 {
		out = []*Set{accumulate(out, &o)}
	}
	return out, nil
}

// passes are what one set goes through, in order. Sharing will stand between filter and aggregate.
var passes = [...]func(*work, *Options){addIdle, applyFilter, aggregate}

// work is a set on its way through the passes. The set given is never written to: rows are marked as dropped, idle rows
// lie beside it, and aggregate puts a new set in its place.
type work struct {
	set  *Set
	dict *Dict  // holds every id of set, and what passes add
	keep []bool // rows that the filter left; nil where all are
	idle *Set   // idle rows, one a cluster or node; nil without idle
}

// passDict is the dictionary of the sets, extended by what the passes will need: ids must mean the same in all sets.
func passDict(sets []*Set, o *Options) (*Dict, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	dict := sets[0].dict
	var missing []string
	for _, s := range sets {
		if s.names != nil {
			return nil, fmt.Errorf("apply passes: set of %s has been through them: give sets as they were built", s.span())
		}
		if s.dict != dict {
			return nil, fmt.Errorf("apply passes: set of %s has a dictionary of its own: build all sets over one", s.span())
		}
		if o.Idle {
			missing = appendMissing(missing, dict, s.Nodes)
		}
	}
	if o.AggregatedMetadata || len(missing) > 0 {
		dict = dict.clone()
	}
	for _, text := range missing {
		dict.Add(text)
	}
	return dict, nil
}

// appendMissing appends the names that idle rows of nodes need and dict lacks.
func appendMissing(missing []string, dict *Dict, nodes []Node) []string {
	for i := range nodes {
		for _, text := range [...]string{nodes[i].Cluster, nodes[i].Name} {
			if _, ok := dict.Find(text); !ok {
				missing = append(missing, text)
			}
		}
	}
	return missing
}

// applyFilter marks the rows that the filter does not select, and leaves of idle what the others would have been given.
func applyFilter(w *work, o *Options) {
	if o.Filter == nil {
		return
	}
	match := o.Filter.Bind(w.set)
	w.keep = make([]bool, w.set.Len())
	for i := range w.keep {
		w.keep[i] = match(i)
	}
	if w.idle != nil {
		w.scaleIdle(o)
	}
}

// accumulate sums the sets into one over the window from the first one's start to the last one's end. Nodes that are the
// same in several sets are summed too.
func accumulate(sets []*Set, o *Options) *Set {
	parts, names := make([]part, len(sets)), nameTable{}
	for i, s := range sets {
		group := make([]int32, s.Len())
		for row, name := range s.names {
			group[row] = names.add(name)
		}
		parts[i] = part{set: s, group: group}
	}
	first := sets[0]
	dst := first.like()
	dst.dict = first.dict
	for _, s := range sets[1:] {
		if s.Window.Start.Before(dst.Window.Start) {
			dst.Window.Start = s.Window.Start
		}
		if s.Window.End.After(dst.Window.End) {
			dst.Window.End = s.Window.End
		}
		dst.Resolution = max(dst.Resolution, s.Resolution)
		dst.Warnings = slices.Concat(dst.Warnings, s.Warnings)
		dst.partial = dst.partial || s.partial
	}
	dst.Warnings = sortWarnings(slices.Clone(dst.Warnings))
	dst.Nodes, dst.Residuals = sumNodes(sets), sumResiduals(sets)
	dst.merge(parts, names.list, o.AggregatedMetadata)
	return dst
}

// Total is s merged into one row, idle included; the row's name is "". Where s has no rows, neither has the result.
func (s *Set) Total() *Set {
	dst := s.like()
	dst.partial = true // what was idle can no longer be told
	if s.Len() == 0 {
		dst.names = []string{}
		return dst
	}
	dst.merge([]part{{set: s, group: make([]int32, s.Len())}}, []string{""}, false)
	return dst
}

// nameTable numbers names in the order they come.
type nameTable struct {
	list []string
	ids  map[string]int32
}

func (t *nameTable) add(name string) int32 {
	id, ok := t.ids[name]
	if !ok {
		if t.ids == nil {
			t.ids = make(map[string]int32)
		}
		id = int32(len(t.list))
		t.list, t.ids[name] = append(t.list, name), id
	}
	return id
}
