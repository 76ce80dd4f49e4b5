package timeline

// holeStride is how many samples Holes skips at a time: no two of them are further apart than the first and the last.
const holeStride = 16

// Holes appends to dst the intervals of at least so many milliseconds between neighboring samples. It reads few samples
// unless they are far apart.
func (p *Points) Holes(dst Intervals, least int64) Intervals {
	if p.n == 0 || p.Last()-p.First() < least {
		return dst
	}
	prev := p.First()
	for i := range p.spans {
		s := &p.spans[i]
		first, last := s.first, s.last(p)
		if !s.run {
			first = p.t[s.off]
		}
		if first-prev >= least {
			dst = append(dst, Interval{From: prev, To: first})
		}
		prev = last
		if (s.run || s.level) && s.step < least {
			continue
		}
		if last-first >= least {
			dst = p.holesOf(dst, s, least)
		}
	}
	return dst
}

// holesOf are the holes within a span.
func (p *Points) holesOf(dst Intervals, s *span, least int64) Intervals {
	if s.run { // its samples are as far apart as that
		for k := range int64(s.n - 1) {
			dst = append(dst, Interval{From: s.first + k*s.step, To: s.first + (k+1)*s.step})
		}
		return dst
	}
	t, stride := p.t[s.off:][:s.n], holeStride
	for k := 0; k+1 < len(t); {
		for k+stride < len(t) && t[k+stride]-t[k] < least { // no hole in between
			k += stride
		}
		if stride > 1 {
			stride /= 2
			continue
		}
		if k+1 < len(t) {
			dst = append(dst, Interval{From: t[k], To: t[k+1]})
			k, stride = k+1, holeStride
		}
	}
	return dst
}
