package allocation

import (
	"fmt"
	"slices"
)

// Apply runs the passes that o asks for, in the order of SEMANTICS §6: idle, take out shared rows, filter, share
// idle, aggregate, share, accumulate. It returns new sets, oldest first as given, and does not change the given ones. Those
// must be as a Builder makes them, over one Dict. It fails for sets that Apply made and for sets of several dictionaries.
//
// Merging follows SEMANTICS §3. A property stays where all merged rows agree. Services are dropped, and labels
// and annotations too unless AggregatedMetadata is set; those of the namespace stay while the namespace agrees. One container
// in several sets keeps everything that did not change, and its running minutes add. A row that nothing was merged into keeps
// everything.
func Apply(sets []*Set, o Options) ([]*Set, error) {
	return apply(sets, &workspace{}, &o)
}

func apply(sets []*Set, m *workspace, o *Options) ([]*Set, error) {
	dict, err := passDict(sets, o)
	if err != nil {
		return nil, err
	}
	out := make([]*Set, len(sets))
	for i, s := range sets {
		if o.Stopped != nil {
			if err := o.Stopped(); err != nil {
				return nil, err
			}
		}
		if out[i], err = applyTo(s, m, dict, o); err != nil {
			return nil, err
		}
	}
	if o.Accumulate != NoPeriod {
		out = accumulate(out, o)
		for _, s := range out {
			if err := check(s, "accumulate", o); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// passes are the steps that one set goes through, in order.
var passes = [...]struct {
	name string
	run  func(*work, *Options)
}{
	{"external", addExternal},
	{"idle", addIdle},
	{"share", takeShared},
	{"tenancy", addTenancy},
	{"filter", applyFilter},
	{"shareIdle", giveIdle},
	{"pool", fillPools},
	{"aggregate", aggregate},
	{"proportions", measurePortions},
	{"sharedCost", spreadPools},
}

// applyTo runs the passes on one set.
func applyTo(s *Set, m *workspace, dict *Dict, o *Options) (*Set, error) {
	if err := check(s, "build", o); err != nil {
		return nil, err
	}
	w := newWork(s, m, dict)
	for _, p := range passes {
		p.run(w, o)
		if w.err != nil {
			return nil, w.err
		}
		if o.Check {
			if err := w.audit(p.name); err != nil {
				return nil, err
			}
		}
	}
	books := w.books // a copy: w refers to the original set, which must be freed
	w.set.books = &books
	if o.SplitIdle && o.ShareIdle != NoSplit {
		w.set.Warnings = SortWarnings(append(slices.Clone(w.set.Warnings), "splitIdle has nothing to split where shareIdle shares idle: leave out one of them"))
	}
	return w.set, check(w.set, "passes", o)
}

// check verifies a set after a pass, if o asks for it.
func check(s *Set, pass string, o *Options) error {
	if !o.Check {
		return nil
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("after pass %s: %w", pass, err)
	}
	return nil
}

// work is a set on its way through the passes. The given set is never written to: set is a copy whose columns are cloned
// before they change. Rows are marked as dropped, idle rows are in a set of their own, and aggregate replaces set by a new
// one.
type work struct {
	set   *Set
	given *Dict // of the set as it was given
	dict  *Dict // has every id of set, and the strings that passes add
	built int   // rows before passes; passes append rows
	owned [NumColumns]bool
	grown bool

	keep  []bool  // rows that the filter kept; nil for all
	taken []int32 // pool of each shared row, notTaken for other rows; nil if no row is shared
	idle  *Set    // idle rows, one for each cluster or node; nil without idle
	place []int32 // idle row of each row's node or cluster, or nowhere; nil until needed
	idled bool    // idle is in rows, or noted in the books

	pools   []pool    // shared costs
	filled  bool      // the taken rows are in the pools
	weights []float64 // of the rows as built, for dividing shared cost; nil if there is none
	bears   []float64 // part of the pools for each result
	forgone float64   // part of the pools for the rows that the filter removed

	rows  *Set    // before aggregation
	group []int32 // result of each of rows

	workspace *workspace
	books     books
	err       error // of a filter or of decoding; the set is then invalid
}

// notTaken marks rows that are not shared, nowhere marks rows without an idle row.
const (
	notTaken = -1
	nowhere  = -1
)

func newWork(s *Set, m *workspace, dict *Dict) *work {
	own := *s
	own.dict = dict
	return &work{set: &own, given: s.dict, dict: dict, built: s.Len(), workspace: m}
}

// own returns a column of the set for writing.
func (w *work) own(c Column) []float64 {
	if !w.owned[c] {
		w.set.values[c] = slices.Clone(w.set.values[c])
		w.owned[c] = true
	}
	return w.set.values[c]
}

// grow prepares the set for further rows: appending to it does not write to the given set.
func (w *work) grow() {
	if w.grown {
		return
	}
	w.grown = true
	s := w.set
	s.special, s.merged = slices.Clip(s.special), slices.Clip(s.merged)
	s.start, s.end = slices.Clip(s.start), slices.Clip(s.end)
	for p := range s.ids {
		s.ids[p] = slices.Clip(s.ids[p])
	}
	for c := range s.values {
		s.values[c], w.owned[c] = slices.Clip(s.values[c]), true
	}
	s.volumes.clip()
	s.balancers.clip()
}

// addUnallocated adds a row for a cost of a cluster that no row could take. All properties but the cluster are missing.
func (w *work) addUnallocated(cluster ID, start, end int64, c Column, cost float64) {
	w.grow()
	row := w.set.grow(Unallocated, start, end)
	unallocated, _ := w.dict.Find(UnallocatedName)
	for p, id := range map[Property]ID{Cluster: cluster, Namespace: unallocated, Pod: unallocated, Container: unallocated} {
		if !w.set.unread.properties[p] {
			w.set.ids[p][row] = id
		}
	}
	w.set.values[c][row] = cost
	if w.taken != nil {
		w.taken = append(w.taken, notTaken)
	}
}

// isTaken reports whether a row is shared by others.
func (w *work) isTaken(row int) bool { return w.taken != nil && w.taken[row] != notTaken }

// stays reports whether a row is in the answer.
func (w *work) stays(row int) bool { return (w.keep == nil || w.keep[row]) && !w.isTaken(row) }

// passDict returns the dictionary of the sets, extended by the strings that passes need. Ids must mean the same in all sets.
func passDict(sets []*Set, o *Options) (*Dict, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	dict := sets[0].dict
	var missing []string
	need := func(text string) {
		if _, ok := dict.Find(text); !ok {
			missing = append(missing, text)
		}
	}
	clone := o.AggregatedMetadata || slices.ContainsFunc(sets, (*Set).hasDeferred) || haveDifferentGPUs(sets)
	for _, s := range sets {
		if s.names != nil {
			return nil, fmt.Errorf("apply passes: set of %s has been through them: give sets as they were built", s.span())
		}
		if s.dict != dict {
			return nil, fmt.Errorf("apply passes: set of %s has a dictionary of its own: build all sets over one", s.span())
		}
		if o.AggregatedMetadata && s.hasDeferred() { // options that need labels in common have nothing deferred
			return nil, fmt.Errorf("%w: %v of set of %s", ErrUnread, Labels, s.span())
		}
		s.eachAssetName(o, need)
		clone = clone || o.External && len(s.External) > 0
	}
	for _, share := range o.Share {
		need(share.Name)
	}
	for _, k := range o.Aggregate {
		for _, s := range sets {
			k.EachText(s, need)
		}
	}
	if clone || len(missing) > 0 {
		dict = dict.clone()
	}
	for _, text := range missing {
		dict.Add(text)
	}
	return dict, nil
}

// eachAssetName calls f with the names of assets whose ids the passes need, because rows may be added for them.
func (s *Set) eachAssetName(o *Options, f func(string)) {
	all := o.Proportions
	for i := range s.Nodes {
		if all || o.Idle || o.ShareIdle != NoSplit {
			f(s.Nodes[i].Cluster)
		}
		if all || (o.Idle || o.ShareIdle != NoSplit) && o.IdleByNode {
			f(s.Nodes[i].Name)
		}
	}
	if o.ShareTenancy {
		for i := range s.Management {
			f(s.Management[i].Cluster)
		}
		for i := range s.Disks {
			if s.Disks[i].Local {
				f(s.Disks[i].Cluster)
				f(s.Disks[i].Name)
			}
		}
	}
}

// applyFilter marks the rows that the filter selects.
func applyFilter(w *work, o *Options) {
	if o.Filter == nil {
		return
	}
	match, err := o.Filter.Bind(w.set)
	if err != nil {
		w.err = err
		return
	}
	w.keep = make([]bool, w.set.Len())
	for i := range w.keep {
		w.keep[i] = match(i)
	}
}

// Total returns s merged into one row named "", idle included. If s has no rows, the result has none.
func (s *Set) Total() *Set {
	dst := s.like()
	if s.books != nil {
		books := *s.books
		books.merged = true // idle is no longer separate
		dst.books = &books
	}
	if s.Len() == 0 {
		dst.names = []string{}
		return dst
	}
	dst.merge([]operand{{set: s, group: make([]int32, s.Len())}}, []string{""}, false)
	return dst
}
