package allocation

// Accumulation is the last pass of Apply for sets that come one after the other, so that not all of them are in memory: it
// sums those of a period as they come. Its sets are those that Apply would make of all at once, to the last bit, over one
// Dict of their own and without assets. It is used by one goroutine at a time.
type Accumulation struct {
	options Options
	hold    int
	dict    *Dict
	last    translation // of the dictionary that sets came with last
	done    []*Set
	rows    int    // of done
	open    []*Set // of the period that sets come of; the first is a sum if there is one
	summed  int    // rows of that sum
	pending int    // and of what is not in it yet
	pool    workspaces
}

// NewAccumulation returns one of the period of o, which may be NoPeriod. Proportions and Check of o are not for it. hold is
// how many rows of a period it holds before it sums them; it holds as many as the sum has in any case.
func NewAccumulation(o Options, hold int) *Accumulation {
	return &Accumulation{options: o, hold: hold, dict: NewDict()}
}

// Apply is the function Apply of sets that are to be added, all of them, when they have come: it leaves accumulating to Add.
// Goroutines may use it side by side, and while another one adds.
func (a *Accumulation) Apply(sets []*Set) ([]*Set, error) {
	o := a.options
	o.Accumulate = NoPeriod
	m := a.pool.take()
	defer a.pool.give(m)
	m.groups.reset()
	m.err = nil
	return apply(sets, m, &o)
}

// Add takes over a set that Apply made without accumulating, which may be of any Dict: nobody may look at it any more. Those after
// it must not start before it.
func (a *Accumulation) Add(s *Set) {
	if a.last.from != s.dict {
		a.last = translation{from: s.dict, to: a.dict}
	}
	own := *s
	own.dropAssets()
	own.dict = a.dict
	a.last.apply(&own)
	if a.options.Accumulate == NoPeriod {
		a.finish(&own)
		return
	}
	if len(a.open) > 0 && !a.samePeriod(&own) {
		a.close()
	}
	a.open = append(a.open, &own)
	// As much as is held may be pending: then each row is summed a few times at most, however many sets there are.
	if a.pending += own.Len(); a.pending > max(a.hold, a.summed) {
		a.fold()
	}
}

// finish holds a set of the answer.
func (a *Accumulation) finish(s *Set) {
	a.done = append(a.done, s)
	a.rows += s.Len()
}

// samePeriod reports whether a set is of the period that is open.
func (a *Accumulation) samePeriod(s *Set) bool {
	p, zone := a.options.Accumulate, a.options.Zone
	return p == All || p.floor(a.open[0].Window.Start, zone).Equal(p.floor(s.Window.Start, zone))
}

// fold sums what is open.
func (a *Accumulation) fold() {
	sum := sumSets(a.open, &a.options)
	a.open, a.summed, a.pending = []*Set{sum}, sum.Len(), 0
}

// close ends the period that is open. A set that is the only one of it is its sum.
func (a *Accumulation) close() {
	if len(a.open) > 1 {
		a.fold()
	}
	sum := a.open[0]
	sum.Window = a.options.Accumulate.Round(sum.Window, a.options.Zone)
	a.open, a.summed, a.pending = nil, 0, 0
	a.finish(sum)
}

// Rows is how many rows the sets have that are finished.
func (a *Accumulation) Rows() int { return a.rows }

// Held is how many rows are in memory: those of Rows, and those of the period that sets come of, summed or not.
func (a *Accumulation) Held() int { return a.rows + a.summed + a.pending }

// Sets are the sets, oldest first. Nothing may be added any more.
func (a *Accumulation) Sets() []*Set {
	if len(a.open) > 0 {
		a.close()
	}
	return a.done
}

// dropAssets leaves a set its rows alone.
func (s *Set) dropAssets() {
	s.Nodes, s.Disks, s.Balancers, s.Networks, s.Management, s.Cloud, s.External, s.Residuals = nil, nil, nil, nil, nil, nil, nil, nil
	s.portions, s.assets = shares[portion]{}, nil
}

// translation is what the ids of one Dict are in another. It adds to that what sets have, and nothing else.
type translation struct {
	from, to          *Dict
	strs, lists, maps []ID // 0 where it is not known yet
}

// id is an id of a table, which find makes on first sight. 0 is 0 everywhere.
func (t *translation) id(table []ID, id ID, find func(ID) ID) ID {
	if table[id] == 0 && id != 0 {
		table[id] = find(id)
	}
	return table[id]
}

func (t *translation) str(id ID) ID {
	return t.id(t.strs, id, func(id ID) ID { return t.to.Add(t.from.Text(id)) })
}

func (t *translation) list(id ID) ID {
	return t.id(t.lists, id, func(id ID) ID {
		var list []ID
		for _, s := range t.from.List(id) {
			list = append(list, t.str(s))
		}
		return t.to.lists.intern(list)
	})
}

func (t *translation) pairs(id ID) ID {
	return t.id(t.maps, id, func(id ID) ID {
		var pairs []Pair
		for _, p := range t.from.Map(id) {
			pairs = append(pairs, Pair{t.str(p.Key), t.str(p.Value)})
		}
		return t.to.pairs.intern(pairs)
	})
}

// grow makes room for all ids that there are by now.
func (t *translation) grow() {
	strs, lists, maps := t.from.Sizes()
	for _, of := range [...]struct {
		table *[]ID
		n     int
	}{{&t.strs, strs}, {&t.lists, lists}, {&t.maps, maps}} {
		*of.table = append(*of.table, make([]ID, of.n-len(*of.table))...)
	}
}

// apply gives s ids of its own, in their place.
func (t *translation) apply(s *Set) {
	t.grow()
	all := func(ids, table []ID, translate func(ID) ID) {
		for i, id := range ids {
			if id == 0 {
				continue
			}
			if ids[i] = table[id]; ids[i] == 0 {
				ids[i] = translate(id)
			}
		}
	}
	for p, ids := range s.ids {
		switch p := Property(p); {
		case p.IsMap():
			all(ids, t.maps, t.pairs)
		case p.IsList():
			all(ids, t.lists, t.list)
		default:
			all(ids, t.strs, t.str)
		}
	}
	for k := range s.lost.newest {
		all(s.lost.newest[k], t.maps, t.pairs)
		all(s.lost.common[k], t.maps, t.pairs)
	}
	for i := range s.volumes.list {
		v := &s.volumes.list[i]
		v.Key, v.ProviderID = t.str(v.Key), t.str(v.ProviderID)
	}
	for i := range s.balancers.list {
		b := &s.balancers.list[i]
		b.Key, b.Service, b.IP = t.str(b.Key), t.str(b.Service), t.str(b.IP)
	}
	for i := range s.parts.list {
		s.parts.list[i].Name = t.str(s.parts.list[i].Name)
	}
}
