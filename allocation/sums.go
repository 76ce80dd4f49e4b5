package allocation

// longRun is how many rows of one group follow each other on average for them to be summed run by run: a run is summed in
// registers, while rows that are summed one by one wait for each other's sums to be stored and loaded.
const longRun = 8

// trim leaves out the rows before the first and after the last that is not dropped, and returns how many come before them: kept
// rows are sorted, so a filter often leaves some that lie side by side.
func (p *part) trim(dropped int32) (from int) {
	to := len(p.group)
	for from < to && p.group[from] == dropped {
		from++
	}
	for to > from && p.group[to-1] == dropped {
		to--
	}
	p.group = p.group[from:to]
	return from
}

// findRuns finds the runs of rows of one group.
func (p *part) findRuns() {
	n := 0
	for i, g := range p.group {
		if i > 0 && g != p.group[i-1] {
			n++
		}
	}
	if len(p.group) == 0 || len(p.group) < longRun*(n+1) {
		return
	}
	p.runs = make([]int32, 0, n+1)
	for i, g := range p.group {
		if i > 0 && g != p.group[i-1] {
			p.runs = append(p.runs, int32(i))
		}
	}
	p.runs = append(p.runs, int32(len(p.group)))
}

// touch writes to all pages of memory that is all zeros. What is fresh would be mapped a second time where it is read before it
// is written to, as what is summed in is, and that interrupts the other processors.
func touch(zeros []float64) {
	for i := 0; i < len(zeros); i += 512 {
		zeros[i] = 0
	}
}

func maxInto(dst, src []float64, p *part) {
	src = src[:len(p.group)]
	if p.runs == nil {
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

func addInto(dst, src []float64, p *part) {
	src = src[:len(p.group)]
	if p.runs == nil {
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

// addLanes is addInto of some columns.
func addLanes(dst, src *[lanes][]float64, p *part) {
	n := len(p.group)
	a, b, c, d := src[0][:n], src[1][:n], src[2][:n], src[3][:n]
	toA, toB, toC, toD := dst[0], dst[1], dst[2], dst[3]
	if p.runs == nil {
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
