package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Hours yields the closed hours of the zone's clock that lie within w, oldest first and one set each. Kept hours are read, with
// the columns that only asks for; the others are computed at Options.Resolution and kept. Some hours are read ahead while the caller
// looks at one; few are in memory at a time.
//
// An hour without a result is an error beside an empty set of its window, and the hours after it follow all the same. The error is
// allocation.ErrNoData where the source has nothing of the hour, but not where a history that is only read has a set that is not
// whole. Once the source has failed (allocation.ErrUpstream without ErrNoData), it is not asked for further hours, nor by other readings
// for a while. The hours of a source that has not loaded all of its history yet are Incomplete.
//
// An error without a set is the last one: that of ctx, or of a history that cannot be listed (allocation.ErrUpstream). The sets must
// not be changed.
func (l *Ledger) Hours(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return l.eachHour(ctx, w, only, false)
}

// Counted is Hours with each hour as counters have counted it: as it was when it was counted first, and empty where the
// source had nothing then. The sums of these hours since a month began equal the counters of a recorder to the last bit.
func (l *Ledger) Counted(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error] {
	return l.eachHour(ctx, w, only, true)
}

// errLoading is the error of an hour that may have data once the source has loaded all of its history.
var errLoading = fmt.Errorf("%w: the source has not loaded all of its history yet: ask again later", allocation.ErrUpstream)

// batchHours is how many kept hours are read at once, over one dictionary.
const batchHours = 12

// hourBatch is some hours, with a set and an error each, or a fatal error.
type hourBatch struct {
	sets    []*allocation.Set
	errs    []error
	loading bool // the source had not loaded all of its history when it was asked
	fatal   error
	release func() // gives back the memory of the sets
}

func (l *Ledger) eachHour(ctx context.Context, w allocation.Window, only *allocation.Projection, counted bool) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		ctx, done := l.WithAccount(ctx)
		defer done()
		work, cancel := context.WithCancel(ctx)
		batches := make(chan hourBatch, 1)
		defer func() {
			cancel()
			for batch := range batches { // until the reader has stopped
				batch.release()
			}
		}()
		r := &hourReader{ledger: l, only: only, counted: counted, explain: explainer{ledger: l, window: w}}
		go func() {
			defer close(batches)
			if err := r.run(work, w, batches); err != nil {
				batches <- hourBatch{fatal: err, release: func() {}}
			}
		}()
		for batch := range batches {
			batch.markLoading()
			for i, set := range batch.sets {
				if !yield(set, batch.errs[i]) {
					batch.release()
					return
				}
			}
			batch.release()
			if batch.fatal != nil {
				yield(nil, batch.fatal)
				return
			}
		}
	}
}

// markLoading marks the hours of a source that was still loading: data may be missing.
func (b *hourBatch) markLoading() {
	if !b.loading {
		return
	}
	for i, set := range b.sets {
		switch {
		case errors.Is(b.errs[i], allocation.ErrNoData):
			b.errs[i] = errLoading
		case b.errs[i] == nil:
			own := *set // others may have it, too
			own.Incomplete = true
			b.sets[i] = &own
		}
	}
}

// hourReader reads and computes hours.
type hourReader struct {
	ledger  *Ledger
	only    *allocation.Projection
	counted bool
	failed  error // of the source, after which the source is not asked any more
	explain explainer
	// listings have the kept hours. The first listing that has an hour counts. There are none where the ledger keeps nothing.
	listings []*Listing
}

// run sends the hours within w.
func (r *hourReader) run(ctx context.Context, w allocation.Window, out chan<- hourBatch) error {
	if err := r.list(ctx, w); err != nil {
		return err
	}
	for hours := r.ledger.clock.ClosedHours(w); len(hours) > 0; {
		n, batch := r.next(hours)
		batch.loading = !r.ledger.opts.Loaded()
		if err := r.fetch(ctx, hours[:n], batch); err != nil {
			return err
		}
		select {
		case out <- *batch:
		case <-ctx.Done():
			batch.release()
			return r.ledger.outage.ended(ctx)
		}
		hours = hours[n:]
	}
	return nil
}

// list finds the stored sets within w.
func (r *hourReader) list(ctx context.Context, w allocation.Window) error {
	if !r.ledger.Keeps() || !w.Start.Before(w.End) {
		return nil
	}
	order := []Kind{Hours}
	if r.counted {
		order = []Kind{Counted, Hours}
	}
	r.listings = nil
	for _, kind := range order {
		s, err := r.ledger.archive.List(ctx, kind, w)
		if err != nil {
			if ctx.Err() == nil { // else the caller has left: the history may work
				r.ledger.archive.RecordRead(err)
			}
			return fmt.Errorf("%w: list the hours of the history: %w", allocation.ErrUpstream, err)
		}
		r.listings = append(r.listings, s)
	}
	return nil
}

// find returns the kept set of an hour, nil if there is none. empty reports whether the hour lies in time of which nothing was counted.
func (r *hourReader) find(h allocation.Window) (kept *Kept, empty bool) {
	for i, s := range r.listings {
		if k := s.Longest(h.Start, h); k != nil && k.Window.Duration() == time.Hour {
			return k, false
		}
		if r.counted && i == 0 && s.Covers(h) {
			return nil, true
		}
	}
	return nil, false
}

// next is how many of hours are read or computed at once, and an empty batch for them.
func (r *hourReader) next(hours []allocation.Window) (n int, batch *hourBatch) {
	kind := func(h allocation.Window) int {
		kept, empty := r.find(h)
		switch {
		case kept != nil:
			return 0
		case empty:
			return 1
		}
		return 2
	}
	first := kind(hours[0])
	most := [...]int{batchHours, batchHours, maxRun}[first]
	for n = 1; n < min(len(hours), most) && kind(hours[n]) == first && (first < 2 || r.ledger.clock.joins(hours[:n], hours[n])); {
		n++
	}
	return n, &hourBatch{sets: make([]*allocation.Set, n), errs: make([]error, n), release: func() {}}
}

// fetch fills a batch. It lists the history again where a set turns out to be damaged or was removed meanwhile, and computes that hour.
func (r *hourReader) fetch(ctx context.Context, hours []allocation.Window, batch *hourBatch) error {
	for try := 0; ; try++ {
		err := r.fetchOnce(ctx, hours, batch)
		var damaged *DamagedError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return r.ledger.outage.ended(ctx)
		case errors.Is(err, allocation.ErrTooMuch), errors.Is(err, allocation.ErrBusy): // there is no memory for it
			return err
		case try >= maxDamaged:
		case errors.As(err, &damaged):
			r.ledger.archive.Distrust(damaged)
			if err = r.list(ctx, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}); err == nil {
				continue
			}
		case errors.Is(err, fs.ErrNotExist):
			if err = r.list(ctx, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End}); err == nil {
				continue
			}
		}
		for i, h := range hours {
			if batch.sets[i] == nil {
				batch.fail(i, h, err)
			}
		}
		return nil
	}
}

// fail makes err the result of an hour of the batch.
func (b *hourBatch) fail(i int, h allocation.Window, err error) {
	b.sets[i], b.errs[i] = allocation.NewSet(h, allocation.NewDict()), err
}

// fetchOnce fills a batch, by the listings as they are.
func (r *hourReader) fetchOnce(ctx context.Context, hours []allocation.Window, batch *hourBatch) error {
	var kept []Kept
	var at, missing []int
	for i, h := range hours {
		switch k, empty := r.find(h); {
		case k != nil:
			kept, at = append(kept, *k), append(at, i)
		case empty:
			batch.sets[i], batch.errs[i] = allocation.NewSet(h, allocation.NewDict()), nil
		default:
			missing = append(missing, i)
		}
	}
	sets, release, err := r.read(ctx, kept)
	if err != nil {
		return err
	}
	before := batch.release
	batch.release = func() {
		before()
		release()
	}
	for i, s := range sets {
		batch.sets[at[i]], batch.errs[at[i]] = s, nil
	}
	if len(missing) == 0 {
		return nil
	}
	return r.compute(ctx, hours, missing, batch)
}

// read reads stored hours, once there is a place among the readers.
func (r *hourReader) read(ctx context.Context, kept []Kept) (sets []*allocation.Set, release func(), err error) {
	if len(kept) == 0 {
		return nil, func() {}, nil
	}
	leave, err := r.ledger.archive.Enter(ctx, time.Duration(len(kept))*time.Hour)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	return r.ledger.archive.Read(ctx, kept, r.only)
}

// compute computes the hours of a batch that are missing.
func (r *hourReader) compute(ctx context.Context, hours []allocation.Window, missing []int, batch *hourBatch) error {
	run := make([]allocation.Window, len(missing))
	for i, m := range missing {
		run[i] = hours[m]
	}
	if !r.ledger.Keeps() {
		for i, x := range r.ledger.computeUnkept(ctx, run, r.failed) {
			r.keepFailure(x.Err)
			if batch.sets[missing[i]], batch.errs[missing[i]] = x.Set, nil; x.Err != nil {
				batch.fail(missing[i], run[i], x.Err)
			}
		}
		return ctx.Err()
	}
	results, err := r.ledger.fillAsked(ctx, run, r.failed)
	if err != nil {
		return err
	}
	sets := r.ledger.asStored(ctx, run, results, r.only)
	for i, x := range results {
		r.keepFailure(x.Err)
		err := x.Err
		if errors.Is(err, allocation.ErrNoData) {
			if why := r.explain.why(ctx, run[i]); why != "" { // there is something of the hour
				err = fmt.Errorf("the history is only read here, and %s", why)
			}
		}
		if batch.sets[missing[i]], batch.errs[missing[i]] = sets[i], nil; err != nil {
			batch.fail(missing[i], run[i], err)
		}
	}
	return ctx.Err()
}

// keepFailure keeps the first failure of the source.
func (r *hourReader) keepFailure(err error) {
	if r.failed == nil && isOutage(err) {
		r.failed = err
	}
}

// asStored returns hours that were computed just now as the history has them: with rows in its order, so that sums over them are the
// same to the last bit whenever they are made. An hour that it does not have stays as it was computed.
func (l *Ledger) asStored(ctx context.Context, hours []allocation.Window, results []HourResult, only *allocation.Projection) []*allocation.Set {
	sets := make([]*allocation.Set, len(results))
	for i, r := range results {
		sets[i] = r.Set
	}
	listing, err := l.archive.List(ctx, Hours, allocation.Window{Start: hours[0].Start, End: hours[len(hours)-1].End})
	if err != nil {
		return sets // callers that need the history report its failure
	}
	var kept []Kept
	var at []int
	for i, h := range hours {
		if k := listing.Exact(h); sets[i] != nil && k != nil {
			kept, at = append(kept, *k), append(at, i)
		}
	}
	read, _, err := l.archive.Read(ctx, kept, only)
	if err != nil {
		return sets
	}
	for i, s := range read {
		own := *s
		own.Reading = sets[at[i]].Reading // which is not kept
		sets[at[i]] = &own
	}
	return sets
}

// computeUnkept computes hours where nothing is kept. The results are cached, as answers of the history are: rules and dashboards ask
// for the last hours again and again. Nothing else is computed if the source has failed: with the error failed, if that is not nil, or
// just now.
func (l *Ledger) computeUnkept(ctx context.Context, hours []allocation.Window, failed error) []HourResult {
	results := make([]HourResult, len(hours))
	for i, h := range hours {
		results[i].Set = l.cachedHour(h)
	}
	if failed == nil {
		failed = l.outage.down()
	}
	for i := 0; i < len(hours); {
		n := 0
		for i+n < len(hours) && results[i+n].Set == nil && (n == 0 || hours[i+n].Start.Equal(hours[i+n-1].End)) {
			n++
		}
		switch {
		case n > 0 && failed != nil:
			for k := range n {
				results[i+k].Err = failed
			}
		case n > 0:
			copy(results[i:], l.ComputeHours(ctx, hours[i:i+n]))
			l.cacheHours(results[i : i+n])
		}
		i += max(n, 1)
	}
	return results
}

// hourKey identifies a cached hour.
func (l *Ledger) hourKey(h allocation.Window) string {
	return fmt.Sprint("hour ", h.Start.Unix(), " ", l.generation.Load())
}

// cachedHour is an hour that was computed before, nil for none.
func (l *Ledger) cachedHour(h allocation.Window) *allocation.Set {
	if s := l.latest.Load(); s != nil && s.Window.Start.Equal(h.Start) && s.Window.End.Equal(h.End) {
		return s
	}
	if sets := l.cache.get(l.hourKey(h), nil); len(sets) == 1 {
		return sets[0]
	}
	return nil
}

// cacheHours keeps hours in memory for a while.
func (l *Ledger) cacheHours(results []HourResult) {
	for _, r := range results {
		if s := r.Set; s != nil {
			l.cache.put(cached{query: l.hourKey(s.Window), sets: []*allocation.Set{s}, bytes: int64(s.Len()+len(s.Nodes)) * allocation.RowBytes})
		}
	}
}
