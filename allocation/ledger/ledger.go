// Package ledger answers queries for sets from the history of closed hours and days. It computes what is missing there, once
// for all callers, a few computations at a time and within a deadline. It stores the hours that it computes for stored
// queries.
//
// Package recorder keeps the history complete without queries.
package ledger

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/allocation/singleflight"
)

// Computer computes the sets of a query, oldest first. All callers share an answer, so it must not be changed.
type Computer interface {
	Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error)
}

// Defaults of Options.
const (
	DefaultMaxConcurrency = 2
	DefaultMaxQueue       = 32
	DefaultTimeout        = 2 * time.Minute
	DefaultGrace          = 10 * time.Minute
)

// Options are the limits of a Ledger and what it stores. Zero fields take the defaults.
type Options struct {
	// MaxConcurrency bounds the computations that run at once. One more may run if it is of an hour at most.
	MaxConcurrency int
	// MaxQueue bounds the computations that wait to run. Others are refused with allocation.ErrBusy.
	MaxQueue int
	// Timeout bounds one computation, its waiting included.
	Timeout time.Duration
	// Grace is how long after its end an hour is closed, so that late samples count. Below 0 there is none.
	Grace time.Duration
	// Resolution is the resolution of stored hours. 0 is exact mode; allocation.AutoResolution leaves it to the source.
	Resolution time.Duration
	// ExactBelow is that of allocation.Query, for stored hours.
	ExactBelow bool
	// Levels says that stored hours have the levels of usage.
	Levels bool
	// Zone is the time zone on whose clock hours begin. The default is UTC.
	Zone *time.Location
	// Memory is what computations, readings of the history and cached answers draw from. Questions draw from the account of
	// their context where that has one. The default has no bound.
	Memory *memory.Budget
	// ReadOnly leaves the history to others: nothing is computed for it or removed from it.
	ReadOnly bool
	// Unwritable is why nothing can be stored in the history: what it lacks is computed for each question. The default is that it can.
	Unwritable error
	// Loaded says whether the source has loaded all of its history: until then, nothing is kept. The default is that it has.
	Loaded func() bool
	// Begin is when the data of the source begin within w: it has nothing of the time before. The default is that this is not known.
	Begin func(ctx context.Context, w allocation.Window) (time.Time, error)
	// Now is the clock that says which hour is closed. The default is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.MaxConcurrency = cmp.Or(max(o.MaxConcurrency, 0), DefaultMaxConcurrency)
	o.MaxQueue = cmp.Or(max(o.MaxQueue, 0), DefaultMaxQueue)
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.Grace = max(cmp.Or(o.Grace, DefaultGrace), 0)
	o.Zone = cmp.Or(o.Zone, time.UTC)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Memory == nil {
		o.Memory = memory.New(0)
	}
	if o.Begin == nil {
		o.Begin = func(_ context.Context, w allocation.Window) (time.Time, error) { return w.Start, nil }
	}
	if o.Loaded == nil {
		o.Loaded = func() bool { return true }
	}
	return o
}

// resolved is q with the resolution of stored hours.
func (o *Options) resolved(q allocation.Query) allocation.Query {
	q.Resolution, q.ExactBelow = o.Resolution, o.ExactBelow
	return q
}

// toStore is the question for hours that are stored: for all that the history has of them.
func (o *Options) toStore(q allocation.Query) allocation.Query {
	q.Only = (&allocation.Projection{Levels: o.Levels}).Union(nil)
	q.Alone = true
	return o.resolved(q)
}

// Stores reports whether computed hours and days are stored in the history.
func (o *Options) Stores() bool { return !o.ReadOnly && o.Unwritable == nil }

// clock is the clock of the hours.
func (o *Options) clock() Clock { return Clock{Zone: o.Zone, Grace: o.Grace, Now: o.Now} }

// Ledger answers queries. It is safe for concurrent use.
type Ledger struct {
	computer Computer
	logger   log.Logger
	opts     Options
	clock    Clock
	archive  *Archive // nil for none
	filler   *filler  // computes hours that the archive does not have
	cache    *cache
	outage   outage
	flights  singleflight.Group[flightKey, computed]
	slots    places.Places // of computations
	// generation counts the calls of Refresh: computations that began before are not joined after.
	generation atomic.Uint64
	latest     atomic.Pointer[allocation.Set] // see SetLatest; nil for none

	mu      sync.Mutex
	waiting int // computations in the queue
	stats   Stats
}

// remedy tells users how a query takes less memory.
const remedy = "use a shorter window, a longer step, accumulate or aggregate"

// Stats count what a Ledger has done.
type Stats struct {
	Computations uint64        // ended, well or not
	Errors       uint64        // computations that ended in an error
	Duration     time.Duration // sum over them, without waiting
	LastDuration time.Duration // of the last successful computation
	LastSuccess  time.Time     // when that was; zero before
	Running      int
	Waiting      int
}

// New returns a ledger over computer that stores nothing. Errors in the background go to logger.
func New(computer Computer, logger log.Logger, o Options) *Ledger {
	o = o.withDefaults()
	l := &Ledger{
		computer: computer, logger: logger, opts: o, clock: o.clock(), slots: places.New(o.MaxConcurrency), cache: newCache(o.Memory, o.Now),
		outage: outage{now: o.Now}, flights: singleflight.Group[flightKey, computed]{Release: computed.release},
	}
	l.filler = newFiller(l)
	return l
}

// NewKeeping returns a ledger over computer that keeps closed hours in a history, and answers from its hours and days.
func NewKeeping(computer Computer, h History, logger log.Logger, o Options) *Ledger {
	l := New(computer, logger, o)
	l.archive = newArchive(h, logger, &l.opts)
	return l
}

// Close stops all computations, also for queries that were abandoned, and waits until nothing reads the source or writes to
// the history for them. Later computations fail. It returns nil.
func (l *Ledger) Close() error {
	l.filler.close()
	l.flights.Close()
	return nil
}

// Options are the options of the ledger, with the defaults.
func (l *Ledger) Options() Options { return l.opts }

// Clock is the clock of the hours.
func (l *Ledger) Clock() Clock { return l.clock }

// Archive is the history, nil if the ledger keeps nothing.
func (l *Ledger) Archive() *Archive { return l.archive }

// Keeps reports whether the ledger keeps history by now.
func (l *Ledger) Keeps() bool { return l.archive != nil && l.opts.Loaded() }

// Refresh says that the Computer answers otherwise from now on, such as by other prices: a question does not share a computation
// that began before.
func (l *Ledger) Refresh() {
	l.generation.Add(1)
	l.outage.set(nil) // it may be another source
}

// SetLatest gives the ledger the set of the last closed hour, which it then need not compute.
func (l *Ledger) SetLatest(set *allocation.Set) { l.latest.Store(set) }

// Trim drops cached answers that were not used for a while.
func (l *Ledger) Trim() { l.cache.dropOld() }

// WithAccount returns a context with a memory account for a query: the account of ctx if it has one. done closes the account.
func (l *Ledger) WithAccount(ctx context.Context) (own context.Context, done func()) {
	own, _, done = l.opts.Memory.Within(ctx, remedy)
	return own, done
}

// Sets yields the sets of q, oldest first, or an error. Stored queries are answered from closed days of the history, or else
// from closed hours; missing hours are computed at Options.Resolution and stored. Other queries use stored sets that lie
// inside the window and are exact or of the same resolution, if that saves much. Time without a result becomes a warning of
// its set, as long as other data exist. Sets that are read may have other dictionaries than computed ones.
//
// The sets of a Stream are yielded as they are made, with a few read ahead, however many there are. Others are collected
// first, so that an error comes without sets.
//
// Equal queries share a computation while it runs. It runs as long as one of them waits for it. The sets must not be changed.
// Errors are those of the Computer, allocation.ErrBusy, ErrTooMuch, and that of ctx or of the computation's deadline
// (context.DeadlineExceeded).
func (l *Ledger) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	q.Bills = allocation.Billed{} // bills matter to others
	return func(yield func(*allocation.Set, error) bool) {
		ctx, done := l.WithAccount(places.About(ctx, q.Window.Duration()))
		defer done()
		loaded := l.opts.Loaded()
		err := l.answer(ctx, q, func(s *allocation.Set) bool { return yield(s, nil) })
		if !loaded && allocation.HasNothing(err) {
			err = fmt.Errorf("answer %s: %w", describe(q), errLoading)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Stats are the counts up to now.
func (l *Ledger) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Running, s.Waiting = l.slots.Taken(), l.waiting
	return s
}
