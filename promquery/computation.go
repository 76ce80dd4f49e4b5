package promquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/signals"
)

// useSample is how many series there are for each one whose use is timed. Reading the clock twice for every series would cost too much.
const useSample = 17

// computation is one reading of a source while it runs: of one window, or of several that share what they ask for. It asks the source and
// records what that takes.
type computation struct {
	cfg        *Config
	src        Source
	metered    []*metered // the sources that src asks
	symbols    *Symbols
	account    *memory.Account // the account that windows draw from
	windows    []*window
	background bool // nobody waits for it

	found  *findings // of all windows
	stats  Stats
	past   Stats // of earlier attempts
	stages []allocation.StageReading

	using     time.Duration // estimate of the time spent on series that were read
	selects   time.Duration // time spent in Selects, using included
	computing time.Duration // time spent on anything but reading
}

// begin decides which source one computation asks.
func (e *Engine) begin(ctx context.Context) (*computation, error) {
	c := &computation{cfg: &e.cfg, src: e.src, symbols: signals.NewSymbols(), found: newFindings(nil), account: memory.FromContext(ctx)}
	if s, ok := e.src.(Beginner); ok {
		var err error
		if c.src, err = s.Begin(ctx); err != nil {
			return nil, err
		}
	}
	if j, ok := c.src.(*joined); ok {
		c.metered = []*metered{&j.old, &j.recent}
	} else {
		whole := &metered{src: c.src}
		c.src, c.metered = whole, []*metered{whole}
	}
	return c, nil
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
		again, jerr := j.again(ctx, n == attempts-1)
		if jerr != nil || !again {
			return c, errors.Join(err, jerr)
		}
		c.release()
		before := c.stats
		before.Warnings, before.Losses = nil, nil
		before.Add(c.past)
		c = &computation{cfg: c.cfg, src: c.src, metered: c.metered, symbols: c.symbols, found: newFindings(nil), past: before, account: c.account}
	}
}

// ask asks the source, and calls use with each series. It records what that takes, and fails if the computation exceeds the bound on
// samples.
func (c *computation) ask(ctx context.Context, step string, rs []Request, use func(s Series) error) (got Stats, err error) {
	began, read, using := time.Now(), c.stats.Samples, time.Duration(0)
	n := 0
	for s, failure := range c.src.Select(withSymbols(ctx, c.symbols), c.cfg.screen(rs), &got) {
		if err = failure; err == nil {
			err = ctx.Err() // a source may read much before it looks
		}
		if err != nil {
			break
		}
		samples := int64(s.Points.Len())
		c.cfg.Progress(samples)
		if read += samples; c.cfg.MaxSamples > 0 && read > c.cfg.MaxSamples {
			err = fmt.Errorf("%w: more than %d samples to read: ask for a shorter window, or raise --compute.max-samples", allocation.ErrTooMuch, c.cfg.MaxSamples)
			break
		}
		var at time.Time
		if n++; n%useSample == 0 {
			at = time.Now()
		}
		if err = use(s); err != nil {
			break
		}
		if n%useSample == 0 {
			using += useSample * time.Since(at)
		}
	}
	took := time.Since(began)
	c.using += min(using, took)
	c.selects += took
	c.stages = append(c.stages, allocation.StageReading{Name: step, Took: took, Requests: got.Requests, Samples: got.Samples, Bytes: got.Bytes})
	for _, p := range c.metered {
		if src, ok := p.src.(Named); ok && p.used && p.reading.Name == "" {
			p.reading.Name = src.Name(ctx) // it is known once the source was asked
		}
	}
	got.Sent = nil // the metered sources record these
	c.stats.Add(got)
	return got, err
}

// timed runs f, which does not read, and adds the time that it takes.
func (c *computation) timed(f func()) {
	began := time.Now()
	f()
	c.computing += time.Since(began)
}

// compute computes the sets of queries, one for each window. If there is one, its errors are those of the computation. If there are
// several, a window without data has an error of its own, and errMissing says that the source lacks data, for it does not say of which
// window.
func (c *computation) compute(ctx context.Context, queries []allocation.Query) (err error) {
	whole := allocation.Window{Start: queries[0].Window.Start, End: queries[len(queries)-1].Window.End}
	if j, ok := c.src.(*joined); ok {
		j.allowOldOnly(ctx, whole)
		defer func() {
			if cause := j.cause(); errors.Is(err, allocation.ErrNoData) && cause != nil {
				err = cause // blocks have no data, either
			}
		}()
	}
	c.background = IsBackground(ctx)
	for _, q := range queries {
		c.addWindow(ctx, q)
	}
	if err := c.findScrapeIntervals(ctx); err != nil {
		return fmt.Errorf("find the scrape interval: %w", err)
	}
	if err := c.findOTel(ctx); err != nil {
		return err
	}
	if err := c.findOwn(ctx); err != nil {
		return err
	}
	if len(c.windows) > 1 && !c.stats.Whole() {
		return errMissing
	}
	for _, w := range c.windows {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if len(c.windows) == 1 {
		c.found = c.windows[0].found
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	if s, ok := c.src.(Ender); ok {
		s.End() // sets take memory, too
	}
	for _, w := range c.windows {
		if err := w.finish(); err != nil && (len(c.windows) == 1 || !errors.Is(err, allocation.ErrNoData)) {
			return err
		}
	}
	return nil
}

// errMissing says that the source lacks data of some of several windows.
var errMissing = errors.New("the source lacks data of some windows")

// load reads what the builders of all windows ask for. Windows at the same step share what they ask for.
func (c *computation) load(ctx context.Context) error {
	for {
		c.timed(func() {
			for _, w := range c.windows {
				w.advance()
			}
		})
		step := c.nextStep()
		if step == nil {
			return nil
		}
		if err := c.findOutages(ctx); err != nil {
			return err
		}
		var asking []*asker
		for _, w := range c.windows {
			if w.step != nil && w.step.Number == step.Number {
				asking = append(asking, w.asker())
				w.step = nil
			}
		}
		got, err := c.fetch(ctx, step.Name, asking)
		for _, a := range asking {
			a.window.record(a.plan, &got)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", step.Name, err)
		}
		if len(c.windows) > 1 && !got.Whole() {
			return errMissing
		}
	}
}

// Names of what is read besides the inputs of the table, for the account of the reading.
const (
	inputInterval = "scrape interval"
	inputOwn      = "series of promcost"
	inputOTel     = "series of OpenTelemetry"
)

// errNothing says that the source has none of the inputs.
var errNothing = fmt.Errorf("%w: none of the metrics that promcost needs has samples in the window; is this the Prometheus that scrapes kube-state-metrics and the kubelets, and does its retention cover the window?", allocation.ErrNoData)

// nothing is the error if none of the inputs was found. It is a failure of the source if its answers were not whole.
func (c *computation) nothing() error {
	if c.stats.Whole() {
		return errNothing
	}
	missing := c.stats.Missing()
	slices.Sort(missing)
	return fmt.Errorf("%w: %w: the source's answers are not whole, and have none of the metrics that promcost needs: %s",
		allocation.ErrNoData, allocation.ErrUpstream, strings.Join(slices.Compact(missing), "; "))
}

// release returns the memory of all windows.
func (c *computation) release() {
	for _, w := range c.windows {
		_ = w.Hold(0)
	}
}
