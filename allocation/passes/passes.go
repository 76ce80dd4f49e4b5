package passes

import (
	"fmt"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// Apply runs the passes that o asks for, in the order of SEMANTICS §6: idle, take out shared rows, filter, share idle, aggregate,
// share, accumulate. It returns new sets, oldest first as given, and does not change the given ones. Those
// must be as a Builder makes them, over one Dict. It fails for sets that Apply made and for sets of several dictionaries.
//
// Merging follows SEMANTICS §3. A property stays where all merged rows agree. Services are dropped, and labels
// and annotations too unless AggregatedMetadata is set; those of the namespace stay while the namespace agrees. One container
// in several sets keeps everything that did not change, and its running minutes add. A row that nothing was merged into keeps
// everything.
func Apply(sets []*allocation.Set, o Options) ([]*allocation.Set, error) {
	return apply(sets, &workspace{}, &o)
}

func apply(sets []*allocation.Set, m *workspace, o *Options) ([]*allocation.Set, error) {
	dict, err := passDict(sets, o)
	if err != nil {
		return nil, err
	}
	out := make([]*allocation.Set, len(sets))
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
	if o.Accumulate != allocation.NoPeriod {
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
func applyTo(s *allocation.Set, m *workspace, dict *allocation.Dict, o *Options) (*allocation.Set, error) {
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
	w.Books = &books
	if o.SplitIdle && o.ShareIdle != NoSplit {
		w.set.Warnings = allocation.SortWarnings(append(slices.Clone(w.set.Warnings), "splitIdle has nothing to split where shareIdle shares idle: leave out one of them"))
	}
	return w.set, check(w.set, "passes", o)
}

// check verifies a set after a pass, if o asks for it.
func check(s *allocation.Set, pass string, o *Options) error {
	if !o.Check {
		return nil
	}
	if err := Check(s); err != nil {
		return fmt.Errorf("after pass %s: %w", pass, err)
	}
	return nil
}

// work is a set on its way through the passes. The given set is never written to: set is a copy whose columns are cloned
// before they change. Rows are marked as dropped, idle rows are in a set of their own, and aggregate replaces set by a new
// one.
type work struct {
	*allocation.Table // of set
	set               *allocation.Set
	given             *allocation.Dict // of the set as it was given
	built             int              // rows before passes; passes append rows
	owned             [allocation.NumColumns]bool
	grown             bool

	keep  []bool          // rows that the filter kept; nil for all
	taken []int32         // pool of each shared row, notTaken for other rows; nil if no row is shared
	idle  *allocation.Set // idle rows, one for each cluster or node; nil without idle
	place []int32         // idle row of each row's node or cluster, or nowhere; nil until needed
	idled bool            // idle is in rows, or noted in the books

	pools   []pool    // shared costs
	filled  bool      // the taken rows are in the pools
	weights []float64 // of the rows as built, for dividing shared cost; nil if there is none
	bears   []float64 // part of the pools for each result
	forgone float64   // part of the pools for the rows that the filter removed

	rows  *allocation.Table // before aggregation
	group []int32           // result of each of rows

	workspace *workspace
	books     allocation.Books
	err       error // of a filter or of decoding; the set is then invalid
}

// notTaken marks rows that are not shared, nowhere marks rows without an idle row.
const (
	notTaken = -1
	nowhere  = -1
)

func newWork(s *allocation.Set, m *workspace, dict *allocation.Dict) *work {
	own := *s
	own.Table().Dict = dict
	return &work{Table: own.Table(), set: &own, given: s.Table().Dict, built: s.Len(), workspace: m}
}

// own returns a column of the set for writing.
func (w *work) own(c allocation.Column) []float64 {
	if !w.owned[c] {
		w.Values[c] = slices.Clone(w.Values[c])
		w.owned[c] = true
	}
	return w.Values[c]
}

// grow prepares the set for further rows: appending to it does not write to the given set.
func (w *work) grow() {
	if w.grown {
		return
	}
	w.grown = true
	w.Special, w.Merged = slices.Clip(w.Special), slices.Clip(w.Merged)
	w.Start, w.End = slices.Clip(w.Start), slices.Clip(w.End)
	for p := range w.IDs {
		w.IDs[p] = slices.Clip(w.IDs[p])
	}
	for c := range w.Values {
		w.Values[c], w.owned[c] = slices.Clip(w.Values[c]), true
	}
	w.Volumes.Clip()
	w.Balancers.Clip()
}

// addUnallocated adds a row for a cost of a cluster that no row could take. All properties but the cluster are missing.
func (w *work) addUnallocated(cluster allocation.ID, start, end int64, c allocation.Column, cost float64) {
	w.grow()
	row := w.set.AddRow(allocation.Unallocated, start, end)
	unallocated, _ := w.Dict.Find(allocation.UnallocatedName)
	for p, id := range map[allocation.Property]allocation.ID{allocation.Cluster: cluster, allocation.Namespace: unallocated, allocation.Pod: unallocated, allocation.Container: unallocated} {
		if !w.Unread.Properties[p] {
			w.IDs[p][row] = id
		}
	}
	w.Values[c][row] = cost
	if w.taken != nil {
		w.taken = append(w.taken, notTaken)
	}
}

// isTaken reports whether a row is shared by others.
func (w *work) isTaken(row int) bool { return w.taken != nil && w.taken[row] != notTaken }

// stays reports whether a row is in the answer.
func (w *work) stays(row int) bool { return (w.keep == nil || w.keep[row]) && !w.isTaken(row) }

// passDict returns the dictionary of the sets, extended by the strings that passes need. Ids must mean the same in all sets.
func passDict(sets []*allocation.Set, o *Options) (*allocation.Dict, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	dict := sets[0].Table().Dict
	var missing []string
	need := func(text string) {
		if _, ok := dict.Find(text); !ok {
			missing = append(missing, text)
		}
	}
	clone := o.AggregatedMetadata || slices.ContainsFunc(sets, hasDeferred) || haveDifferentGPUs(sets)
	for _, s := range sets {
		if !s.Built() {
			return nil, fmt.Errorf("apply passes: set of %s has been through them: give sets as they were built", s.Window.Text())
		}
		if s.Table().Dict != dict {
			return nil, fmt.Errorf("apply passes: set of %s has a dictionary of its own: build all sets over one", s.Window.Text())
		}
		if o.AggregatedMetadata && hasDeferred(s) { // options that need labels in common have nothing deferred
			return nil, fmt.Errorf("%w: %v of set of %s", allocation.ErrUnread, allocation.Labels, s.Window.Text())
		}
		eachAssetName(s, o, need)
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
		dict = dict.Clone()
	}
	for _, text := range missing {
		dict.Add(text)
	}
	return dict, nil
}

// haveDifferentGPUs reports whether rows have different GPUs: merging them adds their common part to the dictionary.
func haveDifferentGPUs(sets []*allocation.Set) bool {
	var first allocation.ID
	for _, s := range sets {
		for _, id := range s.Table().IDs[allocation.GPUDevices] {
			if first == 0 {
				first = id
			}
			if id != 0 && id != first {
				return true
			}
		}
	}
	return false
}

// eachAssetName calls f with the names of assets whose ids the passes need, because rows may be added for them.
func eachAssetName(s *allocation.Set, o *Options, f func(string)) {
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
func Total(s *allocation.Set) *allocation.Set {
	dst, names := s.Like(), []string{""}
	if was := s.Table().Books; was != nil {
		books := *was
		books.Merged = true // idle is no longer separate
		dst.Table().Books = &books
	}
	if s.Len() == 0 {
		names = nil
	}
	newMerger(dst, len(names), &workspace{}, rowsOf(s, make([]int32, s.Len()))).byName(names, false)
	return dst
}
