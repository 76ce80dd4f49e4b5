package allocation

// Accumulation sums the sets of each period as they come, so that not all of them are in memory. It does the last pass of
// Apply and returns the same sets to the last bit, but over a Dict of its own and without assets. One goroutine at a time may
// use it.
type Accumulation struct {
	options Options
	hold    int
	dict    *Dict
	last    translation // from the dictionary of the last set added
	done    []*Set
	rows    int    // rows of done
	open    []*Set // sets of the current period; the first is a sum once fold has run
	summed  int    // rows of that sum
	pending int    // rows of open that are not summed yet
	pool    workspaces
}

// NewAccumulation returns an Accumulation for the period of o, which may be NoPeriod. It ignores Proportions and Check of o.
// hold is how many rows of a period it keeps before it sums them; it may always keep as many as the sum has.
func NewAccumulation(o Options, hold int) *Accumulation {
	return &Accumulation{options: o, hold: hold, dict: NewDict()}
}

// Apply runs all passes but accumulating on sets that are then given to Add. Several goroutines may call it at once, also
// during Add.
func (a *Accumulation) Apply(sets []*Set) ([]*Set, error) {
	o := a.options
	o.Accumulate = NoPeriod
	m := a.pool.take()
	defer a.pool.give(m)
	m.groups.Reset()
	m.err = nil
	return apply(sets, m, &o)
}

// Add takes over a set that the method Apply returned: the caller must not use the set any more. Its Dict may be any. Sets
// must be added in the order of their starts.
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
	// Waiting for as many rows as the sum has means that each row is summed only a few times, however many sets there are.
	if a.pending += own.Len(); a.pending > max(a.hold, a.summed) {
		a.fold()
	}
}

// finish adds a set to the answer.
func (a *Accumulation) finish(s *Set) {
	a.done = append(a.done, s)
	a.rows += s.Len()
}

// samePeriod reports whether a set belongs to the current period.
func (a *Accumulation) samePeriod(s *Set) bool {
	p, zone := a.options.Accumulate, a.options.Zone
	return p == All || p.floor(a.open[0].Window.Start, zone).Equal(p.floor(s.Window.Start, zone))
}

// fold sums the sets of the current period.
func (a *Accumulation) fold() {
	sum := sumSets(a.open, &a.options)
	a.open, a.summed, a.pending = []*Set{sum}, sum.Len(), 0
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
func (a *Accumulation) Sets() []*Set {
	if len(a.open) > 0 {
		a.close()
	}
	return a.done
}

// dropAssets removes everything from a set but its rows.
func (s *Set) dropAssets() {
	s.Nodes, s.Disks, s.Balancers, s.Networks, s.Management, s.Cloud, s.External, s.Residuals = nil, nil, nil, nil, nil, nil, nil, nil
	s.portions, s.assets = shares[portion]{}, nil
}

// translation maps the ids of one Dict to those of another, and adds to the other only what sets use.
type translation struct {
	from, to          *Dict
	strs, lists, maps []ID // 0 where not translated yet
}

// id translates an id by a table, which find fills on first use. 0 stays 0.
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
		return ID(t.to.lists.Intern(list))
	})
}

func (t *translation) pairs(id ID) ID {
	return t.id(t.maps, id, func(id ID) ID {
		var pairs []Pair
		for _, p := range t.from.Map(id) {
			pairs = append(pairs, Pair{t.str(p.Key), t.str(p.Value)})
		}
		return ID(t.to.pairs.Intern(pairs))
	})
}

// grow makes room for all ids that exist by now.
func (t *translation) grow() {
	strs, lists, maps := t.from.Sizes()
	for _, of := range [...]struct {
		table *[]ID
		n     int
	}{{&t.strs, strs}, {&t.lists, lists}, {&t.maps, maps}} {
		*of.table = append(*of.table, make([]ID, of.n-len(*of.table))...)
	}
}

// apply replaces the ids of s in place.
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
