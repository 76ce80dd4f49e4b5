package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/allocation"
)

// downFor is for how long nothing is computed for queries of closed hours after the source has failed. A failure takes
// seconds, for it is tried several times: the panels of a dashboard need not wait for it one after the other.
const downFor = 15 * time.Second

// outage is the last failure of the source; the zero value is none since it answered last.
type outage struct {
	err  error
	at   time.Time // by the ledger's clock
	wall time.Time // by the process' clock, for that of blocks may stand still
}

// sawSource notes how a computation ended. The source's failure is over once it answers, if only that it has nothing.
func (l *Ledger) sawSource(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, allocation.ErrNoData):
		l.outage = outage{}
	case errors.Is(err, allocation.ErrUpstream):
		l.outage = outage{err, l.opts.Now(), time.Now()}
	}
}

// down is why nothing is computed for queries of closed hours now, nil if it is.
func (l *Ledger) down() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &l.outage
	if o.err == nil || time.Since(o.wall) >= downFor {
		return nil
	}
	if age := l.opts.Now().Sub(o.at); age < 0 || age >= downFor {
		return nil
	}
	return fmt.Errorf("%w (it is asked again %s after that)", o.err, downFor)
}

// ended is the error of a reading of hours that ctx ended, with what the source failed in, which may be why it took so long.
func (l *Ledger) ended(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.outage.err; err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("read hours: %w (the source failed last in %v)", ctx.Err(), err) //nolint:errorlint // the cause is not to be told apart
	}
	return fmt.Errorf("read hours: %w", ctx.Err())
}
