package costapi

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// results are the sets of a request after the passes, at least one, oldest first. Stored sets go through the passes as they are
// read, so that few of them are in memory.
func (a *api) results(q *request) ([]*allocation.Set, error) {
	if !q.streams() {
		return a.wholeResults(q)
	}
	q.timing.query.Stream = true
	l := &line{api: a, request: q, matches: q.newMatches(), problems: a.problems(q), sum: passes.NewAccumulation(q.options, a.hold(q))}
	err := a.eachSet(q, q.timing.windows, l.add)
	if err == nil {
		err = l.end()
	}
	if err != nil {
		return nil, err
	}
	out := l.sum.Sets()
	q.warnProblems(l.problems)
	q.warnUnmatched(l.matches)
	q.warnNothing(l.matches, out)
	return out, nil
}

// streams reports whether the sets of the request may go through the passes in batches. Computed sets may not: they share one
// dictionary, which passes may have to copy.
func (q *request) streams() bool {
	return q.timing.query.Stored && len(q.timing.windows) > 1 && !q.options.Proportions && !q.options.Check
}

// wholeResults are the results if all sets are in memory.
func (a *api) wholeResults(q *request) ([]*allocation.Set, error) {
	sets, err := a.sets(q, q.timing.windows)
	if err != nil {
		return nil, err
	}
	matches := q.newMatches()
	for _, s := range sets {
		matches.look(s)
	}
	q.warnUnmatched(matches)
	out, err := q.apply(sets, q.options)
	q.warnNothing(matches, out)
	return out, err
}

// A batch of sets has one dictionary and at most lineSets sets, or fewer if they would take more than 1/lineShare of the memory.
// At most linesAtOnce batches go through the passes at a time.
const (
	lineSets    = 8
	linesAtOnce = 2
	lineShare   = 32
)

// The rows of a period are summed once there are heldRows of them, or fewer if they would take more than 1/heldShare of
// Config.Memory.
const (
	heldRows  = 1 << 14
	heldShare = 16
)

// hold is how many rows of a period a request keeps before it sums them.
func (a *api) hold(q *request) int {
	if most := a.cfg.Memory.Limit(); most > 0 {
		return int(min(heldRows, most/heldShare/q.timing.query.Only.MergedBytes()))
	}
	return heldRows
}

// line runs the passes over the sets of a request as they come.
type line struct {
	*api
	*request
	matches  *filterMatches
	problems []problem
	batch    []*allocation.Set
	waiting  int64         // bytes of batch
	pending  []chan passed // oldest first
	sum      *passes.Accumulation
	held     int64 // bytes drawn for the rows that it holds
}

// passed is the result of the passes for a batch.
type passed struct {
	raw, sets []*allocation.Set
	err       error
	panicked  any
}

// add adds a set.
func (l *line) add(s *allocation.Set) error {
	bytes := l.bytes(s)
	if err := l.memory.Draw(bytes); err != nil {
		return err
	}
	if most := l.memory.Most() / lineShare; most > 0 && len(l.batch) > 0 && l.waiting+bytes > most {
		if err := l.start(); err != nil {
			return err
		}
	}
	if len(l.batch) == lineSets || len(l.batch) > 0 && l.batch[0].Dict() != s.Dict() {
		if err := l.start(); err != nil {
			return err
		}
	}
	l.batch, l.waiting = append(l.batch, s), l.waiting+bytes
	return nil
}

// start runs the passes over the batch. If too many batches are running, it waits for the oldest.
func (l *line) start() error {
	batch, done := l.batch, make(chan passed, 1)
	l.batch, l.waiting = nil, 0
	go func() {
		p := passed{raw: batch}
		defer func() {
			if p.panicked = recover(); p.panicked != nil { // the request's goroutine panics in its place
				level.Error(l.logger).Log("msg", "passes panicked", "panic", fmt.Sprint(p.panicked), "stack", string(debug.Stack()))
			}
			done <- p
		}()
		p.sets, p.err = l.sum.Apply(batch)
		p.err = unapplied(p.err)
	}()
	if l.pending = append(l.pending, done); len(l.pending) > linesAtOnce {
		return l.finish()
	}
	return nil
}

// finish takes the result of the oldest batch.
func (l *line) finish() error {
	p := <-l.pending[0]
	l.pending = l.pending[1:]
	if p.panicked != nil {
		panic(p.panicked)
	}
	if p.err != nil {
		return p.err
	}
	for _, s := range p.raw {
		l.memory.Return(l.bytes(s))
		l.matches.look(s)
		for _, of := range l.problems {
			of.Add(s)
		}
	}
	for _, s := range p.sets {
		l.sum.Add(s)
		if err := l.checkHeld(); err != nil {
			return err
		}
	}
	return l.checkCount(l.sum.Rows())
}

// end waits for all batches.
func (l *line) end() error {
	if len(l.batch) > 0 {
		if err := l.start(); err != nil {
			return err
		}
	}
	for len(l.pending) > 0 {
		if err := l.finish(); err != nil {
			return err
		}
	}
	return nil
}

// bytes is about how much memory a set and its results take in the passes.
func (l *line) bytes(s *allocation.Set) int64 { return 2 * l.timing.query.Only.SetBytes(s.Len(), 0, 0) }

// checkHeld draws the memory that the sums take by now.
func (l *line) checkHeld() error {
	bytes := int64(l.sum.Held()) * l.timing.query.Only.MergedBytes()
	more := bytes - l.held
	if err := l.memory.Draw(more); err != nil {
		return fmt.Errorf("sum %d allocations or more: %w", l.sum.Held(), err)
	}
	l.held = bytes
	return nil
}

// remedy says how a request becomes smaller.
const remedy = "use aggregate, filter, accumulate, a longer step or a shorter window"

// encodingBytes is the memory that an encoded row takes until it is written. mostEncoding bounds it for all rows, which are
// encoded in parts.
const (
	encodingBytes = 1 << 10
	mostEncoding  = 4 << 20
)

// checkRows refuses answers that are too long, and draws the memory for their encoding.
func (q *request) checkRows(sets []*allocation.Set) error {
	rows, most := 0, 0
	for _, s := range sets {
		rows, most = rows+s.Len(), max(most, s.Len())
	}
	if err := q.api.checkCount(rows); err != nil {
		return err
	}
	if columnar(q.output.format) { // a set at a time
		return q.memory.Draw(int64(most) * allocation.RowBytes)
	}
	return q.memory.Draw(min(int64(rows)*encodingBytes, mostEncoding))
}

// checkCount refuses answers with too many rows.
func (a *api) checkCount(rows int) error {
	if rows > a.cfg.MaxRows {
		return &statusError{http.StatusUnprocessableEntity, fmt.Sprintf("the answer would have %d allocations, at most %d are allowed: use aggregate, filter, accumulate, a longer step or a shorter window", rows, a.cfg.MaxRows)}
	}
	return nil
}
