package allocation

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnread is the error for looking at data of a stored set that was not read. It means that the Needs of the caller are
// incomplete.
var ErrUnread = errors.New("BUG: it was not read, but is needed")

// Projection says what is read of stored sets. Whoever looks at a set declares its Needs as a Projection, and their Union is
// read; nil is everything. Asking for data that was not read is ErrUnread or a panic, never zeros.
type Projection struct {
	Properties []Property
	Deferred   []Property // read as Deferred: of merged rows, or of rows that a filter keeps
	Columns    []Column
	Volumes    bool // the rows' shares of volumes
	Balancers  bool // and of load balancers
	Levels     bool // and how long usage was how high; computed sets have these only if a projection asks for them
	// WithoutAssets leaves out assets. Reading them takes almost as long as reading the rows of a set.
	WithoutAssets bool
	// FewOfAssets reads only what the passes of Apply need of assets if Proportions is not set: no labels, places or prices, nor what
	// is used of disks and of nodes' cores. Computed assets lack only what is used.
	FewOfAssets bool
}

// OfRows returns a projection of properties and columns only.
func OfRows(properties []Property, columns ...Column) *Projection {
	return &Projection{Properties: properties, Columns: columns, WithoutAssets: true}
}

// Union returns what any of the projections needs, nil if one needs everything and none needs levels. Without projections it needs nothing.
func Union(list ...*Projection) *Projection {
	all := &Projection{WithoutAssets: true}
	few := true
	if slices.Contains(list, nil) {
		if !slices.ContainsFunc(list, func(p *Projection) bool { return p != nil && p.Levels }) {
			return nil
		}
		all = Everything()
		all.WithoutAssets, all.Levels = false, true
		return all
	}
	for _, p := range list {
		all.Properties, all.Deferred, all.Columns = append(all.Properties, p.Properties...), append(all.Deferred, p.Deferred...), append(all.Columns, p.Columns...)
		all.Volumes, all.Balancers, all.Levels = all.Volumes || p.Volumes, all.Balancers || p.Balancers, all.Levels || p.Levels
		all.WithoutAssets, few = all.WithoutAssets && p.WithoutAssets, few && (p.WithoutAssets || p.FewOfAssets)
	}
	all.FewOfAssets = few && !all.WithoutAssets
	slices.Sort(all.Properties)
	slices.Sort(all.Deferred)
	slices.Sort(all.Columns)
	all.Properties, all.Deferred, all.Columns = slices.Compact(all.Properties), slices.Compact(all.Deferred), slices.Compact(all.Columns)
	all.Deferred = slices.DeleteFunc(all.Deferred, func(x Property) bool { return slices.Contains(all.Properties, x) })
	return all
}

// Union returns what p or other needs.
func (p *Projection) Union(other *Projection) *Projection { return Union(p, other) }

// Everything returns a projection of all that rows have, without levels and assets.
func Everything() *Projection {
	p := &Projection{Volumes: true, Balancers: true, WithoutAssets: true}
	for x := range NumProperties {
		p.Properties = append(p.Properties, x)
	}
	for c := range NumColumns {
		p.Columns = append(p.Columns, c)
	}
	return p
}

// OfResults returns p for rows that are merged before anyone looks at them: its properties are deferred, except GPUs, whose
// common values need all rows.
func (p *Projection) OfResults() *Projection {
	if p == nil {
		return nil
	}
	of := *p
	of.Properties, of.Deferred = nil, slices.Clone(p.Deferred)
	for _, x := range p.Properties {
		if x == GPUDevices {
			of.Properties = []Property{x}
		} else {
			of.Deferred = append(of.Deferred, x)
		}
	}
	return &of
}

// Now returns p with nothing deferred.
func (p *Projection) Now() *Projection {
	if p == nil {
		return nil
	}
	of := *p
	of.Properties, of.Deferred = slices.Concat(p.Properties, p.Deferred), nil
	return &of
}

// MoneyColumns returns the columns that count towards the total cost.
func MoneyColumns() (money []Column) {
	for c := range NumColumns {
		if c.Money() {
			money = append(money, c)
		}
	}
	return money
}

// WithInstance returns p with the properties that identify rows, so that sets can be merged, and nothing deferred.
func (p *Projection) WithInstance() *Projection {
	return Union(p.Now(), OfRows(append(InstanceProperties[:len(InstanceProperties):len(InstanceProperties)], NodeName)))
}

// Unread says what was not read of a set's rows. The zero value means that everything was read.
type Unread struct {
	Properties         [NumProperties]bool
	Columns            [NumColumns]bool
	Volumes, Balancers bool
	Levels             bool
}

// Whole reports whether everything was read, but for levels of usage, which are there only where they are asked for.
func (u *Unread) Whole() bool { return *u == Unread{Levels: u.Levels} }

// unread returns what a projection does not read.
func (p *Projection) unread() (u Unread) {
	if p == nil {
		return u
	}
	for x := range NumProperties {
		u.Properties[x] = !slices.Contains(p.Properties, x) && !slices.Contains(p.Deferred, x)
	}
	for c := range NumColumns {
		u.Columns[c] = !slices.Contains(p.Columns, c)
	}
	u.Volumes, u.Balancers, u.Levels = !p.Volumes, !p.Balancers, !p.Levels
	return u
}

// Add adds what else was not read.
func (u *Unread) Add(o *Unread) {
	for x, is := range o.Properties {
		u.Properties[x] = u.Properties[x] || is
	}
	for c, is := range o.Columns {
		u.Columns[c] = u.Columns[c] || is
	}
	u.Volumes, u.Balancers, u.Levels = u.Volumes || o.Volumes, u.Balancers || o.Balancers, u.Levels || o.Levels
}

// Require returns ErrUnread if something that p needs of rows was not read of s or is deferred. Code that looks at single
// rows calls it once before.
func (s *Set) Require(p *Projection) error {
	if p == nil {
		p = Everything()
	}
	for _, x := range p.Properties {
		if _, err := s.IDs(x); err != nil {
			return err
		}
	}
	for _, c := range p.Columns {
		if _, err := s.Column(c); err != nil {
			return err
		}
	}
	if p.Volumes && s.table.Unread.Volumes || p.Balancers && s.table.Unread.Balancers {
		return s.notRead("volumes and load balancers")
	}
	if p.Levels && s.table.Unread.Levels {
		return s.notRead("levels of usage")
	}
	return nil
}

// notRead returns the error for data of the set's rows.
func (s *Set) notRead(what any) error {
	return fmt.Errorf("%w: %v of set of %s", ErrUnread, what, s.Window.Text())
}

// MinutesNeeds returns what Minutes reads: rows of several containers count differently, so it needs the properties that
// identify containers.
func MinutesNeeds() *Projection { return OfRows(InstanceProperties[:], RunningSeconds) }

// Filter selects rows. Package filter implements it.
type Filter interface {
	// Bind prepares the filter for the rows of s and returns a function that reports whether it selects a row. Apply returns
	// its error.
	Bind(s *Set) (func(row int) bool, error)
	// Needs returns what Bind looks at.
	Needs() *Projection
}
