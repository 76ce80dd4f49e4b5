package passes

import "slices"

// longRun is the average number of adjacent rows of one group from which on rows are summed run by run. A run is summed in
// registers; rows summed one by one wait for each other's sums in memory.
const longRun = 8

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

// find finds the runs of rows of one group, and the first row of each of n groups.
func (m *workspace) find(operands []operand, n int) {
	m.runs = m.runs[:0]
	for i := range operands {
		p := &operands[i]
		if p.runs == nil {
			from := len(m.runs)
			for row := 1; row < len(p.group); row++ {
				if p.group[row] != p.group[row-1] {
					m.runs = append(m.runs, int32(row))
				}
			}
			if len(p.group) > 0 {
				m.runs = append(m.runs, int32(len(p.group)))
			}
			p.runs = m.runs[from:len(m.runs):len(m.runs)]
		}
		if len(p.set.Table().NoID) > 0 {
			p.first = p.firsts(n + 1)
		}
	}
}

// long reports whether the rows are summed run by run.
func (p *operand) long() bool { return len(p.group) >= longRun*len(p.runs) }

// touch writes to every page of zeroed memory. A fresh page that is read first is mapped a second time by the first write,
// which interrupts the other processors.
func touch(zeros []float64) {
	for i := 0; i < len(zeros); i += 512 {
		zeros[i] = 0
	}
}

func maxInto(dst, src []float64, p *operand) {
	src = src[:len(p.group)]
	if !p.long() {
		for i, g := range p.group {
			dst[g] = max(dst[g], src[i])
		}
		return
	}
	from := int32(0)
	for _, to := range p.runs {
		g := p.group[from]
		most := dst[g]
		for _, v := range src[from:to] {
			most = max(most, v)
		}
		dst[g], from = most, to
	}
}

func addInto(dst, src []float64, p *operand) {
	src = src[:len(p.group)]
	if !p.long() {
		for i, g := range p.group {
			dst[g] += src[i]
		}
		return
	}
	from := int32(0)
	for _, to := range p.runs {
		g := p.group[from]
		sum := dst[g]
		for _, v := range src[from:to] {
			sum += v
		}
		dst[g], from = sum, to
	}
}

// addColumns is addInto for several columns.
func addColumns(dst, src *[columnsAtOnce][]float64, p *operand) {
	n := len(p.group)
	a, b, c, d := src[0][:n], src[1][:n], src[2][:n], src[3][:n]
	toA, toB, toC, toD := dst[0], dst[1], dst[2], dst[3]
	if !p.long() {
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
