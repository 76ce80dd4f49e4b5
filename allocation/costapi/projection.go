package costapi

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// needed is what the answer needs of rows that are kept, nil for all of them: a history reads just that.
func (q *request) needed() *allocation.Projection {
	var list []allocation.Property
	switch {
	case q.api.cfg.Check || !q.query.Stored: // what checks looks at everything, and what is computed has everything
		return nil
	case q.route.endpoint&listed != 0:
		return &allocation.Projection{}
	case q.route.endpoint == completions:
		list = q.complete.needs
	default:
		list = q.keyed()
	}
	members, known := q.members()
	more, selected := q.selecting()
	if !known && !q.carries() || !selected || list == nil {
		return nil
	}
	list, late := q.naming(slices.Concat(list, more), more)
	slices.Sort(list)
	p := &allocation.Projection{Properties: slices.Compact(list), Late: late}
	if known && len(members) == 0 { // names alone
		p.WithoutAssets = true
		return p
	}
	costs := known && !slices.ContainsFunc(members, func(name string) bool { return !isCost(name) })
	maxima := !known || slices.Contains(members, "rawAllocationOnly")
	for c := range allocation.NumColumns {
		if !costs && (maxima || !c.Maximum()) || c.Money() || c == allocation.RunningSeconds { // which what is shared by usage hours is shared by
			p.Columns = append(p.Columns, c)
		}
	}
	o := &q.options
	if q.carries() && o.OnlyMerges() {
		p.Columns, p.LateColumns = nil, p.Columns
	}
	p.WithoutAssets = q.streams() && !o.Idle && o.ShareIdle == allocation.NoSplit && !o.ShareTenancy && !o.Reconcile && !o.External
	p.FewOfAssets = q.streams() // which keeps none
	if !known {
		return q.withAll(p)
	}
	p.Volumes = q.options.Proportions || slices.Contains(members, "pvs")
	p.Balancers = q.options.Proportions || q.options.ShareLoadBalancers || slices.Contains(members, "lbAllocations")
	if !costs {
		if q.carries() {
			p.Late = slices.DeleteFunc(p.WithInstance().Properties, func(x allocation.Property) bool { return slices.Contains(p.Properties, x) })
			slices.Sort(p.Late)
			p.Late = slices.Compact(p.Late)
			return p
		}
		return p.WithInstance() // averages are over the time of what was merged
	}
	return p
}

// naming divides the properties that are needed at once into those, and those that nothing but the names of the rows that a
// filter leaves is made of: ids of those are for few rows. Clusters and nodes are with them where passes ask for them.
func (q *request) naming(list, selecting []allocation.Property) (now, late []allocation.Property) {
	if !q.carries() || !q.options.OnlyMerges() {
		return list, nil
	}
	if len(selecting) == 0 {
		selecting = list
	}
	selecting = append(slices.Clip(selecting), allocation.Cluster, allocation.GPUDevices)
	for _, d := range q.api.cfg.Derived { // what is wrong with them is told of all rows
		if q.derives(d) {
			selecting = append(selecting, d.Needs()...)
		}
	}
	for _, k := range q.options.Aggregate { // so is what is wrong with labels
		if len(allocation.LabelUses([]allocation.Key{k})) > 0 {
			selecting = append(selecting, k.Properties()...)
		}
	}
	for _, x := range list {
		if slices.Contains(selecting, x) {
			now = append(now, x)
		} else {
			late = append(late, x)
		}
	}
	for _, x := range [...]allocation.Property{allocation.Cluster, allocation.NodeName} {
		if !slices.Contains(now, x) {
			late = append(late, x)
		}
	}
	slices.Sort(late)
	return now, slices.Compact(late)
}

// carries reports whether properties that rows are neither named nor selected by are only carried along to the answer.
func (q *request) carries() bool {
	o := &q.options
	return q.route.endpoint&(allocations|summaries|toplines) != 0 && q.streams() && len(o.Aggregate) > 0 && !o.AggregatedMetadata
}

// withAll adds to a projection all that it lacks of rows, for an answer that tells their properties.
func (q *request) withAll(p *allocation.Projection) *allocation.Projection {
	for x := range allocation.NumProperties {
		switch {
		case slices.Contains(p.Properties, x), slices.Contains(p.Late, x):
		case x == allocation.GPUDevices: // what rows have in common of them is told, too
			p.Properties = append(p.Properties, x)
		default:
			p.Late = append(p.Late, x)
		}
	}
	p.Volumes, p.Balancers = true, true
	return p
}

// members are those of the answer's rows, none where it is of names alone, and whether they are known to tell no property.
func (q *request) members() (names []string, known bool) {
	switch {
	case q.route.endpoint == completions:
		return nil, true
	case q.route.endpoint == trends:
		return []string{"totalCost"}, true
	case q.route.endpoint&(summaries|toplines) != 0:
		return encodeSummary, true
	case q.route.endpoint != allocations || columnar(q.format) || q.format == "csv":
		return nil, false
	}
	tells := func(name string) bool { return name == "properties" || name == "gpuAllocation" }
	return append(slices.Clip(q.fields), q.page.By), len(q.fields) > 0 && !slices.ContainsFunc(q.fields, tells)
}

// encodeSummary stands for the members of summaries, which have averages.
var encodeSummary = []string{"totalCost", "cpuCoreUsageAverage"}

// isCost reports whether a member of a row is its name, a time of it, or a cost; the empty one is.
func isCost(name string) bool {
	switch name {
	case "", "name", "window", "start", "end":
		return true
	}
	return slices.ContainsFunc(allocation.Fields(), func(f allocation.Field) bool { return f.Name == name && f.Unit == "currency" })
}

// keyed are the properties that rows are named and divided by.
func (q *request) keyed() []allocation.Property {
	list := []allocation.Property{allocation.Cluster, allocation.NodeName} // which passes tell clusters and nodes by
	if o := &q.options; q.carries() && o.OnlyMerges() {                    // they ask for them where they have to, but some always have
		list = list[:0]
		if o.Idle && o.Filter != nil {
			list = append(list, allocation.Cluster)
		}
	}
	for _, k := range q.options.Aggregate {
		list = append(list, k.Properties()...)
	}
	if len(q.options.Aggregate) == 0 {
		list = append(list, allocation.Namespace, allocation.Pod, allocation.Container)
	}
	return list
}

// selecting are the properties that filters look at, and whether all of these are known.
func (q *request) selecting() (list []allocation.Property, known bool) {
	filters := []filter.Expr{q.filters}
	for _, e := range q.entries {
		filters = append(filters, e.filter.Expr())
	}
	for _, e := range filters {
		more, known := filter.Needs(e)
		if !known {
			return nil, false
		}
		list = append(list, more...)
	}
	return list, true
}
