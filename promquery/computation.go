package promquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// timed is how many calls of yield there are for each one that is timed. Reading the clock twice for every series would cost too much.
const timed = 17

// computation is one computation while it runs. It asks the source and records what that takes.
type computation struct {
	cfg     *Config
	src     Source
	parts   []*part // the sources that src asks
	workers int     // goroutines that integrate usage; 0 for a source that is read by one goroutine only
	symbols *Symbols
	// window is its place in a batch; nil outside of a batch.
	window *batchWindow

	raw      bool      // the source gives raw samples
	exported bool      // some series name their pods by exported_pod
	only     selection // what is read
	stats    Stats
	past     Stats // of earlier attempts
	stages   []allocation.StageReading
	found    *findings
	own      ownTargets
	// dropped is how many series of promcost itself a Select left out, the largest number of any Select.
	dropped   int64
	doubted   bool  // prices may come from promcost
	series    int64 // of all inputs
	gathering gathering
	account   *memory.Account // the account that it draws from
	held      int64           // bytes drawn from it

	scrape, resolution time.Duration
	yields             time.Duration // estimate of the time spent in yield
	selects            time.Duration // time spent in Selects
	computing          time.Duration // time spent on anything but reading
}

// begin decides which source one computation asks.
func (e *Engine) begin(ctx context.Context) (*computation, error) {
	c := &computation{cfg: &e.cfg, src: e.src, symbols: signals.NewSymbols(), found: newFindings(nil), account: memory.Of(ctx)}
	if s, ok := e.src.(Beginner); ok {
		var err error
		if c.src, err = s.Begin(ctx); err != nil {
			return nil, err
		}
	}
	if j, ok := c.src.(*joined); ok {
		c.parts = []*part{&j.old, &j.recent}
	} else {
		whole := &part{src: c.src}
		c.src, c.parts = whole, []*part{whole}
	}
	for _, p := range c.parts {
		if _, ok := p.src.(Parallel); ok {
			c.workers = c.cfg.Parallel
		}
	}
	return c, nil
}

// selection says what is read.
type selection struct {
	names // those and containers with some names; empty for all
	// fewOfAssets leaves out how full disks are and what nodes' cores do.
	fewOfAssets bool
}

// attempts is how often a computation begins at most.
const attempts = 4

// run runs f with a computation. It runs f again with a new computation if its source has to be asked for something else. It
// returns the last one.
func (e *Engine) run(ctx context.Context, f func(c *computation) error) (*computation, error) {
	c, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	ended := false
	defer func() {
		if !ended { // f panicked
			c.release()
		}
	}()
	for n := 1; ; n++ {
		ended = false
		err = f(c)
		ended = true
		j, ok := c.src.(*joined)
		if !ok || n == attempts || ctx.Err() != nil || err != nil && !errors.Is(err, errRestart) && !errors.Is(err, allocation.ErrNoData) {
			return c, err
		}
		again, jerr := j.again(n == attempts-1)
		if jerr != nil || !again {
			return c, errors.Join(err, jerr)
		}
		c.release()
		before := c.stats
		before.Warnings, before.Losses = nil, nil
		before.Add(c.past)
		c = &computation{cfg: c.cfg, src: c.src, parts: c.parts, workers: c.workers, symbols: c.symbols, found: newFindings(nil), past: before, account: c.account}
	}
}

// ask is a Select of a stage. It records what the Select takes, and fails if the computation exceeds the bound on samples.
func (c *computation) ask(ctx context.Context, stage string, sels []Selector, workers Workers) (Stats, error) {
	began, before := time.Now(), c.stats.Samples
	if c.window != nil {
		c.window.step, c.window.name = stepOf(stage), stage
	}
	var read atomic.Int64
	meters := make([]meter, workers.N+1)
	give := workers.Yield
	workers.Yield = func(worker, i int, key []Symbol, p *timeline.Points) error {
		if err := ctx.Err(); err != nil { // a source may read much before it checks
			return err
		}
		n := int64(p.Len())
		now := read.Add(n)
		c.cfg.Progress(n)
		if most := c.cfg.MaxSamples; most > 0 && before+now > most {
			return fmt.Errorf("%w: more than %d samples to read: ask for a shorter window, or raise --compute.max-samples", allocation.ErrTooMuch, most)
		}
		m := &meters[worker]
		if m.calls++; m.calls%timed != 0 {
			return give(worker, i, key, p)
		}
		at := time.Now()
		err := give(worker, i, key, p)
		m.took += timed * time.Since(at)
		return err
	}
	got, err := SelectParallel(withSymbols(ctx, c.symbols), c.src, c.cfg.screen(sels), workers)
	took, yields := time.Since(began), time.Duration(0)
	for i := range meters {
		yields += meters[i].took
	}
	if workers.Of != nil {
		yields /= time.Duration(workers.N)
	}
	c.yields += min(yields, took)
	c.selects += took
	c.stages = append(c.stages, allocation.StageReading{Name: stage, Took: took, Requests: got.Requests, Samples: got.Samples, Bytes: got.Bytes})
	for _, p := range c.parts {
		if p.asked && p.reading.Name == "" {
			p.reading.Name = c.cfg.Name(ctx, p.src) // the name is known once the source was asked
		}
	}
	got.Sent = nil // the parts record these
	c.stats.Add(got)
	return got, err
}

// meter estimates the time that a worker spends in yield. It fills a cache line, because workers run side by side.
type meter struct {
	calls int64
	took  time.Duration
	_     [48]byte
}

// timed runs f, which does not read, and adds the time that it takes.
func (c *computation) timed(f func() error) error {
	began := time.Now()
	err := f()
	c.computing += time.Since(began)
	return err
}

func (c *computation) compute(ctx context.Context, q allocation.Query) (sets []*allocation.Set, err error) {
	if j, ok := c.src.(*joined); ok {
		j.allowOldOnly(ctx, q.Window)
		defer func() {
			if cause := j.cause(); errors.Is(err, allocation.ErrNoData) && cause != nil {
				err = cause // blocks have no data, either
			}
		}()
	}
	c.only.fewOfAssets = q.Only != nil && q.Only.FewOfAssets
	if err := c.findScrapeInterval(ctx, q.Window); err != nil {
		return nil, fmt.Errorf("find the scrape interval: %w", err)
	}
	if err := c.findOwn(ctx, q.Window); err != nil {
		return nil, err
	}
	c.raw = givesRaw(ctx, c.src, q.Window.Start.UnixMilli(), q.Window.End.UnixMilli())
	if q.Resolution, err = c.chooseResolution(ctx, &q); err != nil {
		return nil, err
	}
	b, err := c.newBuilder(ctx, q)
	if err != nil {
		return nil, err
	}
	c.resolution = time.Duration(b.Sampling().Step) * time.Millisecond
	c.found.frame = newFrame(q.Window, b.Sampling().Step, c.scrape)
	if err := c.load(ctx, b); err != nil {
		return nil, err
	}
	for _, p := range c.parts {
		if s, ok := p.src.(Ender); ok {
			s.End() // sets take memory, too
		}
	}
	for _, w := range c.cfg.Warnings {
		b.Warn(w)
	}
	c.warnOwn(b)
	for i := range c.stats.Losses {
		b.Warn(c.stats.Losses[i].String())
	}
	for _, w := range c.found.missing(c.stats.Losses) {
		b.Warn(w)
	}
	err = c.timed(func() error {
		sets, err = b.Sets()
		return err
	})
	for _, s := range sets {
		s.Incomplete = s.Incomplete || !c.stats.Whole() || len(c.cfg.Warnings) > 0
	}
	return sets, err
}

// newBuilder draws the memory for the sets of q and returns a builder for them, which ends with ctx.
func (c *computation) newBuilder(ctx context.Context, q allocation.Query) (*build.Builder, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	if err := c.hold(int64(len(windows)) * (*allocation.Projection)(nil).SetBytes(0, 0, 0)); err != nil {
		return nil, err
	}
	b, err := build.NewBuilder(q, c.scrape, c.cfg.Rates, c.symbols)
	if err != nil {
		return nil, err
	}
	b.SetLimits(build.Limits{Stopped: ctx.Err, Draw: func(bytes int64) error { return c.hold(c.held + bytes) }})
	return b, nil
}

// Names of what is read besides the inputs of the table, for the account of the reading.
const (
	inputInterval = "scrape interval"
	inputOwn      = "series of promcost"
)

// load reads what the builder needs and finalizes it. It fails with allocation.ErrNoData if nothing is found at all.
func (c *computation) load(ctx context.Context, b *build.Builder) error {
	if err := c.gather(ctx, b); err != nil {
		return err
	}
	if err := c.checkMemory(b); err != nil {
		return err
	}
	for i := range c.stats.Losses {
		if l := &c.stats.Losses[i]; l.has(Inputs[0].Alternatives[0].Metric, l.From, l.To, 0) {
			b.Lose(build.Span{Start: l.From, End: l.To})
		}
	}
	if err := c.timed(b.Resolve); err != nil {
		return err
	}
	if err := c.usage(ctx, b); err != nil {
		return err
	}
	again, err := c.finalize(b)
	if err != nil {
		return err
	}
	for i := range again {
		if err := c.readAgain(ctx, b, &again[i]); err != nil {
			return err
		}
	}
	if len(again) > 0 {
		if _, err = c.finalize(b); err != nil {
			return err
		}
	}
	return c.label(ctx, b)
}

// namesOf are the names of some pods or containers to read, in up to so many lists where a server is queried.
func (c *computation) namesOf(element string, list []string, lists int) []names {
	if !c.raw {
		return namesOf(element, list, mostNames, lists)
	}
	most := mostRawNames
	if slices.ContainsFunc(list, func(name string) bool { return strings.Contains(name, ".") }) {
		most = mostDottedNames
	}
	return namesOf(element, list, most, 1)
}

// onlyNames restricts reading to some pods or containers until all is called.
func (c *computation) onlyNames(element string, list []string) (all func()) {
	if lists := c.namesOf(element, list, 1); len(lists) > 0 {
		c.only.names = lists[0]
	}
	return func() { c.only.names = names{} }
}

// named reads some stages of some pods or containers into the builder; nothing if the list is empty.
func (c *computation) named(ctx context.Context, b *build.Builder, element string, list []string, stages ...stage) error {
	defer func() { c.only.names = names{} }()
	for _, c.only.names = range c.namesOf(element, list, mostLists) {
		if err := c.stage(ctx, b, stageNames[stages[0]], b.Sampling().LoadStart(), b.Sampling().End, stages...); err != nil {
			return err
		}
	}
	return nil
}

// stage reads some stages into the builder.
func (c *computation) stage(ctx context.Context, b *build.Builder, name string, start, end int64, stages ...stage) error {
	return c.spans(ctx, b, name, []build.Span{{Start: start, End: end}}, stages...)
}

// spans reads some stages of several spans of time into the builder.
func (c *computation) spans(ctx context.Context, b *build.Builder, name string, spans []build.Span, stages ...stage) error {
	return c.read(ctx, b, name, within(b, spans), stages...)
}

// within are selectors for spans of time, on the grid of the builder.
func within(b *build.Builder, spans []build.Span) []Selector {
	sels := make([]Selector, len(spans))
	for i, span := range spans {
		sels[i] = Selector{Start: span.Start, End: span.End, Step: b.Sampling().Step}
	}
	return sels
}

// read reads some stages into the builder, at the times and on the grids of sels.
func (c *computation) read(ctx context.Context, b *build.Builder, name string, sels []Selector, stages ...stage) error {
	plans := make([]*plan, c.workers+1) // the last one for series of several workers
	notes := make([]*findings, len(plans))
	for i := range plans {
		notes[i] = newFindings(c.found.frame)
		plans[i] = c.cfg.newPlan(c.symbols, notes[i], sels, stages...)
		plans[i].own = &c.own
		if c.only.re != "" {
			// Labels may be the only series that name their pods by exported_pod.
			plans[i].onlyNamed(c.only.names, c.exported || stages[0] == metadata)
		}
	}
	plans[0].lookBack(b.Sampling().Unmarked().Lookback)
	if c.window != nil {
		c.window.plan = func(found *findings) *plan {
			p := c.cfg.newPlan(c.symbols, found, sels, stages...)
			p.own = &c.own
			return p
		}
		defer func() { c.window.plan = nil }()
	}
	usage := stages[0] == levels || stages[0] == counters
	workers := into(b, plans, usage)
	if usage || stages[0] == borders {
		workers.Skip = skip(b, plans[c.workers])
	}
	got, err := c.ask(ctx, name, plans[0].sels, c.watched(b, workers))
	dropped := int64(0)
	for i, n := range notes {
		c.found.add(n)
		dropped += plans[i].dropped
		c.doubted = c.doubted || plans[i].doubted
		c.exported = c.exported || plans[i].exported
	}
	c.dropped = max(c.dropped, dropped)
	for _, w := range got.Warnings {
		b.Warn(w)
	}
	c.series += got.Series
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// errNothing says that the source has none of the inputs.
var errNothing = fmt.Errorf("%w: none of the metrics that promcost reads has samples in the window; is this the Prometheus that scrapes kube-state-metrics and the kubelets, and does its retention cover the window?", allocation.ErrNoData)

// nothing is the error if none of the inputs was found. It is a failure of the source if its answers were not whole.
func (c *computation) nothing() error {
	if c.stats.Whole() {
		return errNothing
	}
	told := c.stats.Told()
	slices.Sort(told)
	return fmt.Errorf("%w: %w: the source's answers are not whole, and have none of the metrics that promcost reads: %s",
		allocation.ErrNoData, allocation.ErrUpstream, strings.Join(slices.Compact(told), "; "))
}

// finalize ends a phase of usage.
func (c *computation) finalize(b *build.Builder) (again []build.Excess, err error) {
	err = c.timed(func() error {
		again, err = b.Finalize()
		return err
	})
	return again, err
}
