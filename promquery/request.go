package promquery

import "time"

// Request is one request of a Select, or one block that it read.
type Request struct {
	Took   time.Duration // until the answer was read, with the time of yield
	Again  bool          // repeats a failed request
	Failed bool          // a request that the caller gave up has not failed
	Bytes  int64         // bytes of the answer, as far as it came
	Of     []Portion     // which selectors the bytes are for, at least one: they sum up to Bytes
}

// Portion is a selector's part of a request.
type Portion struct {
	Selector int // its index in the Select
	Bytes    int64
}

// NewPortions divides bytes among selectors by weights. If the weights sum up to nothing, the first selector has all bytes.
func NewPortions(bytes int64, selectors []int, weights []int64) []Portion {
	of := make([]Portion, len(selectors))
	for i, part := range apportion(bytes, weights) {
		of[i] = Portion{selectors[i], part}
	}
	return of
}

// apportion divides total by weights into parts that sum up to it. If all weights are 0, the first part is the total.
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

// Spread replaces all requests by n equal ones of the given duration, for a source that reads n files side by side. Each has an
// equal part of the time and of each selector's bytes. If n is 0, there are no requests.
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

// renumber translates selector indexes of a Select of some selectors into indexes among all; of maps them.
func (s *Stats) renumber(of []int) {
	for i := range s.Sent {
		for k := range s.Sent[i].Of {
			p := &s.Sent[i].Of[k]
			p.Selector = of[p.Selector]
		}
	}
}
