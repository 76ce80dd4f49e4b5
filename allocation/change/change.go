package change

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

// separator is between the values of keys in names: no value contains it.
const separator = '\x1f'

// Levels are the keys that rows of an answer are named by.
type Levels struct {
	Keys  []allocation.Key // of the rows; there is at least one
	Parts []allocation.Key // of the parts of a row, without its keys; none for no parts
	// Owners are the keys that say whose a unit is: of its owner, then of its team. None, and rows have neither.
	Owners []allocation.Key
}

// Options returns the options of the passes whose sets Explain takes: one set for each window.
func (l Levels) Options(o passes.Options) passes.Options {
	o.Aggregate = slices.Concat(l.Keys, l.Parts, allocation.UnitKeys(), l.Owners)
	o.Separator, o.EvenKeys = separator, len(l.Keys)
	o.Accumulate = allocation.All
	return o
}

// StepOptions turns the options that Options returned into those of passes whose sets say what rows and parts cost in each of several steps. Named takes the
// names of their rows apart.
func (l Levels) StepOptions(o passes.Options) passes.Options {
	o.Aggregate = o.Aggregate[:len(l.Keys)+len(l.Parts)]
	o.Accumulate = allocation.NoPeriod
	return o
}

// Needs returns what Explain looks at.
func Needs() *allocation.Projection {
	columns := append(allocation.MoneyColumns(), allocation.RunningSeconds)
	for r := range allocation.NumResources {
		columns = append(columns, allocation.CostIdle.Of(r), allocation.Hours.Of(r), allocation.RequestHours.Of(r))
	}
	return allocation.Union(allocation.OfRows(nil, columns...), fields.ErrorBoundsNeeds())
}

// Side is one of the two windows.
type Side struct {
	Set     *allocation.Set   // which passes with Levels.Options made
	Covered coverage.Coverage // how much of the window has data
}

// hours are the hours of a cluster that have data; of no cluster, or of one without any, those of all clusters, and without any data those of
// the window.
func (s *Side) hours(cluster string) float64 {
	for _, c := range s.Covered.Clusters {
		if c.Name == cluster && c.Hours > 0 {
			return c.Hours
		}
	}
	return cmp.Or(s.Covered.Hours, s.Covered.Window)
}

// Comparable reports whether both windows have data enough for rates to be compared. Else text says which does not, such as "17 of 175 h have
// data".
func Comparable(baseline, current Side) (text string, ok bool) {
	return coverage.Comparable(&baseline.Covered, &current.Covered)
}

// Relative returns how much a cost changed for each hour that has data, relative to the baseline: 0.5 is half as much again. ok is false where the windows
// are not Comparable, or where there was no cost before.
func (r *Row) Relative(baseline, current Side) (ratio float64, ok bool) {
	return coverage.Relative(r.Baseline, &baseline.Covered, r.Cost, &current.Covered)
}

// MaxParts is the most parts of a row that Explain returns.
const MaxParts = 10

// Explain returns the rows of both windows with their effects, those that changed most first, and the total. It fails if data that
// it needs was not read, and for a window without length.
func Explain(baseline, current Side, l Levels) (rows []Row, total Row, err error) {
	sides := [2]Side{baseline, current}
	var instances []instance
	for i := range sides {
		if !(sides[i].Covered.Window > 0) {
			return nil, total, fmt.Errorf("explain the change: a window is %v hours long: give windows that have begun", sides[i].Covered.Window)
		}
		if err := sides[i].Set.Require(Needs()); err != nil {
			return nil, total, fmt.Errorf("explain the change: %w", err)
		}
		for row := range sides[i].Set.Len() {
			instances = append(instances, l.instance(sides[i].Set, row, i))
		}
	}
	slices.SortStableFunc(instances, func(a, b instance) int {
		return cmp.Or(strings.Compare(a.row, b.row), strings.Compare(a.part, b.part), strings.Compare(a.unit, b.unit), strings.Compare(a.class, b.class))
	})
	var sum spread
	for ofRow := range runsBy(instances, func(x *instance) string { return x.row }) {
		var whole spread
		row := Row{Name: ofRow[0].row}
		for ofPart := range runsBy(ofRow, func(x *instance) string { return x.part }) {
			var part spread
			for ofUnit := range runsBy(ofPart, func(x *instance) string { return x.unit }) {
				part.addUnit(ofUnit, sides)
			}
			if len(l.Parts) > 0 && ofPart[0].unit != "" {
				row.Parts = append(row.Parts, part.row(ofPart[0].part, sides).owned(ofPart))
			}
			whole.add(&part)
		}
		parts := row.Parts
		row = whole.row(row.Name, sides).owned(ofRow)
		row.Parts = largest(parts)
		rows = append(rows, row)
		sum.add(&whole)
	}
	sortBySize(rows)
	return rows, sum.row("", sides), nil
}

// instance is a row of a set: a unit on a class of nodes in one window.
type instance struct {
	row, part, unit, class string
	owner, team            string
	set                    *allocation.Set
	at                     int // its row in the set
	side                   int // 0 is the baseline
}

// instance takes the name of a row apart. Rows that passes add, such as idle, have a name of their own and no unit.
func (l Levels) instance(s *allocation.Set, row, side int) instance {
	name := s.Name(row)
	values := strings.Split(name, string(rune(separator)))
	x := instance{row: name, set: s, at: row, side: side}
	if n := len(l.Keys); len(values) == n+len(l.Parts)+len(allocation.UnitKeys())+len(l.Owners) {
		last := len(values) - 1 - len(l.Owners)
		if len(l.Owners) > 0 {
			x.owner, x.team = values[last+1], values[last+2]
		}
		x.row, x.part = strings.Join(values[:n], "/"), strings.Join(values[n:n+len(l.Parts)], "/")
		x.unit, x.class = strings.Join(values[n+len(l.Parts):last], string(rune(separator))), values[last]
	}
	return x
}

// runsBy yields, one after the other, the instances that follow each other with the same key.
func runsBy(list []instance, key func(*instance) string) func(yield func([]instance) bool) {
	return func(yield func([]instance) bool) {
		for len(list) > 0 {
			n := 1
			for n < len(list) && key(&list[n]) == key(&list[0]) {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// spread is what is summed over units.
type spread struct {
	effects Effects
	costs   [2]float64
	bounded [2]bounded
	ran     [2]ran
}

// bounded is the cost of CPU, RAM and GPUs that error bounds hold for, and the running times that they follow from.
type bounded struct{ cost, running, least, most float64 }

func (s *spread) add(other *spread) {
	s.effects.add(&other.effects)
	for i := range s.costs {
		s.costs[i] += other.costs[i]
		s.ran[i].add(&other.ran[i])
		b, o := &s.bounded[i], &other.bounded[i]
		b.cost, b.running, b.least, b.most = b.cost+o.cost, b.running+o.running, b.least+o.least, b.most+o.most
	}
}

// row is the answer for what was summed.
func (s *spread) row(name string, sides [2]Side) Row {
	return Row{
		Name: name, Baseline: s.costs[0], Cost: s.costs[1], Effects: s.effects, WithinBounds: s.withinBounds(sides),
		Before: s.ran[0].amounts(), After: s.ran[1].amounts(),
	}
}

// owned returns the row with whose its instances are.
func (r Row) owned(list []instance) Row {
	r.Owner = leading(list, func(x *instance) string { return x.owner })
	r.Team = leading(list, func(x *instance) string { return x.team })
	return r
}

// withinBounds reports whether the true costs may be equal: whether [C1/u1 − C0/l0, C1/l1 − C0/u0] plus what has no bounds
// contains 0. l and u are the factors of fields.ErrorBounds.
func (s *spread) withinBounds(sides [2]Side) bool {
	var low, high [2]float64
	exact := s.costs[1] - s.costs[0]
	for i, b := range s.bounded {
		exact -= (float64(i)*2 - 1) * b.cost
		low[i], high[i] = b.interval(sides[i].Set)
	}
	const slack = 1e-9
	size := slack * (math.Abs(s.costs[0]) + math.Abs(s.costs[1]))
	return low[1]-high[0]+exact <= size && high[1]-low[0]+exact >= -size
}

// interval is where the true cost lies: [C/u, C/l].
func (b *bounded) interval(s *allocation.Set) (low, high float64) {
	lower, upper, ok := fields.Bounds(b.running, b.least, b.most, s.Resolution)
	switch {
	case !ok || b.cost == 0:
		return b.cost, b.cost
	case !math.IsNaN(upper):
		low = b.cost / upper
	}
	if high = math.Inf(1); lower > 0 {
		high = b.cost / lower
	}
	return low, high
}

// largest returns the parts that changed most.
func largest(parts []Row) []Row {
	sortBySize(parts)
	return parts[:min(len(parts), MaxParts)]
}

// sortBySize sorts rows by how much they changed, the largest first, then by name.
func sortBySize(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change()), math.Abs(a.Change())), strings.Compare(a.Name, b.Name))
	})
}
