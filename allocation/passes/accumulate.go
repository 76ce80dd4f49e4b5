package passes

import (
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/grouping"
)

// accumulate sums the sets of each period into one, oldest first. A set belongs to the period in which it starts. The window
// of a sum is rounded out to whole periods.
func accumulate(sets []*allocation.Set, o *Options) []*allocation.Set {
	var out []*allocation.Set
	for len(sets) > 0 {
		n := slices.IndexFunc(sets, func(s *allocation.Set) bool { return !o.samePeriod(sets[0], s) })
		if n < 0 {
			n = len(sets)
		}
		sum := sumSets(sets[:n], o)
		sum.Window = o.Accumulate.Round(sum.Window, o.Zone)
		out, sets = append(out, sum), sets[n:]
	}
	return out
}

// samePeriod reports whether two sets are accumulated into one.
func (o *Options) samePeriod(a, b *allocation.Set) bool {
	return o.Accumulate == allocation.All || o.Accumulate.Floor(a.Window.Start, o.Zone).Equal(o.Accumulate.Floor(b.Window.Start, o.Zone))
}

// sumSets sums sets that passes made into one over the window from the first start to the last end. Assets that occur in
// several sets are summed too.
func sumSets(sets []*allocation.Set, o *Options) *allocation.Set {
	from, names := make([]operand, len(sets)), grouping.Names{}
	dst := sumHeaders(sets)
	dst.Table().Books = &allocation.Books{Tenancy: sets[0].Table().Books.Tenancy}
	for i, s := range sets {
		t := s.Table()
		dst.Table().Books.Add(t.Books)
		if i > 0 && sameNames(t.Names, from[i-1].Names) {
			from[i] = rowsOf(s, from[i-1].group)
			continue
		}
		group := make([]int32, s.Len())
		for row, name := range t.Names {
			group[row] = names.Add(name)
		}
		from[i] = rowsOf(s, group)
	}
	newMerger(dst, len(names.List()), &workspace{}, from...).byName(names.List(), o.AggregatedMetadata)
	if o.Proportions {
		indexAssets(dst, o)
	}
	return dst
}

// sameNames reports whether two lists of names share their memory.
func sameNames(a, b []string) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// Accumulation sums the sets of each period as they come, so that not all of them are in memory. It does the last pass of
// Apply and returns the same sets to the last bit, but over a Dict of its own and without assets. One goroutine at a time may
// use it.
type Accumulation struct {
	options Options
	hold    int
	dict    *allocation.Dict
	last    translation // from the dictionary of the last set added
	done    []*allocation.Set
	rows    int               // rows of done
	open    []*allocation.Set // sets of the current period; the first is a sum once fold has run
	summed  int               // rows of that sum
	pending int               // rows of open that are not summed yet
	pool    sync.Pool         // of workspaces
}

// NewAccumulation returns an Accumulation for the period of o, which may be NoPeriod. It ignores Proportions and Check of o.
// hold is how many rows of a period it keeps before it sums them; it may always keep as many as the sum has.
func NewAccumulation(o Options, hold int) *Accumulation {
	return &Accumulation{options: o, hold: hold, dict: allocation.NewDict(), pool: sync.Pool{New: func() any { return &workspace{} }}}
}

// Apply runs all passes but accumulating on sets that are then given to Add. Several goroutines may call it at once, also
// during Add.
func (a *Accumulation) Apply(sets []*allocation.Set) ([]*allocation.Set, error) {
	o := a.options
	o.Accumulate = allocation.NoPeriod
	m := a.pool.Get().(*workspace)
	defer a.pool.Put(m)
	m.groups.Reset()
	m.err = nil
	return apply(sets, m, &o)
}

// Add takes over a set that the method Apply returned: the caller must not use the set any more. Its Dict may be any. Sets
// must be added in the order of their starts.
func (a *Accumulation) Add(s *allocation.Set) {
	if a.last.from != s.Table().Dict {
		a.last = translation{from: s.Table().Dict, to: a.dict}
	}
	own := *s
	dropAssets(&own)
	own.Table().Dict = a.dict
	a.last.apply(own.Table())
	if a.options.Accumulate == allocation.NoPeriod {
		a.finish(&own)
		return
	}
	if len(a.open) > 0 && !a.options.samePeriod(a.open[0], &own) {
		a.close()
	}
	a.open = append(a.open, &own)
	// Waiting for as many rows as the sum has means that each row is summed only a few times, however many sets there are.
	if a.pending += own.Len(); a.pending > max(a.hold, a.summed) {
		a.fold()
	}
}

// finish adds a set to the answer.
func (a *Accumulation) finish(s *allocation.Set) {
	a.done = append(a.done, s)
	a.rows += s.Len()
}

// fold sums the sets of the current period.
func (a *Accumulation) fold() {
	sum := sumSets(a.open, &a.options)
	a.open, a.summed, a.pending = []*allocation.Set{sum}, sum.Len(), 0
}

// close ends the current period. Its only set needs no summing.
func (a *Accumulation) close() {
	if len(a.open) > 1 {
		a.fold()
	}
	sum := a.open[0]
	sum.Window = a.options.Accumulate.Round(sum.Window, a.options.Zone)
	a.open, a.summed, a.pending = nil, 0, 0
	a.finish(sum)
}

// Rows returns how many rows the finished sets have.
func (a *Accumulation) Rows() int { return a.rows }

// Held returns how many rows are in memory: those of finished sets and those of the current period.
func (a *Accumulation) Held() int { return a.rows + a.summed + a.pending }

// Sets returns the sets, oldest first. Nothing may be added after that.
func (a *Accumulation) Sets() []*allocation.Set {
	if len(a.open) > 0 {
		a.close()
	}
	return a.done
}

// dropAssets removes everything from a set but its rows.
func dropAssets(s *allocation.Set) {
	s.Nodes, s.Disks, s.Balancers, s.Networks, s.Management, s.Cloud, s.External, s.Residuals = nil, nil, nil, nil, nil, nil, nil, nil
	s.Table().Portions, s.Table().Assets = allocation.Shares[allocation.Portion]{}, nil
}
