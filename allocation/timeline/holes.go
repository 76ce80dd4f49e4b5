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
	stride := holeStride
	for k := 0; k+1 < s.n; {
		from, _ := s.at(p, k)
		far := k
		for ; stride > 1; stride /= 2 { // the longest that has no hole in it
			far = min(k+stride, s.n-1)
			if to, _ := s.at(p, far); to-from < least {
				break
			}
		}
		if stride > 1 {
			k = far
			continue
		}
		if to, _ := s.at(p, k+1); to-from >= least {
			dst = append(dst, Interval{From: from, To: to})
		}
		k, stride = k+1, holeStride
	}
	return dst
}
