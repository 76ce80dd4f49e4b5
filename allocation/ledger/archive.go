package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/places"
)

// writeTimeout bounds the writing of one set.
const writeTimeout = 5 * time.Minute

// errHistory marks errors of the history, for which questions are answered without it.
var errHistory = errors.New("the history fails")

// Archive is a History and what is known of it: which sets are damaged, and whether reading and writing work. It reads within the
// bounds of memory and concurrency. It is safe for concurrent use.
type Archive struct {
	history History
	logger  log.Logger
	clock   Clock
	memory  *memory.Budget
	readers places.Places // of questions that read the history
	stores  bool          // see Options.Stores

	mu        sync.Mutex
	damaged   map[setKey]bool // sets that count as missing until they are written again
	readErr   error           // of the last reading
	writeErr  error           // of the last writing
	lastWrite time.Time
}

func newArchive(h History, logger log.Logger, o *Options) *Archive {
	return &Archive{
		history: h, logger: logger, clock: o.clock(), memory: o.Memory, stores: o.Stores(), writeErr: o.Unwritable,
		readers: places.New(2 * o.MaxConcurrency), damaged: map[setKey]bool{},
	}
}

// setKey identifies a set of a history.
type setKey struct {
	kind       Kind
	start, end int64
}

func keyOf(k Kind, w allocation.Window) setKey { return setKey{k, w.Start.Unix(), w.End.Unix()} }

// window is the window of the set on the clock of a zone.
func (k setKey) window(zone *time.Location) allocation.Window {
	return allocation.Window{Start: time.Unix(k.start, 0).In(zone), End: time.Unix(k.end, 0).In(zone)}
}

// All are the sets of a kind that overlap w, also those found to be damaged; all for the zero window.
func (a *Archive) All(ctx context.Context, k Kind, w allocation.Window) ([]Kept, error) {
	return a.history.List(ctx, k, w)
}

// List are the sets of a kind that overlap w and can be used.
func (a *Archive) List(ctx context.Context, k Kind, w allocation.Window) (*Listing, error) {
	return a.usable(ctx, k, w, &allocation.Query{Stored: true})
}

// usable are the sets of a kind that overlap w and answer q.
func (a *Archive) usable(ctx context.Context, k Kind, w allocation.Window, q *allocation.Query) (*Listing, error) {
	list, err := a.history.List(ctx, k, w)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Listing{slices.DeleteFunc(list, func(kept Kept) bool {
		asked := kept.Complete && kept.Resolution == max(q.Resolution, 0) // exact hours serve AutoResolution
		return !q.Stored && !asked || a.damaged[keyOf(k, kept.Window)]
	})}, nil
}

// Check returns an error if a set that was just written is not listed: writing it again and again would not help.
func (a *Archive) Check(ctx context.Context, k Kind, w allocation.Window) error {
	kept, err := a.List(ctx, k, w)
	if err == nil && kept.Longest(w.Start, w) == nil {
		err = fmt.Errorf("%s of %s was written, but the history does not have it", k, w.Start.UTC().Format(time.RFC3339))
	}
	return err
}

// Read reads sets, after drawing memory for them. release gives that back once the sets are no longer used; it is never nil.
func (a *Archive) Read(ctx context.Context, kept []Kept, only *allocation.Projection) (sets []*allocation.Set, release func(), err error) {
	if len(kept) == 0 {
		return nil, func() {}, nil
	}
	release, err = a.memory.Take(ctx, remedy, bytesOf(kept, only))
	if err != nil {
		rows := 0
		for i := range kept {
			rows += kept[i].Rows
		}
		return nil, release, fmt.Errorf("read %d allocations of %d hours or days: %w", rows, len(kept), err)
	}
	sets, err = a.history.Read(ctx, kept, only)
	if err == nil {
		return sets, release, nil
	}
	release()
	var damaged *DamagedError
	if errors.As(err, &damaged) || errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		return nil, func() {}, err
	}
	return nil, func() {}, fmt.Errorf("%w: %w", errHistory, err)
}

// Enter waits for a place among the readers of the history, for a query of so much time.
func (a *Archive) Enter(ctx context.Context, d time.Duration) (leave func(), err error) {
	if leave, err = a.readers.Take(places.About(ctx, d)); err != nil {
		return nil, fmt.Errorf("wait to read the history: %w", err)
	}
	return leave, nil
}

// Write keeps a set. It replaces a damaged one, whatever keep says. A failure is logged. A set that breaks a law is never complete, so that it is
// computed again.
func (a *Archive) Write(ctx context.Context, set *allocation.Set, keep Keep) error {
	if err := passes.Check(set); err != nil && keep.Complete && keep.Kind != Counted {
		level.Error(a.logger).Log("msg", "What was computed does not add up: it is kept as incomplete; please report it", "kind", keep.Kind, "start", set.Window.Start.UTC().Format(time.RFC3339), "err", err)
		keep.Complete = false
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	key := keyOf(keep.Kind, set.Window)
	keep.Zone, keep.Replace = a.clock.Zone, keep.Replace || a.isDamaged(key)
	err := a.history.Write(ctx, set, keep)
	if err == nil {
		a.mu.Lock()
		delete(a.damaged, key)
		a.lastWrite = a.clock.Now()
		a.mu.Unlock()
	}
	a.recordWrite(err)
	return err
}

// ReplaceHour replaces a stored hour by a set. The old one stays as a counted hour.
func (a *Archive) ReplaceHour(ctx context.Context, set *allocation.Set) error {
	if err := a.keepCounted(ctx, set.Window); err != nil {
		return err
	}
	return a.Write(ctx, set, Keep{Kind: Hours, Complete: !set.Incomplete, Replace: true})
}

// keepHour stores a computed hour. If it replaces a damaged hour, the readable part of that one stays as a counted hour. Where nothing is
// stored it does nothing.
func (a *Archive) keepHour(ctx context.Context, set *allocation.Set) error {
	if !a.stores {
		return nil
	}
	if a.isDamaged(keyOf(Hours, set.Window)) {
		if err := a.keepCounted(ctx, set.Window); err != nil {
			a.recordWrite(err)
			return err
		}
	}
	return a.Write(ctx, set, Keep{Kind: Hours, Complete: !set.Incomplete})
}

// keepCounted keeps an hour as counters have counted it, before another set replaces it. If it cannot be read, its counts are
// lost.
func (a *Archive) keepCounted(ctx context.Context, hour allocation.Window) error {
	all, err := a.All(ctx, Hours, hour)
	if err != nil {
		return fmt.Errorf("find the hour as it was counted: %w", err)
	}
	k := (&Listing{all}).Exact(hour)
	if k == nil {
		return nil
	}
	old, release, err := a.Read(ctx, []Kept{*k}, nil)
	defer release()
	if _, damaged := errors.AsType[*DamagedError](err); damaged || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the hour as it was counted: %w", err)
	}
	return a.Write(ctx, old[0], Keep{Kind: Counted, Complete: true})
}

// Tidy removes obsolete files, and sets that end at or before t if t is not zero.
func (a *Archive) Tidy(ctx context.Context, t time.Time) error {
	if h, ok := a.history.(Tidier); ok {
		return h.Tidy(ctx, t)
	}
	return nil
}

// Invalidate makes a kept set count as missing until it is written again.
func (a *Archive) Invalidate(k Kind, w allocation.Window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.damaged[keyOf(k, w)] = true
}

// Distrust makes a damaged set count as missing until it is computed and written again.
func (a *Archive) Distrust(d *DamagedError) {
	msg := "History is damaged and will be computed again"
	if !a.stores {
		msg = "History is damaged and taken for missing, for it is only read here"
	}
	level.Error(a.logger).Log("msg", msg, "kind", d.Kind, "start", d.Window.Start.UTC().Format(time.RFC3339), "err", d.Err)
	a.Invalidate(d.Kind, d.Window)
}

// RecordDamage distrusts the set that an error of Read says is damaged, and returns the error.
func (a *Archive) RecordDamage(err error) error {
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		a.Distrust(damaged)
	}
	return err
}

func (a *Archive) isDamaged(key setKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.damaged[key]
}

// Damaged are the windows of the damaged sets of a kind, oldest first.
func (a *Archive) Damaged(k Kind) (windows []allocation.Window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.damaged {
		if key.kind == k {
			windows = append(windows, key.window(a.clock.Zone))
		}
	}
	slices.SortFunc(windows, func(x, y allocation.Window) int { return cmp.Or(x.Start.Compare(y.Start), x.End.Compare(y.End)) })
	return windows
}

// Health says whether the history works.
type Health struct {
	ReadErr, WriteErr error     // of the last reading and writing, nil where they worked
	LastWrite         time.Time // that worked; zero before
}

// Health returns the current health.
func (a *Archive) Health() Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Health{a.readErr, a.writeErr, a.lastWrite}
}

// RecordRead records whether reading worked, and logs a change.
func (a *Archive) RecordRead(err error) {
	a.changed(&a.readErr, err, "The history fails: answers are computed without it", "The history works again")
}

// recordWrite records whether writing worked, and logs a change.
func (a *Archive) recordWrite(err error) {
	a.changed(&a.writeErr, err, "Writing to the history fails, it is tried again", "Writing to the history works again")
}

// changed replaces the result of the last try, and logs a change from or to a failure.
func (a *Archive) changed(last *error, err error, fails, works string) {
	a.mu.Lock()
	was := *last
	*last = err
	a.mu.Unlock()
	switch {
	case err != nil && was == nil:
		level.Error(a.logger).Log("msg", fails, "err", err)
	case err == nil && was != nil:
		level.Info(a.logger).Log("msg", works)
	}
}
