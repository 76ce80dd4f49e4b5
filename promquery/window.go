package promquery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// window is one window of a computation while it is computed, and the result.
type window struct {
	of    *computation
	query allocation.Query
	*build.Builder
	step *build.Step // what the builder asks for; nil while that was not asked, or once nothing is left
	sets []*allocation.Set
	err  error // that the source has nothing of the window

	scrape, resolution time.Duration
	raw                bool   // the source gives raw samples
	named              naming // how series name their pods
	found              *findings
	own                ownTargets
	otel               otel
	outages            outages
	// dropped is how many series of promcost itself a step left out, the largest number of any step.
	dropped int64
	doubted bool  // prices may come from promcost
	labeled bool  // series of others have the label cluster
	held    int64 // bytes drawn from the account
}

// addWindow adds a window.
func (c *computation) addWindow(ctx context.Context, q allocation.Query) {
	w := &window{of: c, query: q, found: newFindings(nil), outages: outages{shown: map[Symbol][]shown{}, outdated: map[Symbol]timeline.Intervals{}}, raw: givesRaw(ctx, c.src, q.Window.Start.UnixMilli(), q.Window.End.UnixMilli())}
	c.windows = append(c.windows, w)
}

// begin makes the builder.
func (w *window) begin(ctx context.Context) (err error) {
	q := &w.query
	if q.Resolution, err = w.chooseResolution(); err != nil {
		return err
	}
	if w.Builder, err = build.NewBuilder(ctx, *q, w.scrape, w.of.cfg.Rates, w.of.symbols, w); err != nil {
		return err
	}
	w.resolution = time.Duration(w.Sampling().Step) * time.Millisecond
	w.found.otel = &w.otel
	w.found.frame = newFrame(q.Window, w.Sampling().Step, w.scrape)
	return nil
}

// advance finds out what the builder asks for next.
func (w *window) advance() {
	if w.step == nil {
		w.step = w.Next()
	}
}

// nextStep is the first step that one of the windows is at; nil once all have what they need.
func (c *computation) nextStep() (first *build.Step) {
	for _, w := range c.windows {
		if w.step != nil && (first == nil || w.step.Number < first.Number) {
			first = w.step
		}
	}
	return first
}

// asker asks for the step of the window.
func (w *window) asker() *asker {
	s := w.Sampling()
	q := question{grid: Grid{Step: s.Step, Interval: s.Interval}, unmarked: s.Unmarked().Lookback, raw: w.raw, named: w.named, otel: &w.otel}
	plan := func(found *findings) *plan {
		p := w.of.cfg.newPlan(w.of.symbols, found, q, w.step.Asks...)
		p.own = &w.own
		return p
	}
	out := &asker{window: w, plan: plan(w.found)}
	out.requests, out.use = out.plan.rs, func(s Series) error { return w.take(out.plan, s) }
	if w.found != w.of.found {
		out.shared = plan(w.of.found)
	}
	return out
}

// take gives the builder a series.
func (w *window) take(p *plan, s Series) error {
	return p.translate(s, func(s Series) error { return w.takeOne(p, s) })
}

func (w *window) takeOne(p *plan, s Series) error {
	series, key, err := p.readPoints(s.Request, s.Key, s.Points)
	if err != nil {
		return err
	}
	if series.Signal == signals.Nothing {
		if !s.Points.Continued() {
			p.dropped++
		}
		return nil
	}
	w.labeled = w.labeled || p.labeled && !p.unsure
	r := &p.readers[s.Request]
	if w.Skips(series, key) {
		r.found.skipped = true
		return nil
	}
	points := w.outages.current(series.Signal, key[0], s.Points)
	if points.Len() == 0 {
		return nil
	}
	if found := r.found.add(key[0], points); !r.bare(key) {
		p.times.record(found, r.found.input, key, points)
	}
	return w.Add(series, key, points)
}

// record records what came of a step.
func (w *window) record(p *plan, got *Stats) {
	w.dropped = max(w.dropped, p.dropped)
	w.doubted = w.doubted || p.doubted
	w.named.join(p.named)
	for i := range got.Losses {
		if l := &got.Losses[i]; l.has(Inputs[0].Alternatives[0].Metric, l.From, l.To, 0) {
			w.Lose(build.Span{Start: l.From, End: l.To})
		}
	}
}

// finish makes the sets.
func (w *window) finish() error {
	c := w.of
	for _, text := range c.cfg.Warnings {
		w.Warn(text)
	}
	w.warnOwn()
	w.warnOTel()
	for _, text := range c.stats.Missing() {
		w.Warn(text)
	}
	for _, text := range w.found.missing(c.stats.Losses) {
		w.Warn(text)
	}
	c.timed(func() { w.sets, w.err = w.Sets() })
	if errors.Is(w.err, build.ErrNothing) {
		w.err = c.nothing()
	}
	if w.err != nil {
		w.Builder = nil
		_ = w.Hold(0) // to give back never fails
		return w.err
	}
	for _, s := range w.sets {
		s.Incomplete = s.Incomplete || !c.stats.Whole() || len(c.cfg.Warnings) > 0
		s.Unlabeled = !w.labeled
	}
	w.Builder = nil // what it holds is not needed any more
	return w.Hold(allocation.SetsBytes(w.sets))
}

// remedy says how a computation becomes smaller.
const remedy = "ask for a longer step, accumulate or a shorter window"

// Hold implements build.Budget: it changes the memory that the window has drawn to so many bytes. To draw less never fails.
func (w *window) Hold(bytes int64) error {
	more, account := bytes-w.held, w.of.account
	if more > 0 && len(w.of.windows) > 1 && w.of.background {
		if most := account.Most() / backgroundShare; most > 0 && account.Held()+more > most {
			return fmt.Errorf("%w: hours that nobody waits for may take %s of memory together", allocation.ErrBusy, memory.Text(most))
		}
	}
	if more < 0 {
		account.Return(-more)
	} else if err := account.Draw(more); err != nil {
		return err
	}
	w.held = bytes
	return nil
}

// backgroundShare is the divisor of the memory for a batch of hours that nobody waits for. A batch shrinks so that requests that
// somebody waits for have room.
const backgroundShare = 2
