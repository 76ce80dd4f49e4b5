package remote

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/promcost/promcost/promquery/chunks"
)

// position is how far a stream of remote read was read, so that it can be asked for again after it broke off, for example because
// the server restarted. Servers answer the queries of a request one after the other. Queries before the last one seen are
// complete. Of that one the series seen are complete, except for the last, which continues after its last sample.
//
// If a server answers in another order, position notices (mixed): then nothing is repeated.
type position struct {
	last    int64        // the query of the last frame, -1 before the first
	labels  []byte       // of the series that is being read, as they were sent
	skip    bool         // it is passed over
	started bool         // something of it was handed on
	time    int64        // of the sample that was handed on last
	done    []uint64     // hashes of the labels of the query's series, the current one's last
	seed    maphash.Seed // of these hashes
	mixed   bool

	// Of a stream that is asked for again.
	past     map[uint64]bool // the series handed on before
	resumed  []byte          // the labels of the series that continues, empty if none does
	goesOn   bool            // something of that was handed on
	lastTime int64           // until when
}

func newPosition() position { return position{last: -1, seed: maphash.MakeSeed()} }

// rewind prepares for a stream from the start.
func (p *position) rewind() {
	if p.last < 0 {
		return
	}
	p.past = make(map[uint64]bool, len(p.done))
	for _, h := range p.done {
		p.past[h] = true
	}
	if len(p.labels) > 0 && !p.skip {
		p.resumed, p.goesOn, p.lastTime = append(p.resumed[:0], p.labels...), p.started, p.time
	}
	p.labels, p.started = p.labels[:0], false
}

// query records the query that a frame answers and reports whether to read the frame.
func (p *position) query(k int64) bool {
	switch {
	case k == p.last:
	case k > p.last:
		p.last, p.done, p.past = k, p.done[:0], nil
		p.labels, p.started, p.resumed = p.labels[:0], false, p.resumed[:0]
	case p.past != nil:
		return false
	default:
		p.mixed = true
		p.last, p.labels, p.started = k, p.labels[:0], false
	}
	return true
}

// series records the series with these labels and reports whether to read it. started and time say what was passed on of it.
func (p *position) series(labels []byte) bool {
	if len(p.labels) > 0 && bytes.Equal(labels, p.labels) {
		return !p.skip
	}
	p.labels = append(p.labels[:0], labels...)
	p.skip, p.started = false, false
	if len(p.resumed) > 0 && bytes.Equal(labels, p.resumed) {
		p.started, p.time = p.goesOn, p.lastTime
		return true
	}
	h := maphash.Bytes(p.seed, labels)
	if p.skip = p.past[h]; p.skip {
		return false
	}
	p.done = append(p.done, h)
	return true
}

// before reports whether one of the chunks ends before what was passed on of the series, although the stream was not asked for
// again.
func (p *position) before(list []chunks.Encoded) bool {
	return p.started && p.past == nil && slices.ContainsFunc(list, func(c chunks.Encoded) bool { return c.MaxTime < p.time })
}
