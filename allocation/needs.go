package allocation

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnread is the error for looking at what was not read of a stored set: the Needs of whoever looks at it are incomplete.
var ErrUnread = errors.New("BUG: it was not read, but is needed")

// Projection says what is read of stored sets. Whoever looks at a set declares its Needs as one, and what is read is their Union;
// nil is everything. What was not read has no values: to ask for it is ErrUnread or a panic, never zeros.
type Projection struct {
	Properties []Property
	Deferred   []Property // of merged rows, and of those that a filter leaves: see Deferred
	Columns    []Column
	Volumes    bool // what rows have of volumes
	Balancers  bool // and of load balancers
	// WithoutAssets says that assets are not needed, which read almost as long as the rows of a set do.
	WithoutAssets bool
	// FewOfAssets says that assets are needed for the passes of Apply alone, by options without Proportions: those do not look
	// at what assets are labeled, where they are, or what their prices are.
	FewOfAssets bool
}

// OfRows is what reads properties and columns of rows, and nothing else.
func OfRows(properties []Property, columns ...Column) *Projection {
	return &Projection{Properties: properties, Columns: columns, WithoutAssets: true}
}

// Union is what any of the projections needs, nil where one needs everything. None need nothing.
func Union(list ...*Projection) *Projection {
	all := &Projection{WithoutAssets: true}
	few := true
	for _, p := range list {
		if p == nil {
			return nil
		}
		all.Properties, all.Deferred, all.Columns = append(all.Properties, p.Properties...), append(all.Deferred, p.Deferred...), append(all.Columns, p.Columns...)
		all.Volumes, all.Balancers = all.Volumes || p.Volumes, all.Balancers || p.Balancers
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

// Union is what p or other need.
func (p *Projection) Union(other *Projection) *Projection { return Union(p, other) }

// Everything is a projection of all that rows have, and of no assets.
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

// OfResults is p where rows are merged before anybody looks at them: properties are deferred. What rows have in common of GPUs is
// found out by looking at all of them.
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

// Now is p with nothing deferred.
func (p *Projection) Now() *Projection {
	if p == nil {
		return nil
	}
	of := *p
	of.Properties, of.Deferred = slices.Concat(p.Properties, p.Deferred), nil
	return &of
}

// OnlyMerges reports whether the passes of o do little with rows but to merge them: then most properties are needed of results
// alone. Reconcile looks at more only in sets that have adjustments.
func (o *Options) OnlyMerges() bool {
	return o.ShareIdle == NoSplit && len(o.Share) == 0 && o.SharedCost == 0 && !o.ShareLoadBalancers && !o.External && !o.Proportions && !o.Check
}

// keys are what the rows are merged by.
func (o *Options) keys() []Key {
	if len(o.Aggregate) == 0 {
		return unaggregated()
	}
	return o.Aggregate
}

// Needs is what the passes of o look at. Where they only merge rows, the properties that those are named by are deferred if a filter
// drops some, as are clusters and nodes.
func (o *Options) Needs() *Projection {
	p := &Projection{
		Columns: append(MoneyColumns(), RunningSeconds), // what is shared by usage hours is shared by it
		Volumes: o.Proportions, Balancers: o.Proportions || o.ShareLoadBalancers,
		WithoutAssets: !o.Idle && o.ShareIdle == NoSplit && !o.ShareTenancy && !o.Reconcile && !o.External && !o.Proportions,
		FewOfAssets:   !o.Proportions,
	}
	if o.ShareIdle != NoSplit || o.Proportions {
		p.Columns = append(p.Columns, CostIdle.Of(CPU), CostIdle.Of(RAM), CostIdle.Of(GPU))
	}
	selecting, names := []*Projection{p}, []*Projection{OfRows([]Property{Cluster, NodeName})}
	if o.Filter != nil {
		selecting = append(selecting, o.Filter.Needs())
	}
	for _, share := range o.Share {
		selecting = append(selecting, share.Filter.Needs())
	}
	for _, k := range o.keys() {
		if o.Filter == nil {
			selecting = append(selecting, k.Needs())
		} else {
			names = append(names, k.Needs())
		}
	}
	if o.AggregatedMetadata {
		names = append(names, OfRows([]Property{Cluster, Namespace, Labels, Annotations}))
	}
	all := Union(append(selecting, Union(names...).OfResults())...)
	if !o.OnlyMerges() || o.AggregatedMetadata || len(o.Aggregate) == 0 {
		return all.Now()
	}
	return all
}

// MoneyColumns are those of costs that count towards the total.
func MoneyColumns() (money []Column) {
	for c := range NumColumns {
		if c.Money() {
			money = append(money, c)
		}
	}
	return money
}

// WithInstance is p with what tells rows apart, so that sets can be merged, and nothing deferred.
func (p *Projection) WithInstance() *Projection {
	return Union(p.Now(), OfRows(append(instance[:len(instance):len(instance)], NodeName)))
}

// unread is what was not read of the rows of a set. The zero value is nothing: everything was.
type unread struct {
	properties         [NumProperties]bool
	columns            [NumColumns]bool
	volumes, balancers bool
}

// unread is what a projection does not read.
func (p *Projection) unread() (u unread) {
	if p == nil {
		return u
	}
	for x := range NumProperties {
		u.properties[x] = !slices.Contains(p.Properties, x) && !slices.Contains(p.Deferred, x)
	}
	for c := range NumColumns {
		u.columns[c] = !slices.Contains(p.Columns, c)
	}
	u.volumes, u.balancers = !p.Volumes, !p.Balancers
	return u
}

// add adds what else was not read.
func (u *unread) add(o *unread) {
	for x, is := range o.properties {
		u.properties[x] = u.properties[x] || is
	}
	for c, is := range o.columns {
		u.columns[c] = u.columns[c] || is
	}
	u.volumes, u.balancers = u.volumes || o.volumes, u.balancers || o.balancers
}

// unreadOf is what was not read of some of the parts.
func unreadOf(parts []part) (u unread) {
	for i := range parts {
		u.add(&parts[i].set.unread)
	}
	return u
}

// Require is ErrUnread where something that p needs of rows was not read of s, or is deferred. Who looks at rows one by one asks it once.
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
	if p.Volumes && s.unread.volumes || p.Balancers && s.unread.balancers {
		return s.notRead("volumes and load balancers")
	}
	return nil
}

// notRead is the error for something of the set's rows.
func (s *Set) notRead(what any) error {
	return fmt.Errorf("%w: %v of set of %s", ErrUnread, what, s.span())
}

// MinutesNeeds is what Minutes are made of: a row of several containers has others than one of a single one, which the properties
// tell that tell containers apart.
func MinutesNeeds() *Projection { return OfRows(instance[:], RunningSeconds) }
