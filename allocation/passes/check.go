package passes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

const (
	// tolerance is how far sums may differ, relative to the larger one, and least the smallest sum that counts as one: rounding leaves more of
	// what is 0.
	tolerance = 1e-9
	least     = 1e-3
	// maxViolations bounds what Check reports: the first violations tell what is wrong.
	maxViolations = 10
)

// Check verifies the laws of SEMANTICS §5 and returns all violations joined, or nil. Numbers are finite and not negative.
// Rows lie inside the window and have different names. Shares of volumes, load balancers and shared costs add up to their
// columns. Rows cost what the assets cost: with idle and without Residuals, they add up to the nodes, and so for volumes,
// load balancers and networks.
//
// Before passes this holds per cluster and per node, and management fees and local disks are in no row. After passes it holds
// in total, counting what was shared, adjusted, filtered and not asked for. Errors name the law, the place and both sums.
func Check(s *allocation.Set) error {
	c := &checker{set: s, rows: s.Table()}
	if err := c.checkShape(); err != nil {
		return err // the rest cannot be read
	}
	c.checkRows()
	c.checkNames()
	c.checkNodes()
	c.checkShares()
	switch {
	case c.rows.Names == nil:
		c.checkBase()
		c.checkAssets()
	case c.rows.Books != nil:
		c.checkTotals()
	}
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("check set of %s: %w", s.Window.Text(), errors.Join(c.errs...))
}

// checker checks a set, and collects violations.
type checker struct {
	set  *allocation.Set
	rows *allocation.Table
	errs []error
}

func (c *checker) add(format string, args ...any) {
	if len(c.errs) < maxViolations {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// full reports whether further violations would be left out.
func (c *checker) full() bool { return len(c.errs) >= maxViolations }

// checkShape verifies that all columns have a value for each row, and that the dictionary has all ids.
func (c *checker) checkShape() error {
	if !c.rows.Unread.Whole() {
		return fmt.Errorf("%w: some of set of %s", allocation.ErrUnread, c.set.Window.Text())
	}
	n := c.set.Len()
	lengths := []int{len(c.rows.Merged), len(c.rows.Start), len(c.rows.End)}
	for _, col := range c.rows.Values {
		lengths = append(lengths, len(col))
	}
	for _, ids := range c.rows.IDs {
		lengths = append(lengths, len(ids))
	}
	if c.rows.Names != nil {
		lengths = append(lengths, len(c.rows.Names))
	}
	if i := slices.IndexFunc(lengths, func(l int) bool { return l != n }); i >= 0 {
		return fmt.Errorf("check set of %s: a column has %d rows, the set %d", c.set.Window.Text(), lengths[i], n)
	}
	strs, lists, maps := c.rows.Dict.Sizes()
	for p := range allocation.NumProperties {
		limit := strs
		switch {
		case p.IsList():
			limit = lists
		case p.IsMap():
			limit = maps
		}
		if row := slices.IndexFunc(c.rows.IDs[p], func(id allocation.ID) bool { return int(id) >= limit }); row >= 0 {
			return fmt.Errorf("check set of %s: row %d: %s has id %d of %d", c.set.Window.Text(), row, p, c.rows.IDs[p][row], limit)
		}
	}
	return nil
}

// checkRows verifies each row on its own.
func (c *checker) checkRows() {
	for col := range allocation.NumColumns {
		// Shared cost contains adjustments, and a bill may give money back.
		billed := c.rows.Books != nil && (col == allocation.SharedCost || col == allocation.ExternalCost)
		signed := billed || col.Adjusts() // bills may be lower than list prices
		for row, v := range c.rows.Values[col] {
			if finite := v-v == 0; finite && (signed || v >= 0) {
				continue
			}
			c.add("row %d (%s): %s is %v, not a finite amount of at least 0", row, c.set.Name(row), col, v)
			if c.full() {
				return
			}
		}
	}
	from, to := c.set.Window.Start.UnixMilli(), c.set.Window.End.UnixMilli()
	for row := range c.rows.Special {
		if start, end := c.rows.Start[row], c.rows.End[row]; start > end || start < from || end > to {
			c.add("row %d (%s): runs from %s to %s, not within the window", row, c.set.Name(row), c.set.Start(row).Format(time.RFC3339Nano), c.set.End(row).Format(time.RFC3339Nano))
		}
		c.checkBounds(row)
		c.checkUnknown(row)
		c.checkLevels(row)
		for r := range allocation.NumResources {
			if idle, cost := c.rows.Values[allocation.CostIdle.Of(r)][row], c.rows.Values[allocation.Cost.Of(r)][row]; exceeds(idle, cost) {
				c.add("row %d (%s): %s is %v, more than the cost of %v it is part of", row, c.set.Name(row), allocation.CostIdle.Of(r), idle, cost)
			}
		}
		if c.full() {
			return
		}
	}
}

// checkBounds verifies the running time of a row: one container runs no longer than the window, and the lower bound is not
// above the upper one.
func (c *checker) checkBounds(row int) {
	running, least, most := c.rows.Values[allocation.RunningSeconds][row], c.rows.Values[allocation.LeastSeconds][row], c.rows.Values[allocation.MostSeconds][row]
	if !c.set.Several(row) && exceeds(running, c.set.Window.Duration().Seconds()) {
		c.add("row %d (%s): one container runs for %v s in a window of %s", row, c.set.Name(row), running, c.set.Window.Duration())
	}
	if exceeds(least, most) {
		c.add("row %d (%s): %s is %v, more than the %v of %s", row, c.set.Name(row), allocation.LeastSeconds, least, most, allocation.MostSeconds)
	}
}

// checkUnknown verifies that usage is unknown for no more than the running time and the requests.
func (c *checker) checkUnknown(row int) {
	for r := range allocation.NumResources {
		for _, part := range [...]struct{ of, whole allocation.Column }{
			{allocation.UnknownSeconds.Of(r), allocation.RunningSeconds}, {allocation.UnknownRequestHours.Of(r), allocation.RequestHours.Of(r)},
		} {
			if unknown, whole := c.rows.Values[part.of][row], c.rows.Values[part.whole][row]; exceeds(unknown, whole) {
				c.add("row %d (%s): %s is %v, more than the %s of %v it is part of", row, c.set.Name(row), part.of, unknown, part.whole, whole)
			}
		}
	}
}

// checkLevels verifies that usage has a level for as long as it is known, where levels were computed. Sums may have parts without.
func (c *checker) checkLevels(row int) {
	for r := range c.rows.Levels {
		levels, time := c.rows.Levels[r].Row(row), 0.0
		for i, l := range levels {
			if time += float64(l.Millis) / 1000; l.Millis <= 0 || i > 0 && l.Bucket <= levels[i-1].Bucket {
				c.add("row %d (%s): level %d of %s usage is %d for %d ms, after %d", row, c.set.Name(row), i, allocation.Resource(r), l.Bucket, l.Millis, levels[max(i-1, 0)].Bucket)
			}
		}
		known := c.rows.Values[allocation.RunningSeconds][row] - c.rows.Values[allocation.UnknownSeconds.Of(allocation.Resource(r))][row]
		if exceeds(time, known) {
			c.add("row %d (%s): levels of %s usage are of %v s, more than the %v s of which it is known", row, c.set.Name(row), allocation.Resource(r), time, known)
		}
	}
}

// checkNames verifies that the rows of an aggregated set have different names.
func (c *checker) checkNames() {
	seen := make(map[string]int, len(c.rows.Names))
	for row, name := range c.rows.Names {
		if was, ok := seen[name]; ok {
			c.add("rows %d and %d: both are named %q", was, row, name)
		}
		seen[name] = row
	}
}

// checkNodes verifies each node on its own.
func (c *checker) checkNodes() {
	for i := range c.set.Nodes {
		n := &c.set.Nodes[i]
		for r := range allocation.NumResources {
			for what, v := range [...]float64{n.Hours[r], n.Cost[r], n.Idle[r]} {
				if v-v != 0 || v < 0 {
					c.add("cluster %q node %q: %s %s is %v, not a finite amount of at least 0", n.Cluster, n.Name, r, [...]string{"hours", "cost", "idle"}[what], v)
				}
			}
			if exceeds(n.Idle[r], n.Cost[r]) {
				c.add("cluster %q node %q: %s idle is %v of a cost of %v", n.Cluster, n.Name, r, n.Idle[r], n.Cost[r])
			}
		}
		if n.End.Before(n.Start) || n.Start.Before(c.set.Window.Start) || n.End.After(c.set.Window.End) {
			c.add("cluster %q node %q: lives from %s to %s, not within the window", n.Cluster, n.Name, n.Start.UTC().Format(time.RFC3339Nano), n.End.UTC().Format(time.RFC3339Nano))
		}
	}
}

// balance compares what was allocated and what was idle with what nodes cost.
type balance struct {
	allocated, idle, cost [allocation.NumResources]float64
}

// excess returns what was charged beyond the nodes' cost.
func (b *balance) excess(r allocation.Resource) float64 {
	return b.allocated[r] + b.idle[r] - b.cost[r]
}

// place is a node, or a cluster where node is empty.
type place struct{ cluster, node string }

// checkBase verifies that the cost of every node is either allocated or idle, and that what a cluster is charged beyond its
// nodes is its residual.
func (c *checker) checkBase() {
	nodes := c.balances()
	places := make([]place, 0, len(nodes))
	for at := range nodes {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.node, b.node))
	})
	residual := map[string][allocation.NumResources]float64{}
	for _, r := range c.set.Residuals {
		of := residual[r.Cluster]
		of[r.Resource] += r.Cost
		residual[r.Cluster] = of
	}
	clusters := map[string]*balance{}
	for _, at := range places {
		b, sum := nodes[at], clusters[at.cluster]
		if sum == nil {
			sum = &balance{}
			clusters[at.cluster] = sum
		}
		for r := range allocation.NumResources {
			charged, allowed := b.allocated[r]+b.idle[r], b.cost[r]+residual[at.cluster][r]
			if exceeds(b.cost[r], charged) || exceeds(charged, allowed) {
				c.add("cluster %q node %q: %s allocations of %v and idle of %v are not the node's cost of %v (residual of the cluster %v)", at.cluster, at.node, r, b.allocated[r], b.idle[r], b.cost[r], residual[at.cluster][r])
			}
			sum.allocated[r] += b.allocated[r]
			sum.idle[r] += b.idle[r]
			sum.cost[r] += b.cost[r]
		}
	}
	for i, at := range places {
		if i > 0 && places[i-1].cluster == at.cluster {
			continue
		}
		c.compare(fmt.Sprintf("cluster %q", at.cluster), clusters[at.cluster], residual[at.cluster])
	}
}

// balances sums rows and nodes by node.
func (c *checker) balances() map[place]*balance {
	of := map[place]*balance{}
	balanceOf := func(p place) *balance {
		b := of[p]
		if b == nil {
			b = &balance{}
			of[p] = b
		}
		return b
	}
	for i := range c.set.Nodes {
		n := &c.set.Nodes[i]
		b := balanceOf(place{n.Cluster, n.Name})
		for r := range allocation.NumResources {
			b.cost[r] += n.Cost[r]
			b.idle[r] += n.Idle[r]
		}
	}
	byID := map[idleKey]*balance{}
	for row := range c.rows.Special {
		key := idleKey{c.rows.IDs[allocation.Cluster][row], c.rows.IDs[allocation.NodeName][row]}
		b := byID[key]
		if b == nil {
			b = balanceOf(place{c.rows.Dict.Text(key.cluster), c.rows.Dict.Text(key.node)})
			byID[key] = b
		}
		for r := range allocation.NumResources {
			b.allocated[r] += c.rows.Values[allocation.Cost.Of(r)][row] - c.rows.Values[allocation.CostIdle.Of(r)][row]
		}
	}
	return of
}

// compare verifies that the charge beyond the nodes' cost is the residual.
func (c *checker) compare(where string, b *balance, residual [allocation.NumResources]float64) {
	for r := range allocation.NumResources {
		if differ(b.allocated[r]+b.idle[r], b.cost[r]+residual[r]) {
			c.add("%s: %s allocations of %v and idle of %v exceed the nodes' cost of %v by %v, the residual is %v", where, r, b.allocated[r], b.idle[r], b.cost[r], b.excess(r), residual[r])
		}
	}
}

// exceeds reports whether a is above b by more than the tolerance. NaN means unknown and exceeds nothing.
func exceeds(a, b float64) bool { return a-b > tolerance*max(math.Abs(a), math.Abs(b), least) }

// differ reports whether a and b differ by more than the tolerance.
func differ(a, b float64) bool { return exceeds(a, b) || exceeds(b, a) }
