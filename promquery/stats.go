package promquery

import "time"

// Stats is what answering requests took, and what is known to be missing from the answer.
type Stats struct {
	Requests int64 // requests sent to a server, or blocks opened
	Series   int64 // series handed over
	Samples  int64 // samples handed over
	Bytes    int64 // bytes received, or chunk bytes read
	// Sent are the requests sent, Requests of them. All Bytes belong to them.
	Sent []Sent
	// Warnings name missing data (a block that cannot be opened, a partial answer), each with its place and the remedy.
	Warnings []string
	// Losses are the parts that could not be read, each once.
	Losses []Loss
	// Damaged says that the source has data that it could not read.
	Damaged bool
}

// Count counts a series of so many samples. A series without samples does not count.
func (s *Stats) Count(samples int64) {
	if samples > 0 {
		s.Series++
		s.Samples += samples
	}
}

// Add adds o to s.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.Series += o.Series
	s.Samples += o.Samples
	s.Bytes += o.Bytes
	s.Sent = append(s.Sent, o.Sent...)
	s.Warnings = append(s.Warnings, o.Warnings...)
	for i := range o.Losses {
		s.Lose(o.Losses[i])
	}
	s.Damaged = s.Damaged || o.Damaged
}

// Sent is one request that a source sent to its server, or one block that it read.
type Sent struct {
	Took   time.Duration // until the answer was read, including what the caller did with its series meanwhile
	Again  bool          // repeats a failed request
	Failed bool          // a request that the caller gave up has not failed
	Bytes  int64         // bytes of the answer, as far as it came
	Of     []Portion     // which requests of the Select the bytes are for, at least one: they sum up to Bytes
}

// Portion is the part of the bytes that is for one request of the Select.
type Portion struct {
	Request int // its index in the Select
	Bytes   int64
}

// NewPortions divides bytes among requests by weights. If the weights sum up to nothing, the first request has all bytes.
func NewPortions(bytes int64, requests []int, weights []int64) []Portion {
	of := make([]Portion, len(requests))
	for i, part := range apportion(bytes, weights) {
		of[i] = Portion{requests[i], part}
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
	passed, given := int64(0), int64(0)
	for i, w := range weights {
		if w > 0 {
			passed += w
			upTo := total
			if passed < sum {
				upTo = int64(float64(total) * (float64(passed) / float64(sum)))
			}
			parts[i], given = upTo-given, upTo
		}
	}
	return parts
}

// Ask counts a request.
func (s *Stats) Ask(r Sent) {
	s.Requests++
	s.Bytes += r.Bytes
	s.Sent = append(s.Sent, r)
}

// Spread replaces all requests by n equal ones of the given duration, for a source that reads n files side by side. Each has an
// equal part of the time and of each request's bytes. If n is 0, there are no requests.
func (s *Stats) Spread(n int, took time.Duration) {
	bytes := map[int]int64{}
	var requests []int
	for _, r := range s.Sent {
		for _, of := range r.Of {
			if _, ok := bytes[of.Request]; !ok {
				requests = append(requests, of.Request)
			}
			bytes[of.Request] += of.Bytes
		}
	}
	if len(requests) == 0 {
		requests = []int{0}
	}
	equal := make([]int64, n)
	for i := range equal {
		equal[i] = 1
	}
	s.Requests, s.Sent = int64(n), make([]Sent, n)
	if n == 0 {
		return
	}
	for k, part := range apportion(int64(took), equal) {
		s.Sent[k].Took = time.Duration(part)
	}
	for _, i := range requests {
		for k, part := range apportion(bytes[i], equal) {
			s.Sent[k].Of = append(s.Sent[k].Of, Portion{i, part})
			s.Sent[k].Bytes += part
		}
	}
}

// renumber translates indexes of a Select of some requests into indexes among all; of maps them.
func (s *Stats) renumber(of []int) {
	for i := range s.Sent {
		for k := range s.Sent[i].Of {
			p := &s.Sent[i].Of[k]
			p.Request = of[p.Request]
		}
	}
}
