package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// sum gives the rows what adds: their columns, the time that they span, and their shares.
func (m *merger) sum() {
	m.columns()
	m.times()
	m.Volumes = sumShares(m, func(t *allocation.Table) *allocation.Shares[allocation.VolumeShare] { return &t.Volumes }, m.Dict.CompareVolumes, (*allocation.VolumeShare).Add)
	m.Balancers = sumShares(m, func(t *allocation.Table) *allocation.Shares[allocation.LoadBalancerShare] { return &t.Balancers }, m.Dict.CompareBalancers, (*allocation.LoadBalancerShare).Add)
	m.levels()
	m.Parts = sumShares(m, func(t *allocation.Table) *allocation.Shares[allocation.SharedPart] { return &t.Parts }, compareParts(m.Dict), addPart)
	m.Portions = sumShares(m, func(t *allocation.Table) *allocation.Shares[allocation.Portion] { return &t.Portions }, comparePortions(m.Dict), addPortion)
}

// columnsAtOnce is how many columns are summed in one loop, so that their sums do not wait for each other.
const columnsAtOnce = 4

// columns sums the columns, a few at a time, and takes the maxima. Columns that are 0 in all rows are skipped and share one
// slice.
func (m *merger) columns() {
	used := m.usedColumns()
	// One more element for dropped rows saves a branch for each value. One more column takes what fills up a loop.
	slab := make([]float64, (len(used)+2)*(m.n+1))
	column := func(k int) []float64 { return slab[k*(m.n+1) : (k+1)*(m.n+1)] }
	m.Zero = column(len(used))[:m.n:m.n]
	for c := range m.Values {
		if !m.Unread.Columns[c] {
			m.Values[c] = m.Zero
		}
	}
	for k, c := range used {
		m.Values[c] = column(k)
	}
	filler := column(len(used) + 1)
	for _, p := range m.from {
		skip := p.trim(int32(m.n))
		var to, from [columnsAtOnce][]float64
		n := 0
		for _, c := range used {
			src := p.Values[c][skip:]
			switch {
			case p.AllZero(c):
				continue
			case c.Maximum():
				maxInto(m.Values[c], src, &p)
				continue
			}
			to[n], from[n] = m.Values[c], src
			if n++; n == columnsAtOnce {
				addColumns(&to, &from, &p)
				n = 0
			}
		}
		if n > 0 {
			for k := n; k < columnsAtOnce; k++ {
				to[k], from[k] = filler, from[0]
			}
			addColumns(&to, &from, &p)
		}
	}
	for _, c := range used {
		m.Values[c] = m.Values[c][:m.n:m.n]
	}
}

// usedColumns returns the columns that were read and are not 0 in all rows of the operands.
func (m *merger) usedColumns() (used []allocation.Column) {
	for c := range allocation.NumColumns {
		if !m.Unread.Columns[c] && slices.ContainsFunc(m.from, func(p operand) bool { return !p.IsZero(c) }) {
			used = append(used, c)
		}
	}
	return used
}

// trim cuts dropped rows off both ends and returns how many it cut off the front: rows are sorted, so the rows that a filter
// keeps are often adjacent.
func (p *operand) trim(dropped int32) (from int) {
	for from < len(p.group) && p.group[from] == dropped {
		from++
	}
	*p = p.after(from)
	for len(p.runs) > 0 && p.group[p.runs[len(p.runs)-1]-1] == dropped {
		p.runs = p.runs[:len(p.runs)-1]
	}
	if p.group = p.group[:0]; len(p.runs) > 0 {
		p.group = p.group[:p.runs[len(p.runs)-1]]
	}
	return from
}

// after returns the operand from a row on.
func (p operand) after(row int) operand {
	if row == 0 {
		return p
	}
	p.group = p.group[row:]
	i, inside := slices.BinarySearch(p.runs, int32(row))
	if inside {
		i++ // this run has no rows left
	}
	runs := make([]int32, 0, len(p.runs)-i)
	for _, end := range p.runs[i:] {
		runs = append(runs, end-int32(row))
	}
	p.runs = runs
	return p
}

func maxInto(dst, src []float64, p *operand) {
	src = src[:len(p.group)]
	for i, g := range p.group {
		dst[g] = max(dst[g], src[i])
	}
}

// longRun is the average number of adjacent rows of one group from which on rows are summed run by run. A run is summed in
// registers; rows summed one by one wait for each other's sums in memory.
const longRun = 8

// addColumns adds the rows of some columns to the rows of their groups.
func addColumns(dst, src *[columnsAtOnce][]float64, p *operand) {
	n := len(p.group)
	a, b, c, d := src[0][:n], src[1][:n], src[2][:n], src[3][:n]
	toA, toB, toC, toD := dst[0], dst[1], dst[2], dst[3]
	if len(p.group) < longRun*len(p.runs) {
		for i, g := range p.group {
			toA[g] += a[i]
			toB[g] += b[i]
			toC[g] += c[i]
			toD[g] += d[i]
		}
		return
	}
	from := int32(0)
	for _, to := range p.runs {
		g := p.group[from]
		sumA, sumB, sumC, sumD := toA[g], toB[g], toC[g], toD[g]
		runA := a[from:to]
		runB, runC, runD := b[from:to][:len(runA)], c[from:to][:len(runA)], d[from:to][:len(runA)]
		for i, v := range runA {
			sumA += v
			sumB += runB[i]
			sumC += runC[i]
			sumD += runD[i]
		}
		toA[g], toB[g], toC[g], toD[g], from = sumA, sumB, sumC, sumD, to
	}
}

// times gives each row the first start and the last end of the rows merged into it.
func (m *merger) times() {
	m.Start, m.End = make([]int64, m.n+1), make([]int64, m.n+1)
	seen := make([]bool, m.n+1)
	for _, p := range m.from {
		from := int32(0)
		for _, to := range p.runs {
			g, starts := p.group[from], p.Start[from:to]
			ends := p.End[from:to][:len(starts)]
			start, end := starts[0], ends[0]
			for i, t := range starts {
				start, end = min(start, t), max(end, ends[i])
			}
			if seen[g] {
				start, end = min(start, m.Start[g]), max(end, m.End[g])
			}
			m.Start[g], m.End[g], seen[g], from = start, end, true, to
		}
	}
	m.Start, m.End = m.Start[:m.n:m.n], m.End[:m.n:m.n]
}

// sumShares sums the shares of merged rows. of returns the shares of a table.
func sumShares[T any](m *merger, sharesOf func(*allocation.Table) *allocation.Shares[T], compare func(a, b *T) int, add func(to, from *T)) allocation.Shares[T] {
	var list []allocation.RowShare[T]
	for _, p := range m.from {
		shares := sharesOf(p.Table)
		if len(shares.List) == 0 {
			continue
		}
		list = slices.Grow(list, len(shares.List))
		for row, g := range p.group {
			if int(g) == m.n {
				continue
			}
			for _, share := range shares.Row(row) {
				list = append(list, allocation.RowShare[T]{Row: g, Share: share})
			}
		}
	}
	return allocation.MergeShares(list, compare, add)
}

// levels sums the levels of usage of merged rows.
func (m *merger) levels() {
	for r := range m.Levels {
		var list []allocation.RowShare[allocation.Level]
		for _, p := range m.from {
			levels := &p.Levels[r]
			list = slices.Grow(list, len(levels.List))
			for row, g := range p.group {
				if int(g) == m.n {
					continue
				}
				for _, l := range levels.Row(row) {
					list = append(list, allocation.RowShare[allocation.Level]{Row: g, Share: l})
				}
			}
		}
		m.Levels[r] = allocation.MergeLevels(m.n, list)
	}
}

func compareParts(d *allocation.Dict) func(a, b *allocation.SharedPart) int {
	return func(a, b *allocation.SharedPart) int { return d.Compare(a.Name, b.Name) }
}

func addPart(to, from *allocation.SharedPart) { to.Cost.Add(&from.Cost) }
