package promquery

import "time"

// Request is one request that a Select sent, or one block that it read.
type Request struct {
	Took   time.Duration // until its answer was read, what yield took meanwhile included
	Again  bool          // it repeats one that failed
	Failed bool          // that the caller gave up is no failure
	Bytes  int64         // of the answer, as far as it came
	Of     []Portion     // whom the bytes are for, at least one: they sum up to Bytes
}

// Portion is a selector's part of a request.
type Portion struct {
	Selector int // its place in the Select
	Bytes    int64
}

// NewPortions are the parts of so many bytes that selectors have, by weights that sum up to something; where they do not,
// the first one has all.
func NewPortions(bytes int64, selectors []int, weights []int64) []Portion {
	of := make([]Portion, len(selectors))
	for i, part := range apportion(bytes, weights) {
		of[i] = Portion{selectors[i], part}
	}
	return of
}

// apportion divides total by weights into parts that sum up to it. Without any weight the first one has all.
func apportion(total int64, weights []int64) []int64 {
	parts, sum := make([]int64, len(weights)), int64(0)
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		parts[0] = total
		return parts
	}
	seen, given := int64(0), int64(0)
	for i, w := range weights {
		if w > 0 {
			seen += w
			upTo := total
			if seen < sum {
				upTo = int64(float64(total) * (float64(seen) / float64(sum)))
			}
			parts[i], given = upTo-given, upTo
		}
	}
	return parts
}

// Ask counts a request.
func (s *Stats) Ask(r Request) {
	s.Requests++
	s.Bytes += r.Bytes
	s.Sent = append(s.Sent, r)
}

// Spread makes n requests of all that were sent in took, for those who read n files side by side: each has an equal part
// of the time and of what there was for each selector. No requests are none, whatever was sent.
func (s *Stats) Spread(n int, took time.Duration) {
	bytes := map[int]int64{}
	var selectors []int
	for _, r := range s.Sent {
		for _, of := range r.Of {
			if _, ok := bytes[of.Selector]; !ok {
				selectors = append(selectors, of.Selector)
			}
			bytes[of.Selector] += of.Bytes
		}
	}
	if len(selectors) == 0 {
		selectors = []int{0}
	}
	equal := make([]int64, n)
	for i := range equal {
		equal[i] = 1
	}
	s.Requests, s.Sent = int64(n), make([]Request, n)
	if n == 0 {
		return
	}
	for k, part := range apportion(int64(took), equal) {
		s.Sent[k].Took = time.Duration(part)
	}
	for _, i := range selectors {
		for k, part := range apportion(bytes[i], equal) {
			s.Sent[k].Of = append(s.Sent[k].Of, Portion{i, part})
			s.Sent[k].Bytes += part
		}
	}
}

// renumber makes places among some of the selectors, as Select was given them, places among all; of are those.
func (s *Stats) renumber(of []int) {
	for i := range s.Sent {
		for k := range s.Sent[i].Of {
			p := &s.Sent[i].Of[k]
			p.Selector = of[p.Selector]
		}
	}
}
