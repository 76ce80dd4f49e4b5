package timeline

// Copies are copies of several Points, one after the other in memory, so that they are fast to read in their order. The zero value has
// none.
type Copies struct {
	points []Points
	t      []int64
	v      []float64
	spans  []span
}

// Add adds a copy of p, which shares no memory with it.
func (c *Copies) Add(p *Points) {
	first, begin := len(c.spans), len(c.t)
	c.spans = append(c.spans, p.spans...)
	for i := first; i < len(c.spans); i++ {
		if s := &c.spans[i]; !s.run {
			from := s.off
			s.off = len(c.t) - begin
			c.t, c.v = append(c.t, p.t[from:][:s.n]...), append(c.v, p.v[from:][:s.n]...)
		}
	}
	copied := *p // growing leaves what was added before where it is
	copied.t, copied.v, copied.spans = c.t[begin:len(c.t):len(c.t)], c.v[begin:len(c.v):len(c.v)], c.spans[first:len(c.spans):len(c.spans)]
	c.points = append(c.points, copied)
}

// Room is the number of samples that the copies have, beside runs.
func (c *Copies) Room() int { return len(c.t) }

// At is the i-th copy. It is valid until Reset.
func (c *Copies) At(i int) *Points { return &c.points[i] }

// Reset removes all copies. It keeps their memory for others, unless that is for more samples than most, beside runs.
func (c *Copies) Reset(most int) {
	if cap(c.t) > most {
		c.t, c.v = nil, nil
	}
	clear(c.points) // those added before others needed more memory hold on to the old one
	c.points, c.t, c.v, c.spans = c.points[:0], c.t[:0], c.v[:0], c.spans[:0]
}
