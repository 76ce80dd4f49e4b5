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

// chorus is computations of different windows that ask one source in step: each waits until all others have asked what
// comes before, and what they ask alike is asked once.
type chorus struct {
	ctx     context.Context //nolint:containedctx // it is that of one call
	cancel  context.CancelFunc
	lead    *computation // asks the source
	cfg     Config       // of the members
	members []member
	asked   chan *asking
	ended   chan struct{}
	lacking bool // the source says that something is missing
}

// member is a computation of a chorus, the source that it asks, and what came of it.
type member struct {
	*chorus
	index    int
	step     int // of the question at hand
	name     string
	plan     func(found *findings) *plan // of the question at hand, which notes in found what is read; nil where it is of no input
	own      *computation
	result   alone
	panicked any
}

// asking is a question of a member, which waits until it is done.
type asking struct {
	of    *member
	step  int
	name  string
	sels  []Selector
	lanes Lanes
	plan  *plan // notes what is read for all; nil for nobody
	stats Stats
	err   error
	done  chan struct{}
}

func newChorus(ctx context.Context, lead *computation, n int) *chorus {
	c := &chorus{lead: lead, cfg: *lead.cfg, members: make([]member, n), asked: make(chan *asking), ended: make(chan struct{}, n)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.cfg.Progress, c.cfg.excluded = func(int64) {}, true // the lead tells, and leaves out
	for i := range c.members {
		m := &c.members[i]
		m.chorus, m.index = c, i
		src := &part{src: m}
		m.own = &computation{cfg: &c.cfg, src: src, parts: []*part{src}, lanes: lead.lanes, found: newFindings(nil), member: m, account: lead.account}
	}
	return c
}

// sing computes the set of a member.
func (c *chorus) sing(i int, q allocation.Query) {
	m := &c.members[i]
	defer func() { c.ended <- struct{}{} }()
	defer m.own.release()
	defer func() {
		if r := recover(); r != nil {
			m.panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
			c.cancel()
		}
	}()
	sets, err := m.own.compute(c.ctx, q)
	if m.result.err = err; err != nil {
		if !errors.Is(err, allocation.ErrNoData) {
			c.cancel()
		}
		return
	}
	m.result.set = sets[0]
}

// conduct answers what the members ask until all have ended, and gives what came of them: nothing where the source says that
// something is missing, for it does not say of which.
func (c *chorus) conduct() ([]alone, error) {
	var waiting []*asking
	for live := len(c.members); live > 0; {
		select {
		case a := <-c.asked:
			waiting = append(waiting, a)
		case <-c.ended:
			live--
		}
		if live > 0 && len(waiting) == live {
			waiting = c.answer(waiting)
		}
	}
	c.lead.scrape, c.lead.resolution = c.members[0].own.scrape, c.members[0].own.resolution
	out := make([]alone, len(c.members))
	var failed error
	for i := range c.members {
		m := &c.members[i]
		if m.panicked != nil {
			panic(m.panicked)
		}
		out[i] = m.result
		err := m.result.err
		if err != nil && !errors.Is(err, allocation.ErrNoData) && (failed == nil || errors.Is(failed, context.Canceled)) {
			failed = err
		}
	}
	switch {
	case c.lacking:
		return nil, nil
	case failed != nil:
		return nil, failed
	}
	return out, nil
}

// answer answers the questions of the first step that any is at, and returns the others.
func (c *chorus) answer(waiting []*asking) (rest []*asking) {
	slices.SortFunc(waiting, func(a, b *asking) int { return a.of.index - b.of.index })
	step := slices.MinFunc(waiting, func(a, b *asking) int { return a.step - b.step }).step
	var now []*asking
	for _, a := range waiting {
		if a.step == step {
			now = append(now, a)
		} else {
			rest = append(rest, a)
		}
	}
	answered := now
	defer func() {
		for _, a := range answered {
			close(a.done)
		}
	}()
	for _, a := range now {
		if plan := a.of.plan; plan != nil { // the member waits
			a.plan = plan(c.lead.found)
		}
	}
	u := unite(now)
	answered = waiting // all of them, should the source panic: nobody answers the others then
	stats, err := c.lead.ask(c.ctx, now[0].name, u.sels, OneLane(u.yield))
	answered = now
	for _, a := range now {
		a.err = err
	}
	if !stats.Whole() && step > 0 { // those of the scrape interval are of no account
		c.lacking = true
		c.cancel()
	}
	return rest
}

// Select implements Source.
func (m *member) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return m.SelectLanes(ctx, sels, OneLane(yield))
}

// SelectLanes implements Parallel: it asks with the others.
func (m *member) SelectLanes(ctx context.Context, sels []Selector, lanes Lanes) (Stats, error) {
	a := &asking{of: m, step: m.step, name: m.name, sels: sels, lanes: lanes, done: make(chan struct{})}
	select {
	case m.asked <- a:
	case <-ctx.Done():
		return Stats{}, ctx.Err()
	}
	<-a.done
	return a.stats, a.err
}

// voice is a selector of a question, and where it is in that.
type voice struct {
	*asking
	i   int
	sel *Selector
}

// unison is several questions as one: voices are those of each selector.
type unison struct {
	sels   []Selector
	voices [][]voice
	points timeline.Points // scratch
}

// unite makes one question of several. Selectors that differ in their times alone, and have some in common or follow each
// other, become one.
func unite(list []*asking) *unison {
	u, most := &unison{}, 0
	for _, a := range list {
		most = max(most, len(a.sels))
	}
	for i := range most {
		for _, a := range list {
			if i < len(a.sels) {
				u.add(voice{a, i, &a.sels[i]})
			}
		}
	}
	return u
}

func (u *unison) add(v voice) {
	for k := range slices.Backward(u.sels) {
		if s := &u.sels[k]; s.joins(v.sel) {
			s.Start, s.End = min(s.Start, v.sel.Start), max(s.End, v.sel.End)
			u.voices[k] = append(u.voices[k], v)
			return
		}
	}
	u.sels, u.voices = append(u.sels, *v.sel), append(u.voices, []voice{v})
}

// joins reports whether another selector asks for samples of the same series on the same grid, at times that overlap with s's
// or follow them.
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

// yield gives a series to all who asked for it, to each the samples of the times that it asked for. It is noted once.
func (u *unison) yield(i int, key []Symbol, p *timeline.Points) error {
	if v := &u.voices[i][0]; v.plan != nil {
		if err := v.plan.note(v.i, key, p); err != nil {
			return err
		}
	}
	for _, v := range u.voices[i] {
		p.Between(&u.points, v.sel.Start, v.sel.End)
		n := u.points.Len()
		if n == 0 {
			continue
		}
		v.stats.Samples += int64(n)
		if !u.points.Continued() {
			v.stats.Series++
		}
		if err := v.lanes.Yield(v.lanes.Lane(v.i, key), v.i, key, &u.points); err != nil {
			return err
		}
	}
	return nil
}

// The names of questions that are no stage of their own.
const (
	askInterval = "scrape interval"
	askJobs     = "targets of promcost's jobs"
	askBeyond   = "inputs beyond the window"
	askPrices   = "prices beyond the window"
	askAgain    = "usage of overcommitted time"

	askLevelsBefore   = "levels of usage before the window"
	askLevelsAfter    = "levels of usage after the window"
	askCountersBefore = "counters of usage before the window"
	askCountersAfter  = "counters of usage after the window"
)

// stepOf is the place of a question in the order in which they are asked.
func stepOf(name string) int {
	return slices.Index([]string{
		askInterval, inputOwn, askJobs, stageNames[always], askBeyond, askPrices, stageNames[lazily], stageNames[starts], stageNames[unseen], stageNames[restarts], stageNames[borders], stageNames[levels], askLevelsBefore, askLevelsAfter,
		askCountersBefore, stageNames[counters], askCountersAfter, askAgain,
	}, name)
}
