package promquery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// batch computes several windows from one source, in steps. It asks the questions of a step once every window has reached that
// step or passed it. What several windows ask alike, it asks once.
type batch struct {
	ctx       context.Context //nolint:containedctx // the context of one call
	cancel    context.CancelFunc
	lead      *computation // the computation that asks the source
	cfg       Config       // configures the windows
	windows   []batchWindow
	questions chan *question
	ended     chan struct{}
	lacking   bool // the source says that data is missing
}

// batchWindow is one window of a batch: the source that its computation asks, and the result.
type batchWindow struct {
	*batch
	index    int
	step     int // of the current question
	name     string
	plan     func(found *findings) *plan // makes a plan for the current question that records in found what is read; nil for no input
	own      *computation
	result   windowResult
	panicked any
}

// question is a question of a window, which waits for the answer.
type question struct {
	from    *batchWindow
	step    int
	name    string
	sels    []Selector
	workers Workers
	plan    *plan // records what is read for all windows; nil for no input
	stats   Stats
	err     error
	done    chan struct{} // closed once it is answered
}

func newBatch(ctx context.Context, lead *computation, n int) *batch {
	b := &batch{lead: lead, cfg: *lead.cfg, windows: make([]batchWindow, n), questions: make(chan *question), ended: make(chan struct{}, n)}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.cfg.Progress, b.cfg.excluded = func(int64) {}, true // the lead reports progress, and leaves out what Exclude says
	for i := range b.windows {
		w := &b.windows[i]
		w.batch, w.index = b, i
		src := &part{src: w}
		w.own = &computation{cfg: &b.cfg, src: src, parts: []*part{src}, workers: lead.workers, symbols: lead.symbols, found: newFindings(nil), window: w, account: lead.account}
	}
	return b
}

// run computes the set of the i-th window.
func (b *batch) run(i int, q allocation.Query) {
	w := &b.windows[i]
	defer func() { b.ended <- struct{}{} }()
	defer w.own.release()
	defer func() {
		if r := recover(); r != nil {
			w.panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
			b.cancel()
		}
	}()
	sets, err := w.own.compute(b.ctx, q)
	if w.result.err = err; err != nil {
		if !errors.Is(err, allocation.ErrNoData) {
			b.cancel()
		}
		return
	}
	w.result.set = sets[0]
}

// answer answers the questions of the windows until all have ended, and returns their results. It returns none if the source says
// that data is missing, because the source does not say for which window.
func (b *batch) answer() ([]windowResult, error) {
	var waiting []*question
	for live := len(b.windows); live > 0; {
		select {
		case q := <-b.questions:
			waiting = append(waiting, q)
		case <-b.ended:
			live--
		}
		if live > 0 && len(waiting) == live {
			waiting = b.answerStep(waiting)
		}
	}
	b.lead.scrape, b.lead.resolution = b.windows[0].own.scrape, b.windows[0].own.resolution
	out := make([]windowResult, len(b.windows))
	var failed error
	for i := range b.windows {
		w := &b.windows[i]
		if w.panicked != nil {
			panic(w.panicked)
		}
		out[i] = w.result
		err := w.result.err
		if err != nil && !errors.Is(err, allocation.ErrNoData) && (failed == nil || errors.Is(failed, context.Canceled)) {
			failed = err
		}
	}
	switch {
	case b.lacking:
		return nil, nil
	case failed != nil:
		return nil, failed
	}
	return out, nil
}

// answerStep answers the questions of the first step that a window is at, and returns the other questions.
func (b *batch) answerStep(waiting []*question) (rest []*question) {
	slices.SortFunc(waiting, func(x, y *question) int { return x.from.index - y.from.index })
	step := slices.MinFunc(waiting, func(x, y *question) int { return x.step - y.step }).step
	var now []*question
	for _, q := range waiting {
		if q.step == step {
			now = append(now, q)
		} else {
			rest = append(rest, q)
		}
	}
	answered := now
	defer func() {
		for _, q := range answered {
			close(q.done)
		}
	}()
	for _, q := range now {
		if plan := q.from.plan; plan != nil { // the window waits, so nothing changes it
			q.plan = plan(b.lead.found)
		}
	}
	m := merge(now)
	answered = waiting // if the source panics, nobody else answers the rest
	stats, err := b.lead.ask(b.ctx, now[0].name, m.sels, Workers{
		N: 1, Skip: m.skip,
		Yield: func(_, i int, key []Symbol, p *timeline.Points) error { return m.yield(i, key, p) },
	})
	answered = now
	for _, q := range now {
		q.err = err
	}
	if !stats.Whole() && step > 0 { // samples that show the scrape interval may be missing
		b.lacking = true
		b.cancel()
	}
	return rest
}

// Select implements Source.
func (w *batchWindow) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return w.SelectParallel(ctx, sels, OneWorker(yield))
}

// SelectParallel implements Parallel: it waits until all windows have asked.
func (w *batchWindow) SelectParallel(ctx context.Context, sels []Selector, workers Workers) (Stats, error) {
	q := &question{from: w, step: w.step, name: w.name, sels: sels, workers: workers, done: make(chan struct{})}
	select {
	case w.questions <- q:
	case <-ctx.Done():
		return Stats{}, ctx.Err()
	}
	<-q.done
	return q.stats, q.err
}

// asker is a question that a merged selector answers, and the index of that question's selector.
type asker struct {
	*question
	i   int
	sel *Selector
}

// merged is one question made of several.
type merged struct {
	sels   []Selector
	askers [][]asker       // of each selector
	points timeline.Points // scratch space
}

// merge makes one question of several. Selectors that differ only in their times become one where the times overlap or follow
// each other.
func merge(list []*question) *merged {
	m, most := &merged{}, 0
	for _, q := range list {
		most = max(most, len(q.sels))
	}
	for i := range most {
		for _, q := range list {
			if i < len(q.sels) {
				m.add(asker{q, i, &q.sels[i]})
			}
		}
	}
	return m
}

func (m *merged) add(a asker) {
	for k := range slices.Backward(m.sels) {
		if s := &m.sels[k]; s.joins(a.sel) {
			s.Start, s.End = min(s.Start, a.sel.Start), max(s.End, a.sel.End)
			m.askers[k] = append(m.askers[k], a)
			return
		}
	}
	m.sels, m.askers = append(m.sels, *a.sel), append(m.askers, []asker{a})
}

// joins reports whether another selector asks for samples of the same series on the same grid, at times that overlap with those of
// s or follow them.
func (s *Selector) joins(o *Selector) bool {
	switch {
	case s.Metric != o.Metric, s.Series != o.Series, s.Cgroup != o.Cgroup, s.Step != o.Step, s.Lookback != o.Lookback, s.Input != o.Input, s.AtOnce != o.AtOnce, s.Last != o.Last:
		return false
	case s.Last && (s.Start != o.Start || s.End != o.End), s.Step > 0 && (s.End-o.End)%s.Step != 0:
		return false
	case o.Start > s.End+1 || o.End < s.Start-1:
		return false
	}
	return slices.Equal(s.Keep, o.Keep) && (s.Keep == nil) == (o.Keep == nil) && slices.Equal(s.Matchers, o.Matchers)
}

// skip reports whether nobody who asked for a series wants it.
func (m *merged) skip(i int, key []Symbol) bool {
	return !slices.ContainsFunc(m.askers[i], func(a asker) bool { return !a.workers.skips(a.i, key) })
}

// yield passes a series to all who asked for it, each with the samples of the times that it asked for. The series is recorded
// once.
func (m *merged) yield(i int, key []Symbol, p *timeline.Points) error {
	if a := &m.askers[i][0]; a.plan != nil {
		if err := a.plan.note(a.i, key, p); err != nil {
			return err
		}
	}
	for _, a := range m.askers[i] {
		if a.workers.skips(a.i, key) {
			continue
		}
		p.Between(&m.points, a.sel.Start, a.sel.End)
		n := m.points.Len()
		if n == 0 {
			continue
		}
		a.stats.Samples += int64(n)
		if !m.points.Continued() {
			a.stats.Series++
		}
		if err := a.workers.Yield(a.workers.Worker(a.i, key), a.i, key, &m.points); err != nil {
			return err
		}
	}
	return nil
}

// Names of questions that do not belong to a stage.
const (
	askInterval = "scrape interval"
	askJobs     = "targets of promcost's jobs"
	askDoubted  = "prices that may be promcost's"
	askBeyond   = "inputs beyond the window"
	askPrices   = "prices beyond the window"
	askAgain    = "usage of overcommitted time"

	askLevelsBefore   = "levels of usage before the window"
	askLevelsAfter    = "levels of usage after the window"
	askCountersBefore = "counters of usage before the window"
	askCountersAfter  = "counters of usage after the window"
)

// stepOf is the place of a question in the order of all questions.
func stepOf(name string) int {
	return slices.Index([]string{
		askInterval, inputOwn, askJobs, askDoubted, stageNames[always], askBeyond, askPrices, stageNames[standIn], stageNames[phases], stageNames[starts], stageNames[unseen], stageNames[restarts], stageNames[owners], stageNames[borders], stageNames[levels], askLevelsBefore, askLevelsAfter,
		askCountersBefore, stageNames[counters], askCountersAfter, askAgain, stageNames[metadata],
	}, name)
}
