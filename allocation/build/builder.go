package build

import (
	"context"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/charge"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/build/resolve"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Builder makes sets of the signals of clusters, one for each window of a query. It says by Next what it needs to know, and takes the
// series by Add, in any order, until it needs no more; then Sets returns the sets:
//
//	for step := b.Next(); step != nil; step = b.Next() {
//		// add the series that step.Asks asks for
//	}
//	sets, err := b.Sets()
//
// First it asks for everything but usage: what ran when, with which request, at which price. Then it asks for usage. Each series of usage is
// integrated as it comes and is not kept, so memory grows with containers and changes, not with samples. Only one goroutine at a time may
// use a Builder.
type Builder struct {
	observer *observe.Observer
	resolver *resolve.Resolver
	charger  *charge.Charger
	progress
	fewOfAssets bool // what nodes' cores do and how full disks are is not needed
	levels      bool // of usage are needed, and what goes wrong with containers
}

// Budget bounds the memory of a Builder.
type Budget = observe.Budget

// Span is a stretch of time, Unix milliseconds.
type Span = observe.Span

// NewBuilder returns a builder for the sets of q. scrape is the scrape interval. The grid cannot be finer than that: a smaller
// resolution is raised to it, with a warning. In exact mode, a last sample lasts for one scrape interval. The keys of series are of symbols.
// It stops once ctx ends, or if budget has no memory for it; the nil Budget has no bound.
func NewBuilder(ctx context.Context, q allocation.Query, scrape time.Duration, rates rates.Rates, symbols *signals.Symbols, budget Budget) (*Builder, error) {
	ob, err := observe.New(ctx, q, scrape, rates, symbols, budget)
	if err != nil {
		return nil, err
	}
	rs := resolve.New(ob, q.ChargeFrom)
	levels := q.Only != nil && q.Only.Levels
	return &Builder{observer: ob, resolver: rs, charger: charge.New(rs, levels), fewOfAssets: q.Only != nil && q.Only.FewOfAssets, levels: levels}, nil
}

// Sampling returns which samples the builder needs: from LoadStart() to End, on a grid of Step.
func (b *Builder) Sampling() timeline.Sampling { return b.observer.Sampling }

// Warn adds a warning, such as a source's, to every set's.
func (b *Builder) Warn(text string) { b.observer.Warn(text) }

// Lose marks a span for which the source could not return samples of running containers. Warnings do not call kube-state-metrics down then.
func (b *Builder) Lose(span Span) { b.observer.Lose(span) }

// Add takes the points of a series that the last step asked for. Signal.Key describes the key. Add keeps neither key nor p. It refuses
// series of signals that are not added in this phase: usage before everything else was added, or the other way round.
func (b *Builder) Add(series signals.Series, key []signals.Symbol, p *timeline.Points) error {
	if series.Signal.IsIntegrated() {
		return b.charger.AddUsage(series, key, p)
	}
	if b.counts && !series.Signal.OfAnyMachine() {
		b.added++
	}
	return b.observer.Add(series, key, p)
}

// Skips reports whether a series need not be added, because it is usage or traffic of nodes of other shards only. Everything else is
// added by all shards.
func (b *Builder) Skips(series signals.Series, key []signals.Symbol) bool {
	return b.observer.Skips(series, key)
}

// Sets returns the finished sets, oldest first. It fails with ErrNothing, with the error of the context or of the budget, or if Next has not
// returned nil yet.
func (b *Builder) Sets() ([]*allocation.Set, error) { return b.charger.Finish() }
