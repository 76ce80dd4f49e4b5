// Package ledger answers queries for sets: from the history of closed hours and days, and what is not there by computing it:
// once however many ask, few at a time, within a deadline. Hours that it computes for stored queries it keeps.
//
// Its loop keeps the last closed hour for metrics and readiness, and the history complete: each closed hour once, newest
// first, so that metrics come first and the past after them; days of the hours; and counters of the month.
package ledger

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/places"
	"github.com/promcost/promcost/internal/singleflight"
)

// Computer computes the sets of a query, oldest first. An answer is shared by all who ask for it and must not be changed.
type Computer interface {
	Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error)
}

// Defaults of Options.
const (
	DefaultMaxConcurrency = 2
	DefaultMaxQueue       = 32
	DefaultTimeout        = 2 * time.Minute
	DefaultGrace          = 10 * time.Minute
	DefaultBackfill       = 7 * 24 * time.Hour
)

// Options limit a Ledger and set its loop. Zero fields take the defaults.
type Options struct {
	// MaxConcurrency bounds the computations that run at once. One more runs where it is of an hour at most.
	MaxConcurrency int
	// MaxQueue bounds the computations that wait for one that runs; those beyond are refused with allocation.ErrBusy.
	MaxQueue int
	// Timeout bounds one computation, its waiting included.
	Timeout time.Duration
	// Grace is how long after its end an hour is computed by Run, for samples that come late. Below 0 there is none.
	Grace time.Duration
	// Resolution is that of the hours that Run computes; 0 is exact mode, allocation.AutoResolution leaves it to the source.
	Resolution time.Duration
	// Zone is the time zone on whose clock hours begin. The default is UTC.
	Zone *time.Location
	// Backfill is how far back Run computes closed hours that the history lacks. It always goes back to the beginning of the
	// month. Below 0 it goes no further.
	Backfill time.Duration
	// Retention is how long sets are kept; 0 is for ever.
	Retention time.Duration
	// Memory is what computations, readings of the history and answers kept in memory draw from. Questions draw from the account of
	// their context where that has one. The default has no bound.
	Memory *memory.Budget
	// Metering says what counters there are. It is asked for each count; where it gives another one, the month is counted
	// anew. The default is allocation.DefaultMetering.
	Metering func() *allocation.Metering
	// Changed is told by Run when Latest or Accrued give something new. The default is nobody.
	Changed func()
	// ReadOnly leaves the history to others: nothing is computed for it or removed from it.
	ReadOnly bool
	// Settled says whether the source has all of its history yet: until then, nothing is kept. The default is that it has.
	Settled func() bool
	// Begin is when the data of the source begin within w: it has nothing of the time before. The default is that this is not known.
	Begin func(ctx context.Context, w allocation.Window) (time.Time, error)
	// Now is the clock that says which hour is closed. The default is time.Now.
	Now func() time.Time
	// Sleep is how Run waits: for so long, unless ctx ends before, which it reports as false. The default takes that time.
	Sleep func(ctx context.Context, d time.Duration) bool
}

func (o Options) withDefaults() Options {
	o.MaxConcurrency = cmp.Or(max(o.MaxConcurrency, 0), DefaultMaxConcurrency)
	o.MaxQueue = cmp.Or(max(o.MaxQueue, 0), DefaultMaxQueue)
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.Grace = max(cmp.Or(o.Grace, DefaultGrace), 0)
	o.Backfill = max(cmp.Or(o.Backfill, DefaultBackfill), 0)
	o.Zone = cmp.Or(o.Zone, time.UTC)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Memory == nil {
		o.Memory = memory.New(0)
	}
	if o.Metering == nil {
		metering := allocation.DefaultMetering()
		o.Metering = func() *allocation.Metering { return metering }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Begin == nil {
		o.Begin = func(_ context.Context, w allocation.Window) (time.Time, error) { return w.Start, nil }
	}
	if o.Settled == nil {
		o.Settled = func() bool { return true }
	}
	return o
}

// Ledger is safe for concurrent use.
type Ledger struct {
	computer Computer
	history  History // nil for none
	logger   log.Logger
	opts     Options
	slots    places.Places // of computations
	readers  places.Places // of answers that are made of the history

	flights singleflight.Group[flightKey, computed]

	mu      sync.Mutex
	waiting int // computations in the queue
	stats   Stats
	hour    hour

	filling   map[int64]*hourFlight // closed hours that are being computed, by start
	barren    map[int64]barren      // closed hours that the source has nothing of, by start
	again     map[int64]again       // incomplete hours, by start
	damaged   map[setKey]bool       // what cannot be read and was not written again yet
	counting  *allocation.Accrued   // as far as hours are there
	accrued   *allocation.Accrued   // what is shown of it, nil until it is whole
	uncounted uncounted
	budgets   budgetCache
	spending  *allocation.Spending // how budgets stand; nil before it is known
	store     storeState
	begin     time.Time // of the data of the source, as far as that is known: it has nothing of the time before
	outage    outage
	// generation counts the calls of Refresh: computations that began before are not joined after.
	generation uint64
	refreshed  chan struct{} // holds an element while Run has a Refresh to answer
	cache      cache

	closing context.Context // until Close
	end     context.CancelFunc
	working sync.WaitGroup // hours that are computed and kept, though nobody may wait for them
}

// remedy says how a question of a Ledger becomes smaller.
const remedy = "use a shorter window, a longer step, accumulate or aggregate"

// Stats count what a Ledger has done.
type Stats struct {
	Computations uint64        // ended, well or not
	Errors       uint64        // of them, those that ended in an error
	Duration     time.Duration // sum over them, without waiting
	LastDuration time.Duration // of the last one that ended well
	LastSuccess  time.Time     // when that was; zero before
	Running      int
	Waiting      int
}

// New returns a ledger over computer that keeps nothing. What goes wrong in the background is logged to logger.
func New(computer Computer, logger log.Logger, o Options) *Ledger {
	o = o.withDefaults()
	l := &Ledger{
		computer: computer, logger: logger, opts: o, slots: places.New(o.MaxConcurrency), readers: places.New(2 * o.MaxConcurrency),
		flights: singleflight.Group[flightKey, computed]{Release: computed.release}, filling: map[int64]*hourFlight{}, barren: map[int64]barren{}, again: map[int64]again{},
		damaged: map[setKey]bool{}, refreshed: make(chan struct{}, 1),
	}
	l.cache.account = o.Memory.OpenCache(l.evict)
	l.closing, l.end = context.WithCancel(context.Background())
	return l
}

// Close ends what is still computed, for questions that were given up too, and waits until nothing reads the source or writes to the
// history for them. What is to be computed after it is an error. It returns nil.
func (l *Ledger) Close() error {
	l.mu.Lock()
	l.end() // nothing begins from here on
	l.mu.Unlock()
	l.working.Wait()
	l.flights.Close()
	return nil
}

// NewKeeping returns a ledger over computer that keeps closed hours and days in a history.
func NewKeeping(computer Computer, h History, logger log.Logger, o Options) *Ledger {
	l := New(computer, logger, o)
	l.history = h
	return l
}

// Sets yields the sets of q, oldest first, or one error. Stored queries are answered from closed days, else closed hours,
// of the history; hours that are missing are computed at Options.Resolution and kept. Others take from the history what is
// exact or of their resolution and lies wholly within, if that saves much. What is missing and cannot be had is a warning of
// its set, as long as there is something else. Sets that are read may be of other dictionaries than those computed. Kept sets
// of a Stream are read some ahead of those that were yielded, however many they are.
//
// Queries that are equal while one of them is computed share that computation: it goes on as long as one of them waits for
// it. The sets must not be changed. Errors are those of the Computer, allocation.ErrBusy, ErrTooMuch, and that of ctx or of
// the deadline of the computation (context.DeadlineExceeded).
func (l *Ledger) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		ctx, _, done := l.opts.Memory.Within(places.About(ctx, q.Window.Duration()), remedy)
		defer done()
		if q.Stream && q.Stored && l.keeps() {
			if err := l.stream(ctx, q, func(s *allocation.Set) bool { return yield(s, nil) }); err != nil {
				yield(nil, err)
			}
			return
		}
		settled := l.opts.Settled()
		sets, err := l.answer(ctx, q)
		if !settled && allocation.HasNothing(err) {
			err = fmt.Errorf("answer %s: %w", describe(q), errUnsettled)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, s := range sets {
			if !yield(s, nil) {
				return
			}
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

// flightKey is a query as far as it tells computations apart.
type flightKey struct {
	start, end       int64 // Unix nanoseconds
	borders          string
	step, resolution time.Duration
	exactBelow       bool
	alone            bool
	after            time.Duration
	generation       uint64
}

// bordersKey tells borders of sets apart.
func bordersKey(borders []time.Time) string {
	var key []byte
	for _, t := range borders {
		key = binary.BigEndian.AppendUint64(key, uint64(t.UnixNano()))
	}
	return string(key)
}

// computed is the result of a computation, whose memory account holds until nobody uses it any more.
type computed struct {
	sets    []*allocation.Set
	bytes   int64 // that sets take
	account *memory.Account
}

// release gives back the memory.
func (c computed) release() { c.account.Close() }

// compute computes q. Equal queries share one computation while it runs.
func (l *Ledger) compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compute %s: %w", describe(q), err)
	}
	q.After = l.after(&q)
	l.mu.Lock()
	generation := l.generation
	l.mu.Unlock()
	key := flightKey{q.Window.Start.UnixNano(), q.Window.End.UnixNano(), bordersKey(q.Borders), q.Step, q.Resolution, q.ExactBelow, q.Alone, q.After, generation}
	answer, leave, err := l.flights.Do(ctx, key, func(ctx context.Context) (computed, error) { return l.fly(ctx, q) })
	defer leave()
	if err != nil {
		return nil, fmt.Errorf("compute %s: %w", describe(q), err)
	}
	if err := memory.Of(ctx).Draw(answer.bytes); err != nil {
		return nil, fmt.Errorf("answer %s: %w", describe(q), err)
	}
	return answer.sets, nil
}

// after is for how long after the sets of a query there are signals by now, as far as they are of use: in whole minutes, so that
// who asks at the same time shares a computation.
func (l *Ledger) after(q *allocation.Query) time.Duration {
	return min(max(l.opts.Now().Sub(q.Window.End).Truncate(time.Minute), 0), allocation.Evidence)
}

// fly runs a computation within the deadline, with an account of its own.
func (l *Ledger) fly(ctx context.Context, q allocation.Query) (computed, error) {
	account := l.opts.Memory.Open(remedy)
	ctx, cancel := context.WithTimeout(memory.With(ctx, account), l.opts.Timeout)
	defer cancel()
	sets, err := l.queued(ctx, q)
	if err == nil || ctx.Err() == nil { // what was given up tells nothing of the source
		l.sawSource(err)
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// What failed because of the deadline is the deadline's failure, not that of the source.
		err = fmt.Errorf("%w: it took longer than %s (%v)", context.DeadlineExceeded, l.opts.Timeout, err) //nolint:errorlint // the cause is not to be told apart
	}
	return computed{sets, allocation.SetsBytes(sets), account}, err
}

// queued computes q once there is a slot for it.
func (l *Ledger) queued(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	ctx = places.About(ctx, q.Window.Duration())
	leave, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	start := time.Now()
	sets, err := l.guarded(ctx, q)
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Computations++
	l.stats.Duration += took
	if err != nil {
		l.stats.Errors++
		return nil, err
	}
	l.stats.LastDuration, l.stats.LastSuccess = took, l.opts.Now()
	return sets, nil
}

// acquire takes a place, waiting in the queue if all are taken. Small questions find twice as long a queue: a queue full of large
// ones does not turn them away.
func (l *Ledger) acquire(ctx context.Context) (leave func(), err error) {
	if leave, ok := l.slots.Try(ctx); ok {
		return leave, nil
	}
	most := l.opts.MaxQueue
	if places.IsSmall(ctx) {
		most *= 2
	}
	l.mu.Lock()
	full := l.waiting >= most
	if !full {
		l.waiting++
	}
	l.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%w: %d run and %d wait already: try again later", allocation.ErrBusy, l.opts.MaxConcurrency, most)
	}
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	return l.slots.Take(ctx)
}

// guarded computes q. A panic becomes an error, for it would end the process: nobody else is on this goroutine's stack.
func (l *Ledger) guarded(ctx context.Context, q allocation.Query) (sets []*allocation.Set, err error) {
	defer func() {
		if r := recover(); r != nil {
			level.Error(l.logger).Log("msg", "computation panicked", "query", describe(q), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			sets, err = nil, fmt.Errorf("internal error: %v: report it with the log of this time", r)
		}
	}()
	return l.computer.Compute(ctx, q)
}

// describe names a query in errors and logs.
func describe(q allocation.Query) string {
	return q.Window.Start.Format(time.RFC3339) + " to " + q.Window.End.Format(time.RFC3339)
}
