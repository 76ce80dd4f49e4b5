package passes

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

// pool is a cost that all results bear together.
type pool struct {
	name  string
	money allocation.Money
}

// takeShared takes out shared costs: the flat cost, load balancers, and the rows that Shares select but those of external costs, which are
// never shared. The rows keep their place until they have taken their part of idle and of the clusters' costs.
func takeShared(w *work, o *Options) {
	for _, share := range o.Share {
		w.pools = append(w.pools, pool{name: share.Name})
	}
	if o.SharedCost != 0 {
		w.books.Flat = o.SharedCost / coverage.MonthHours * w.set.Window.Duration().Hours()
		w.pools = append(w.pools, pool{name: allocation.OverheadName, money: allocation.Money{allocation.SharedOverhead: w.books.Flat}})
	}
	if o.ShareLoadBalancers {
		w.takeLoadBalancers()
	}
	if len(w.pools) == 0 {
		return
	}
	for k, share := range o.Share {
		match, err := share.Filter.Bind(w.set)
		if err != nil {
			w.err = err
			return
		}
		for row := range w.set.Len() {
			if w.Special[row] != allocation.External && !w.isTaken(row) && match(row) {
				w.take(row, k)
			}
		}
	}
	w.weigh()
}

// take marks a row as part of a pool.
func (w *work) take(row, pool int) {
	if w.taken == nil {
		w.taken = slices.Repeat([]int32{notTaken}, w.set.Len())
	}
	w.taken[row] = int32(pool)
}

// takeLoadBalancers moves the cost of load balancers to a pool. Rows that stand only for load balancers are taken as well.
func (w *work) takeLoadBalancers() {
	of := pool{name: allocation.LoadBalancersName}
	for _, col := range allocation.SharedLoadBalancer.Columns() {
		values := w.own(col)
		for row, v := range values {
			if v != 0 && w.Special[row] == allocation.Unallocated {
				w.take(row, len(w.pools))
			}
			of.money[allocation.SharedLoadBalancer] += v
			values[row] = 0
		}
	}
	w.Balancers = allocation.Shares[allocation.LoadBalancerShare]{}
	w.pools = append(w.pools, of)
}

// weigh records the cost of rows before idle and shared cost, which is their weight when shared cost is divided.
func (w *work) weigh() {
	w.weights = make([]float64, w.built)
	for c := range w.Values {
		if !allocation.Column(c).Money() {
			continue
		}
		for row, v := range w.Values[c][:w.built] {
			w.weights[row] += v
		}
	}
	for row, v := range w.weights {
		w.weights[row] = max(0, v)
	}
}

// fillPools adds the cost of taken rows to their pools, with their part of idle and of the clusters' costs.
func fillPools(w *work, _ *Options) {
	w.filled = true
	if w.taken == nil {
		return
	}
	var rows []int32
	for row, k := range w.taken {
		if k != notTaken {
			rows = append(rows, int32(row))
		}
	}
	for kind := range allocation.NumSharedKinds {
		for _, col := range kind.Columns() {
			for _, row := range rows {
				w.pools[w.taken[row]].money[kind] += w.Values[col][row]
			}
		}
	}
	w.recordIdle(rows)
}

// recordIdle records the idle in rows that are removed, for Check. Check only works on sets that were read completely.
func (w *work) recordIdle(rows []int32) {
	if !w.Unread.Whole() {
		return
	}
	for r := range allocation.NumResources {
		for _, row := range rows {
			w.books.Idle[r] += w.Values[allocation.CostIdle.Of(r)][row]
		}
	}
}

// result is the weight of the rows with one name.
type result struct {
	all, kept         float64 // Σ weights of all rows, and of the rows that the filter kept
	rowsAll, rowsKept int
}

// bearing returns the part of the pools that each result bears, and the part of the rows that the filter removed. The last of
// results stands for no result. Both count all rows before the filter, so that a filter never changes what a row pays. An even split
// is among takers: taker is the one that each result belongs to, which divides its part by weight.
func bearing(results []result, taker []int32, split Split) (bears []float64, forgone float64) {
	bears = make([]float64, len(results))
	sum, n, takers := 0.0, 0, make([]result, len(results))
	for i, r := range results {
		sum += r.all
		t := &takers[taker[i]]
		if r.rowsAll > 0 && t.rowsAll == 0 {
			n++
		}
		t.all, t.rowsAll = t.all+r.all, t.rowsAll+r.rowsAll
	}
	for i, r := range results {
		switch {
		case r.rowsAll == 0:
		case split != Even:
			if sum > 0 {
				bears[i] = r.kept / sum
				forgone += (r.all - r.kept) / sum
			}
		default:
			t := &takers[taker[i]]
			part, whole := float64(r.rowsKept)/float64(t.rowsAll), float64(r.rowsAll)/float64(t.rowsAll)
			if t.all > 0 {
				part, whole = r.kept/t.all, r.all/t.all
			}
			bears[i] = part / float64(n)
			forgone += (whole - part) / float64(n)
		}
	}
	return bears[:len(bears)-1], forgone
}

// takers returns which of the results an even split counts as one: those whose names begin with the same values of so many keys; 0
// counts each result. A further element is for no result.
func takers(names []string, keys int, separator byte) []int32 {
	of, first := make([]int32, len(names)+1), map[string]int32{}
	for i := range of {
		of[i] = int32(i)
	}
	if keys == 0 {
		return of
	}
	for i, name := range names {
		values := strings.SplitN(name, string(rune(separator)), keys+1)
		begin := strings.Join(values[:min(keys, len(values))], string(rune(separator)))
		if _, ok := first[begin]; !ok {
			first[begin] = int32(i)
		}
		of[i] = first[begin]
	}
	return of
}

// spreadPools divides the pools among the results. Where no result can take any, they become a row __shared__, unless there
// is a filter: filtered rows have no part in that.
func spreadPools(w *work, o *Options) {
	if len(w.pools) == 0 && !o.SharedBreakdown {
		return
	}
	var all allocation.Money
	for i := range w.pools {
		all.Add(&w.pools[i].money)
	}
	total, borne := all.Total(), w.forgone
	bears := make([]float64, w.set.Len()) // idle bears nothing
	copy(bears, w.bears)
	w.bears = bears
	for _, part := range w.bears {
		borne += part
	}
	forgone := w.forgone
	switch {
	case borne > 0 || total == 0:
	case o.Filter != nil:
		forgone = 1
	default:
		w.addLeft()
	}
	if o.SharedBreakdown {
		w.addParts()
	}
	if total != 0 {
		shared := slices.Clone(w.Values[allocation.SharedCost]) // zeros may be shared with other columns
		for i, part := range w.bears {
			shared[i] += total * part
		}
		w.Values[allocation.SharedCost] = shared
	}
	for kind, v := range all {
		if allocation.SharedKind(kind) != allocation.SharedOverhead {
			w.books.Passed[kind] += v
		}
	}
	w.books.Out[allocation.SharedOverhead] += total * forgone
	w.pools = nil
}

// addLeft adds the row __shared__, which bears everything.
func (w *work) addLeft() {
	start, end := w.set.Window.Start.UnixMilli(), w.set.Window.End.UnixMilli()
	if w.set.Len() > 0 {
		start, end = slices.Min(w.Start), slices.Max(w.End)
	}
	w.set.AddRow(allocation.Shared, start, end)
	w.Names = append(w.Names, allocation.SharedName)
	w.bears = append(w.bears, 1)
}

// addParts records the components of the shared cost of each result, by name. Pools of one name, such as a namespace that is
// shared twice, are summed.
func (w *work) addParts() {
	var pools []allocation.SharedPart
	for _, p := range w.pools {
		id, _ := w.Dict.Find(p.name)
		if i := slices.IndexFunc(pools, func(have allocation.SharedPart) bool { return have.Name == id }); i >= 0 {
			pools[i].Cost.Add(&p.money)
		} else {
			pools = append(pools, allocation.SharedPart{Name: id, Cost: p.money})
		}
	}
	tenancy, _ := w.Dict.Find(allocation.TenancyName)
	var list []allocation.RowShare[allocation.SharedPart]
	for row, bears := range w.bears {
		list = slices.Grow(list, len(pools)*(len(w.bears)-row))
		for _, part := range pools {
			if bears == 0 || part.Cost == (allocation.Money{}) {
				continue
			}
			for kind := range part.Cost {
				part.Cost[kind] *= bears
			}
			list = append(list, allocation.RowShare[allocation.SharedPart]{Row: int32(row), Share: part})
		}
	}
	for row, cost := range w.Values[allocation.SharedCost] {
		if cost != 0 {
			list = append(slices.Grow(list, w.set.Len()-row), allocation.RowShare[allocation.SharedPart]{Row: int32(row), Share: allocation.SharedPart{Name: tenancy, Cost: allocation.Money{allocation.SharedOverhead: cost}}})
		}
	}
	w.Parts = allocation.MergeShares(list, compareParts(w.Dict), addPart)
}
