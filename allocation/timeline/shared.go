package timeline

import "math"

// Shared lets equal Steps share memory: objects that ran for all of a window and had the same value mostly have the same. It remembers
// some of the Steps that it saw last. Whoever gets Steps from it must not change them in place. The zero value is ready.
type Shared struct {
	recent  [1 << 12]Steps
	single  [1 << 12]Ranked // of recent ones, or of some before them
	scratch Steps
}

// Sights is Sampling.Sights.
func (s *Shared) Sights(of Sampling, p *Points) Steps {
	s.scratch = of.appendSights(s.scratch[:0], p)
	return s.Of(s.scratch)
}

// Reports is Sampling.Reports.
func (s *Shared) Reports(of Sampling, p *Points) Steps {
	s.scratch = of.appendReports(s.scratch[:0], p)
	return s.Of(s.scratch)
}

// Steps is Sampling.Steps.
func (s *Shared) Steps(of Sampling, p *Points) Steps {
	s.scratch = of.appendSteps(s.scratch[:0], p)
	return s.Of(s.scratch)
}

// Holding is Sampling.Holding.
func (s *Shared) Holding(of Sampling, sights Steps) Steps {
	s.scratch = of.Holding(s.scratch, sights)
	return s.Of(s.scratch)
}

// Max is the function Max.
func (s *Shared) Max(a, b Steps) Steps {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	s.scratch = appendCombined(s.scratch[:0], a, b, larger)
	return s.Of(s.scratch)
}

// Add is Ranked.Add. What has one alternative only is shared, too.
func (s *Shared) Add(to *Ranked, rank int, steps Steps) {
	if len(*to) > 0 || len(steps) == 0 {
		to.add(rank, steps, s.Max)
		return
	}
	i := s.find(steps)
	if have := s.recent[i]; len(s.single[i]) != rank+1 || &s.single[i][rank][0] != &have[0] {
		s.single[i] = append(make(Ranked, rank, rank+1), have)
	}
	*to = s.single[i]
}

// Of returns steps, or Steps that are equal to them. They take no more memory than they need.
func (s *Shared) Of(steps Steps) Steps {
	if len(steps) == 0 {
		return nil
	}
	return s.recent[s.find(steps)]
}

// find is the place of steps, which are not empty, in recent. It puts them there.
func (s *Shared) find(steps Steps) int {
	hash := uint64(len(steps))
	for i := range steps {
		x := &steps[i]
		for _, v := range [...]uint64{uint64(x.From), uint64(x.To), math.Float64bits(x.V)} {
			hash = (hash ^ v) * 0x9e3779b97f4a7c15
			hash ^= hash >> 32
		}
	}
	at := int(hash % uint64(len(s.recent)))
	if have := &s.recent[at]; !have.same(steps) {
		*have = append(make(Steps, 0, len(steps)), steps...)
	}
	return at
}

// same reports whether s and o are equal to the bit.
func (s Steps) same(o Steps) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i].From != o[i].From || s[i].To != o[i].To || math.Float64bits(s[i].V) != math.Float64bits(o[i].V) {
			return false
		}
	}
	return true
}
