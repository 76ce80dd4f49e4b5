package passes_test

import (
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// This is the reference for Apply: plain rows that go through the steps of SEMANTICS §6, slowly and obviously.

// question is a question in terms that the reference understands.
type question struct {
	passes.Options
	aggregate string
	filter    naiveFilter // the zero value selects all
	shares    []naiveFilter
	reconcile bool
}

// sets are the sets of the models that the question is about, with bills if it is about what was billed.
func (q question) sets(models []model) []*allocation.Set {
	if q.reconcile {
		return setsOf(models)
	}
	plain := slices.Clone(models)
	for i := range plain {
		plain[i].bill = passes.Adjustments{External: plain[i].bill.External}
	}
	return setsOf(plain)
}

// ask turns the question into the options of Apply.
func (q question) ask() passes.Options {
	o := q.Options
	if q.filter != (naiveFilter{}) {
		o.Filter = q.filter
	}
	o.Share = nil
	for _, f := range q.shares {
		o.Share = append(o.Share, passes.Share{Name: f.value, Filter: f})
	}
	return o
}

// naiveFilter selects the rows that have a value of a property, or those that do not have it.
type naiveFilter struct {
	property allocation.Property
	value    string
	not      bool
}

func (f naiveFilter) Needs() *allocation.Projection {
	return allocation.OfRows([]allocation.Property{f.property})
}

func (f naiveFilter) Bind(s *allocation.Set) (func(row int) bool, error) {
	return func(row int) bool { return (s.Text(f.property, row) == f.value) != f.not }, nil
}

func (f naiveFilter) selects(r *refRow) bool {
	return f == (naiveFilter{}) || (r.Text[f.property] == f.value) != f.not
}

// refRow is a row on its way through the passes.
type refRow struct {
	modelRow
	built    bool // by a Builder: what passes add takes nothing
	kept     bool // by the filter
	pool     string
	isShared bool
	weight   float64 // total cost before idle and shared costs
}

// refSet is a model on its way through the passes.
type refSet struct {
	m     *model
	q     *question
	rows  []*refRow
	idle  []*refRow
	pools map[string]*[allocation.NumSharedKinds]float64
}

// refResult is the rows of a name, and what they bear of the shared cost.
type refResult struct {
	rows   []*refRow
	shared float64
	parts  map[string][allocation.NumSharedKinds]float64
}

// reference returns what Apply should make of the models.
func reference(models []model, q question) []refAnswer {
	var answers []refAnswer
	for i := range models {
		s := &refSet{m: &models[i], q: &q, pools: map[string]*[allocation.NumSharedKinds]float64{}}
		for _, r := range models[i].rows {
			r.volumes, r.balancers = slices.Clone(r.volumes), slices.Clone(r.balancers)
			s.rows = append(s.rows, &refRow{modelRow: r, built: true})
		}
		s.external()
		s.reconcile()
		s.makeIdle()
		s.takeOut()
		s.tenancy()
		for _, r := range s.rows {
			r.kept = q.filter.selects(r)
		}
		s.giveIdle()
		s.passOn()
		answers = append(answers, s.results())
	}
	if q.Accumulate != allocation.All {
		return answers
	}
	all := refAnswer{}
	for _, answer := range answers {
		for name, result := range answer {
			sum := all.at(name)
			sum.rows = append(sum.rows, result.rows...)
			sum.shared += result.shared
			for part, cost := range result.parts {
				sum.addPart(part, cost, 1)
			}
		}
	}
	return []refAnswer{all}
}

func (r *refResult) addPart(name string, cost [allocation.NumSharedKinds]float64, times float64) {
	sum := r.parts[name]
	for kind, v := range cost {
		sum[kind] += v * times
	}
	r.parts[name] = sum
}

func (s *refSet) external() {
	if !s.q.External {
		return
	}
	for _, e := range s.m.bill.External {
		r := &refRow{}
		r.Special, r.Text, r.Labels, r.Start, r.End = allocation.External, e.Text, e.Labels, e.Start, e.End
		if s.q.aggregate == "" {
			r.Text[allocation.Pod], r.Text[allocation.Container] = allocation.ExternalName, allocation.ExternalName
		}
		r.Values[allocation.ExternalCost] = e.Cost
		s.rows = append(s.rows, r)
	}
}

// unallocated adds a row for a cost that nobody takes.
func (s *refSet) unallocated(cluster string, start, end time.Time, c allocation.Column, cost float64) *refRow {
	r := &refRow{}
	r.Special, r.Start, r.End = allocation.Unallocated, start, end
	r.Text[allocation.Cluster] = cluster
	for _, p := range []allocation.Property{allocation.Namespace, allocation.Pod, allocation.Container} {
		r.Text[p] = allocation.UnallocatedName
	}
	r.Values[c] = cost
	s.rows = append(s.rows, r)
	return r
}

// refShare is a possible taker of a cost. The first weight counts of which any taker has some.
type refShare struct {
	weights []float64
	give    func(cost float64)
}

// divide splits a cost over the takers. It reports whether there were any.
func divide(cost float64, takers []refShare) bool {
	if len(takers) == 0 {
		return false
	}
	for i := range takers[0].weights {
		sum := 0.0
		for _, t := range takers {
			sum += t.weights[i]
		}
		if sum == 0 {
			continue
		}
		for _, t := range takers {
			t.give(cost * t.weights[i] / sum)
		}
		return true
	}
	return false
}

func (s *refSet) reconcile() {
	if !s.q.reconcile {
		return
	}
	bill := &s.m.bill
	first := len(s.rows)
	defer func() {
		for _, r := range s.rows[first:] {
			r.built = true // what the bill leaves is in the set before the passes
		}
	}()
	s.reconcileNodes()
	for _, d := range s.m.disks {
		amount := bill.Volumes[allocation.AssetKey{Cluster: d.Cluster, Name: d.Name}]
		if d.Local || amount == 0 {
			continue
		}
		takers := s.sharers(allocation.VolumeKey(d.Cluster, d.Name), allocation.PVCostAdjustment, func(v modelShare) []float64 { return []float64{v.cost, v.amount, 1} })
		if !divide(amount, takers) {
			s.unallocated(d.Cluster, d.Start, d.End, allocation.PVCostAdjustment, amount).volumes = []modelShare{{key: allocation.VolumeKey(d.Cluster, d.Name), adjustment: amount}}
		}
	}
	for _, l := range s.m.balancers {
		amount := bill.LoadBalancers[allocation.AssetKey{Cluster: l.Cluster, Name: l.Namespace + "/" + l.Service}]
		if amount == 0 {
			continue
		}
		takers := s.sharers(allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service), allocation.LoadBalancerCostAdjustment, func(v modelShare) []float64 { return []float64{v.cost, v.amount, 1} })
		if !divide(amount, takers) {
			s.unallocated(l.Cluster, l.Start, l.End, allocation.LoadBalancerCostAdjustment, amount).balancers = []modelShare{{key: allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service), adjustment: amount}}
		}
	}
	for _, n := range s.m.networks {
		var takers []refShare
		for _, r := range s.rows {
			if r.built && r.Text[allocation.Cluster] == n.Cluster {
				egress := r.Values[allocation.NetworkCrossZoneCost] + r.Values[allocation.NetworkCrossRegionCost] + r.Values[allocation.NetworkInternetCost]
				takers = append(takers, refShare{[]float64{egress, r.running()}, func(v float64) { r.Values[allocation.NetworkCostAdjustment] += v }})
			}
		}
		if !divide(bill.Networks[n.Cluster], takers) {
			s.unallocated(n.Cluster, n.Start, n.End, allocation.NetworkCostAdjustment, bill.Networks[n.Cluster])
		}
	}
}

// sharers are the rows that have a share of a volume or load balancer.
func (s *refSet) sharers(key string, c allocation.Column, weights func(modelShare) []float64) (takers []refShare) {
	for _, r := range s.rows {
		for _, list := range [][]modelShare{r.volumes, r.balancers} {
			for i := range list {
				if list[i].key == key && r.built {
					takers = append(takers, refShare{weights(list[i]), func(v float64) {
						list[i].adjustment += v
						r.Values[c] += v
					}})
				}
			}
		}
	}
	return takers
}

// reconcileNodes charges the bills of nodes to the rows on them. The part of idle is kept in idle rows, one a node.
func (s *refSet) reconcileNodes() {
	for _, n := range s.m.nodes {
		r := &refRow{}
		r.Text[allocation.Cluster], r.Text[allocation.NodeName] = n.Cluster, n.Name
		for res := range allocation.NumResources {
			amount := s.m.bill.Nodes[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name}] * n.Cost[res] / n.TotalCost()
			c := allocation.Adjustment.Of(res)
			takers := []refShare{{[]float64{n.Idle[res], 1}, func(v float64) { r.Values[c] += v }}}
			for _, row := range s.rows {
				if row.built && row.Text[allocation.Cluster] == n.Cluster && row.Text[allocation.NodeName] == n.Name {
					takers = append(takers, refShare{[]float64{row.Values[allocation.Cost.Of(res)], 0}, func(v float64) { row.Values[c] += v }})
				}
			}
			divide(amount, takers)
		}
		s.idle = append(s.idle, r)
	}
}

// running is how many seconds a workload ran.
func (r *refRow) running() float64 {
	if r.Special != allocation.Workload {
		return 0
	}
	return r.Values[allocation.RunningSeconds]
}

// hoursIn is how many hours a workload ran between two instants.
func (r *refRow) hoursIn(from, to time.Time) float64 {
	if r.Special != allocation.Workload {
		return 0
	}
	if r.Start.After(from) {
		from = r.Start
	}
	if r.End.Before(to) {
		to = r.End
	}
	if to.Before(from) {
		return 0
	}
	return r.Values[allocation.RunningSeconds] / 3600 * to.Sub(from).Seconds() / r.End.Sub(r.Start).Seconds()
}

// makeIdle makes idle rows, one for each node or each cluster.
func (s *refSet) makeIdle() {
	billed := s.idle
	s.idle = nil
	if !s.q.Idle && s.q.ShareIdle == passes.NoSplit {
		return
	}
	for i, n := range s.m.nodes {
		node := ""
		if s.q.IdleByNode {
			node = n.Name
		}
		at := slices.IndexFunc(s.idle, func(r *refRow) bool {
			return r.Text[allocation.Cluster] == n.Cluster && r.Text[allocation.NodeName] == node
		})
		if at < 0 {
			at = len(s.idle)
			r := &refRow{}
			r.Special, r.Start, r.End = allocation.Idle, n.Start, n.End
			r.Text[allocation.Cluster], r.Text[allocation.NodeName], r.Text[allocation.ProviderID] = n.Cluster, node, node
			s.idle = append(s.idle, r)
		}
		r := s.idle[at]
		if n.End.After(r.End) {
			r.End = n.End
		}
		for res := range allocation.NumResources {
			r.Values[allocation.Cost.Of(res)] += n.Idle[res]
			if billed != nil {
				r.Values[allocation.Adjustment.Of(res)] += billed[i].Values[allocation.Adjustment.Of(res)]
			}
		}
	}
}

// takeOut marks shared rows, takes out load balancers, and weighs the rows that are left.
func (s *refSet) takeOut() {
	pool := func(name string) *[allocation.NumSharedKinds]float64 {
		if s.pools[name] == nil {
			s.pools[name] = &[allocation.NumSharedKinds]float64{}
		}
		return s.pools[name]
	}
	if s.q.SharedCost != 0 {
		pool(allocation.OverheadName)[allocation.SharedOverhead] += s.q.SharedCost / 730 * s.m.window.Duration().Hours()
	}
	for _, r := range s.rows {
		if s.q.ShareLoadBalancers {
			cost, adjustment := &r.Values[allocation.LoadBalancerCost], &r.Values[allocation.LoadBalancerCostAdjustment]
			if r.Special == allocation.Unallocated && (*cost != 0 || *adjustment != 0) {
				r.isShared, r.pool = true, allocation.LoadBalancersName
			}
			pool(allocation.LoadBalancersName)[allocation.SharedLoadBalancer] += *cost + *adjustment
			*cost, *adjustment, r.balancers = 0, 0, nil
		}
		for _, f := range s.q.shares {
			if r.Special != allocation.External && !r.isShared && f.selects(r) {
				r.isShared, r.pool = true, f.value
			}
		}
		if r.isShared {
			pool(r.pool)
		}
		r.weight = max(0, r.total())
	}
}

func (r *refRow) total() (sum float64) {
	for c, v := range r.Values {
		if allocation.Column(c).Money() {
			sum += v
		}
	}
	return sum
}

func (s *refSet) tenancy() {
	if !s.q.ShareTenancy {
		return
	}
	give := func(cluster, node string, start, end time.Time, cost, adjustment float64) {
		if s.q.reconcile {
			cost += adjustment
		}
		var takers []refShare
		for _, r := range s.rows {
			if r.built && r.Text[allocation.Cluster] == cluster && (node == "" || r.Text[allocation.NodeName] == node) {
				takers = append(takers, refShare{[]float64{r.hoursIn(start, end)}, func(v float64) { r.Values[allocation.SharedCost] += v }})
			}
		}
		if !divide(cost, takers) {
			s.unallocated(cluster, start, end, allocation.SharedCost, cost)
		}
	}
	for _, m := range s.m.management {
		give(m.Cluster, "", m.Start, m.End, m.Cost, s.m.bill.Management[m.Cluster])
	}
	for _, d := range s.m.disks {
		if d.Local {
			give(d.Cluster, d.Name, d.Start, d.End, d.Cost, s.m.bill.LocalDisks[allocation.AssetKey{Cluster: d.Cluster, Name: d.Name}])
		}
	}
}
