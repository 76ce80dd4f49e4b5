package passes

import "github.com/promcost/promcost/allocation"

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
	pool    workspaces
}

// NewAccumulation returns an Accumulation for the period of o, which may be NoPeriod. It ignores Proportions and Check of o.
// hold is how many rows of a period it keeps before it sums them; it may always keep as many as the sum has.
func NewAccumulation(o Options, hold int) *Accumulation {
	return &Accumulation{options: o, hold: hold, dict: allocation.NewDict()}
}

// Apply runs all passes but accumulating on sets that are then given to Add. Several goroutines may call it at once, also
// during Add.
func (a *Accumulation) Apply(sets []*allocation.Set) ([]*allocation.Set, error) {
	o := a.options
	o.Accumulate = allocation.NoPeriod
	m := a.pool.take()
	defer a.pool.give(m)
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
	a.last.apply(&own)
	if a.options.Accumulate == allocation.NoPeriod {
		a.finish(&own)
		return
	}
	if len(a.open) > 0 && !a.samePeriod(&own) {
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

// samePeriod reports whether a set belongs to the current period.
func (a *Accumulation) samePeriod(s *allocation.Set) bool {
	p, zone := a.options.Accumulate, a.options.Zone
	return p == allocation.All || p.Floor(a.open[0].Window.Start, zone).Equal(p.Floor(s.Window.Start, zone))
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

// translation maps the ids of one Dict to those of another, and adds to the other only what sets use.
type translation struct {
	from, to          *allocation.Dict
	strs, lists, maps []allocation.ID // 0 where not translated yet
}

// id translates an id by a table, which find fills on first use. 0 stays 0.
func (t *translation) id(table []allocation.ID, id allocation.ID, find func(allocation.ID) allocation.ID) allocation.ID {
	if table[id] == 0 && id != 0 {
		table[id] = find(id)
	}
	return table[id]
}

func (t *translation) str(id allocation.ID) allocation.ID {
	return t.id(t.strs, id, func(id allocation.ID) allocation.ID { return t.to.Add(t.from.Text(id)) })
}

func (t *translation) list(id allocation.ID) allocation.ID {
	return t.id(t.lists, id, func(id allocation.ID) allocation.ID {
		list := make([]string, 0, len(t.from.List(id)))
		for _, s := range t.from.List(id) {
			list = append(list, t.from.Text(s))
		}
		return t.to.AddList(list)
	})
}

func (t *translation) pairs(id allocation.ID) allocation.ID {
	return t.id(t.maps, id, func(id allocation.ID) allocation.ID {
		var pairs []allocation.Pair
		for _, p := range t.from.Map(id) {
			pairs = append(pairs, allocation.Pair{Key: t.str(p.Key), Value: t.str(p.Value)})
		}
		return t.to.AddPairs(pairs)
	})
}

// grow makes room for all ids that exist by now.
func (t *translation) grow() {
	strs, lists, maps := t.from.Sizes()
	for _, of := range [...]struct {
		table *[]allocation.ID
		n     int
	}{{&t.strs, strs}, {&t.lists, lists}, {&t.maps, maps}} {
		*of.table = append(*of.table, make([]allocation.ID, of.n-len(*of.table))...)
	}
}

// apply replaces the ids of s in place.
func (t *translation) apply(s *allocation.Set) {
	t.grow()
	all := func(ids, table []allocation.ID, translate func(allocation.ID) allocation.ID) {
		for i, id := range ids {
			if id == 0 {
				continue
			}
			if ids[i] = table[id]; ids[i] == 0 {
				ids[i] = translate(id)
			}
		}
	}
	for p, ids := range s.Table().IDs {
		switch p := allocation.Property(p); {
		case p.IsMap():
			all(ids, t.maps, t.pairs)
		case p.IsList():
			all(ids, t.lists, t.list)
		default:
			all(ids, t.strs, t.str)
		}
	}
	for k := range s.Table().Lost.Newest {
		all(s.Table().Lost.Newest[k], t.maps, t.pairs)
		all(s.Table().Lost.Common[k], t.maps, t.pairs)
	}
	for i := range s.Table().Volumes.List {
		v := &s.Table().Volumes.List[i]
		v.Key, v.ProviderID = t.str(v.Key), t.str(v.ProviderID)
	}
	for i := range s.Table().Balancers.List {
		b := &s.Table().Balancers.List[i]
		b.Key, b.Service, b.IP = t.str(b.Key), t.str(b.Service), t.str(b.IP)
	}
	for i := range s.Table().Parts.List {
		s.Table().Parts.List[i].Name = t.str(s.Table().Parts.List[i].Name)
	}
}
