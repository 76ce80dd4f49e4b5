package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/promcost/promcost/allocation"
)

// Progress says how far Fill or Recompute is.
type Progress struct {
	Hours    int // that are asked for
	Kept     int // that were kept before
	Written  int // that were computed and are kept now
	Empty    int // that the source has nothing of
	Replaced int // kept ones that were computed again
	Left     int // hours that did not change, because the source now has less data of them
}

// Done is how many hours were seen to.
func (p Progress) Done() int { return p.Written + p.Empty + p.Replaced + p.Left }

// Missing are the closed hours of the zone's clock within w that are not kept, oldest first.
func (r *Recorder) Missing(ctx context.Context, w allocation.Window) ([]allocation.Window, error) {
	missing, _, err := r.missingHours(ctx, w)
	return missing, err
}

// Fill computes the closed hours within w that are not kept, so many runs of up to a day at a time, oldest first, keeps
// them, rolls the days up, and mends what is damaged. progress, if not nil, is called after each run, by one goroutine at a time. What is kept when
// ctx ends or an error occurs stays, so that another call goes on from there; hours that the source has nothing of are no
// error. An hour that cannot be kept is one.
func (r *Recorder) Fill(ctx context.Context, w allocation.Window, parallel int, progress func(Progress)) error {
	missing, all, err := r.missingHours(ctx, w)
	if err != nil {
		return fmt.Errorf("fill history: %w", err)
	}
	f := &filling{recorder: r, done: Progress{Hours: all, Kept: all - len(missing)}, progress: progress}
	runs := r.clock.Runs(missing)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan []allocation.Window)
	var wg sync.WaitGroup
	for range min(max(parallel, 1), max(len(runs), 1)) {
		wg.Go(func() {
			for run := range next {
				if err := f.run(work, run); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, run := range runs {
		select {
		case next <- run:
		case <-work.Done():
		}
	}
	close(next)
	wg.Wait()
	if work.Err() != nil {
		return fmt.Errorf("fill history: %w", context.Cause(work))
	}
	for _, do := range [...]func(context.Context, allocation.Window) (bool, error){r.rollUp, r.mendCounted} {
		for more := true; more; {
			if more, err = do(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// runBytes is about how many bytes the sets of the hours take that a run computes at once.
const runBytes = 16 << 20

// filling is one call of Fill.
type filling struct {
	recorder *Recorder
	progress func(Progress)

	mu     sync.Mutex
	done   Progress
	atOnce int // hours that take runBytes, going by those that were computed; 0 before there are any
}

// run fills one run. Few hours of a large cluster are computed at once, for their sets are in memory together.
func (f *filling) run(ctx context.Context, hours []allocation.Window) error {
	for len(hours) > 0 {
		n := f.next(hours)
		if err := f.fill(ctx, hours[:n]); err != nil {
			return err
		}
		hours = hours[n:]
	}
	return nil
}

// next is how many of the hours are computed at once.
func (f *filling) next(hours []allocation.Window) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return min(len(hours), max(1, f.atOnce))
}

// fill computes and keeps some hours.
func (f *filling) fill(ctx context.Context, hours []allocation.Window) error {
	ctx, done := f.recorder.ledger.WithAccount(ctx)
	defer done()
	results, err := f.recorder.ledger.FillHours(ctx, hours)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var failed error
	most := int64(1)
	for _, x := range results {
		switch {
		case x.Err == nil:
			f.done.Written++
			most = max(most, allocation.SetsBytes([]*allocation.Set{x.Set}))
		case errors.Is(x.Err, allocation.ErrNoData):
			f.done.Empty++
		default:
			failed = cmp.Or(failed, x.Err)
		}
	}
	f.atOnce = int(runBytes / most)
	if f.progress != nil {
		f.progress(f.done)
	}
	if failed == nil {
		failed = f.recorder.archive.Health().WriteErr
	}
	return failed
}
