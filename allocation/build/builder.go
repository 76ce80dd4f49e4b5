package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// Builder integrates the signals of clusters into sets, one for each window of a query. It says by Next what it needs to know, and takes the
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
	frame
	chargeFrom allocation.ChargeFrom
	shard      allocation.Shard
	limits
	phase phase
	again Span // whose usage is being added again
	progress
	fewOfAssets bool // what nodes' cores do and how full disks are is not needed

	interned
	symbols  *signals.Symbols
	sets     []*allocation.Set
	rows     []*allocation.Rows // of the sets
	pods     podTable
	nodes    nodeTable
	services serviceTable
	storage  storage
	prices   priceTable
	outages  outages
	report   report
	left     map[leftKey]*left

	at     incoming        // the series at hand
	cells  []timeline.Cell // scratch of its integration
	cuts   cuts
	shared timeline.Shared // of signals of pods and containers that many have alike
	usage  integrator
	uses   uses
	// takesAlternative reports whether an alternative of the running signal, or of starts, counts. nil accepts all.
	takesAlternative func(*incoming) bool
}

type phase uint8

const (
	gathering  phase = iota // everything but usage
	measuring               // usage
	correcting              // usage again, of overcommitted time
	finalized
)

// absence has the times in which none of a cluster's containers, and none of its nodes, were seen, and when its pods were.
type absence struct {
	containers, nodes timeline.Watch
	pods              timeline.Intervals
}

// absentIn returns the absence of a cluster, an empty one for an unknown cluster.
func (b *Builder) absentIn(cluster signals.Symbol) *absence {
	if a := b.outages.absent[cluster]; a != nil {
		return a
	}
	return &absence{}
}

type (
	// objectKey names a namespaced object, or a namespace where name is "".
	objectKey struct{ cluster, namespace, name signals.Symbol }
	podKey    struct {
		objectKey
		uid signals.Symbol
		nth int // from 1, numbers pods of one name without a UID by the nodes that they were on; else 0
	}
	nodeKey  struct{ cluster, name signals.Symbol }
	ownerKey struct {
		kind signals.Symbol // replicaset or job
		objectKey
	}
)

var none signals.Symbol // of ""

// NewBuilder returns a builder for the sets of q. scrape is the scrape interval. The grid cannot be finer than that: a smaller
// resolution is raised to it, with a warning. In exact mode, a last sample lasts for one scrape interval. The keys of series are of symbols.
// It stops once ctx ends, or if budget has no memory for it; the nil Budget has no bound.
func NewBuilder(ctx context.Context, q allocation.Query, scrape time.Duration, rates rates.Rates, symbols *signals.Symbols, budget Budget) (*Builder, error) {
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	limits := limits{ctx: ctx, budget: budget}
	if limits.hold(int64(len(windows)) * allocation.SetBytes); limits.stopped != nil {
		return nil, limits.stopped
	}
	if q.Window.Duration() <= 0 || scrape <= 0 || q.Resolution < 0 {
		return nil, fmt.Errorf("window %s, scrape interval %s, resolution %s: must all be positive", q.Window.Duration(), scrape, q.Resolution)
	}
	b := newParts(rates, symbols)
	b.usage.prepare(b)
	b.windows, b.chargeFrom, b.shard, b.pods.metadata.by, b.limits = windows, q.ChargeFrom, q.Shard, q.MergedBy, limits
	b.fewOfAssets = q.Only != nil && q.Only.FewOfAssets
	if q.Resolution > 0 && q.Resolution < scrape {
		b.warn("resolution %s is finer than the scrape interval: %s was used", allocation.ResolutionText(q.Resolution), allocation.ResolutionText(scrape))
		q.Resolution = scrape
	}
	b.sampling = timeline.Sampling{
		Start: q.Window.Start.UnixMilli(), End: q.Window.End.UnixMilli(), Step: q.Resolution.Milliseconds(),
		Lookback: timeline.Lookback, Interval: scrape.Milliseconds(),
	}
	b.addMargins(&q)
	b.loadedFrom = b.sampling.LoadStart()
	b.borders = append(b.borders, b.sampling.Start)
	for _, w := range b.windows {
		b.borders = append(b.borders, w.End.UnixMilli())
		set := allocation.NewSet(w, b.dict)
		set.Resolution, set.ScrapeInterval = q.Resolution, max(scrape.Round(time.Second), time.Second)
		b.sets, b.rows = append(b.sets, set), append(b.rows, allocation.NewRows(set))
	}
	return b, nil
}

// Sampling returns which samples the builder needs: from LoadStart() to End, on a grid of Step.
func (b *Builder) Sampling() timeline.Sampling { return b.sampling }

// warn adds a warning to every set's.
func (b *Builder) warn(format string, args ...any) {
	b.report.warnings = append(b.report.warnings, fmt.Sprintf(format, args...))
}

// count adds a warning about the things named. Names may repeat; without names there is no warning.
func (b *Builder) count(kind notices.Notice, names []string, more ...string) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > 0 {
		b.Warn(kind.Text(len(names), names, more...))
	}
}

// Warn adds a warning, such as a source's, to every set's.
func (b *Builder) Warn(text string) { b.report.warnings = append(b.report.warnings, text) }

// incoming is one series on its way into the builder.
type incoming struct {
	signals.Series
	key  []signals.Symbol
	tail []signals.Symbol // names and values after the signal's own key elements
	p    *timeline.Points
	// series is a timeline.SeriesID that distinguishes series of one key. It stands for the last element of keys where that is
	// a long text, such as a cgroup path; else it is 0.
	series uint64
}

func (s *incoming) object() objectKey { return objectKey{s.key[0], s.key[1], s.key[2]} }
func (s *incoming) pod() podKey       { return podKey{s.object(), s.key[3], 0} }

// Add takes the points of a series that the last step asked for. Signal.Key describes the key. Add keeps neither key nor p. It refuses
// series of signals that are not added in this phase: usage before everything else was added, or the other way round.
func (b *Builder) Add(series signals.Series, key []signals.Symbol, p *timeline.Points) error {
	if series.Signal.IsIntegrated() {
		return b.usage.add(series, key, p)
	}
	s, err := b.look(series, key, p)
	if err != nil {
		return err
	}
	b.at = s
	if err := adders[series.Signal](b, &b.at); err != nil {
		return err
	}
	if b.counts {
		b.added++
	}
	return b.watch()
}

// look checks a series before it is added.
func (b *Builder) look(series signals.Series, key []signals.Symbol, p *timeline.Points) (incoming, error) {
	n := len(series.Signal.Key())
	if len(key) < n {
		return incoming{}, fmt.Errorf("add %s: key of %d elements, want %d", series.Signal, len(key), n)
	}
	if !b.takes(series.Signal) {
		return incoming{}, fmt.Errorf("add %s: out of order", series.Signal)
	}
	out := incoming{Series: series, key: key[:n], tail: key[n:], p: p}
	if series.Signal.HasSeriesKey() {
		if out.series = p.Series(); out.series == 0 {
			out.series = timeline.SeriesID(key[n-1].Value())
		}
	}
	return out, nil
}

// takes reports whether series of a signal may be added in this phase.
func (b *Builder) takes(s signals.Signal) bool {
	switch b.phase {
	case gathering:
		return !s.IsIntegrated()
	case measuring:
		return s.IsIntegrated()
	case correcting:
		return s.IsUsage()
	default:
		return s.IsMetadata() && len(b.pods.metadata.by) > 0
	}
}

// samplingOf returns how to sample the points of a series.
func (b *Builder) samplingOf(s *incoming) timeline.Sampling {
	sampling := b.sampling
	sampling.End = max(sampling.End, b.evidence.usageUntil)
	if s.Unmarked {
		return sampling.Unmarked()
	}
	return sampling
}

func (b *Builder) addRunning(s *incoming) error {
	if b.skipsAlternative(s) {
		return nil
	}
	c, steps := b.container(s), b.shared.Sights(b.samplingOf(s), s.p)
	if s.key[5] != none {
		c.pod.hint = s.key[5]
	}
	b.shared.Add(&c.running, s.Rank, steps)
	return nil
}

func (b *Builder) addStarted(s *incoming) error {
	if b.skipsAlternative(s) {
		return nil
	}
	c, steps := b.container(s), b.samplingOf(s).Reports(s.p)
	if s.Rank == 0 {
		c.started = timeline.Max(c.started, steps)
	} else {
		c.created = timeline.Max(c.created, steps)
	}
	return nil
}

func (b *Builder) addTerminated(s *incoming) error {
	c := b.container(s)
	c.ended = timeline.Max(c.ended, b.sampling.Reports(s.p))
	return nil
}

func (b *Builder) addRequest(s *incoming) error {
	b.shared.Add(&b.container(s).request[s.Resource], s.Rank, b.requestsOf(s))
	return nil
}

func (b *Builder) addLimit(s *incoming) error {
	b.shared.Add(&b.container(s).limit[s.Resource], s.Rank, b.shared.Steps(b.sampling, s.p))
	return nil
}

// finalizeUsage ends a phase of usage. In time that no usage series covers, the last known usage is held, or only the request is
// charged. again has the stretches in which nodes were allocated beyond their capacity. The usage of each is added
// again, so that the containers above their requests at that instant give up the excess.
func (b *Builder) finalizeUsage() (again []excess, err error) {
	if b.phase != measuring && b.phase != correcting {
		return nil, errors.New("finalize usage: out of order")
	}
	if err := b.run(b.measureRestarted, b.measureDevices, b.holdUsage); err != nil || b.phase == correcting {
		b.phase = finalized
		return nil, err
	}
	b.count(notices.UnseenUsage, b.outages.holes.names, notices.Clocks(b.outages.holes.when))
	if again, b.phase = b.findOvercommit(), finalized; len(again) > 0 {
		b.phase = correcting
	}
	return again, b.stopped
}

// revisit begins a span whose usage is added again.
func (b *Builder) revisit(s Span) {
	b.measureRestarted()
	b.again = s
}

// Sets returns the finished sets, oldest first. It fails with ErrNothing, with the error of the context or of the budget, or if Next has not
// returned nil yet.
func (b *Builder) Sets() ([]*allocation.Set, error) {
	if b.stopped == nil && b.phase != finalized {
		b.stopped = errors.New("make sets: usage is not finalized")
	}
	if b.stopped != nil {
		return nil, b.stopped
	}
	b.count(notices.KnownByUsage, b.report.discovered)
	if n := b.usage.unmatched; n > 0 {
		b.Warn(notices.UnmatchedUsage.Text(n, nil))
	}
	if err := b.run(b.describeShown, b.warnLeaps, b.warnIncomplete, b.reconcileNodes, b.chargeAssets, b.warnSuspiciousPrices); err != nil {
		return nil, err
	}
	warnings := slices.Compact(slices.Sorted(slices.Values(b.report.warnings)))
	sets := slices.Clone(b.sets[b.first:b.last])
	for i, s := range sets {
		var err error
		if sets[i], err = s.OfShard(b.shard); err != nil {
			return nil, err
		}
		sets[i].Warnings, sets[i].Incomplete = warnings, b.evidence.incomplete
		if err = metadata.Defer(sets[i]); err != nil {
			return nil, err
		}
	}
	return sets, nil
}
