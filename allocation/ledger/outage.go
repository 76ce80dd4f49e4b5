package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
)

// downFor is for how long nothing is computed for queries of closed hours after the source has failed. A failure takes
// seconds, for it is tried several times: the panels of a dashboard need not wait for it one after the other.
const downFor = 15 * time.Second

// outage is the last failure of the source; the zero value is none since it answered last. It is safe for concurrent use.
type outage struct {
	now func() time.Time

	mu   sync.Mutex
	err  error
	at   time.Time // by the ledger's clock
	wall time.Time // by the clock of the process, because the clock of blocks may stand still
}

// isOutage reports whether an error says that the source fails: it need not be asked for more. A source that cannot read a part of its
// own, and has nothing for that reason (allocation.ErrNoData), may answer for any other time.
func isOutage(err error) bool {
	return errors.Is(err, allocation.ErrUpstream) && !errors.Is(err, allocation.ErrNoData)
}

// record records how a computation ended. A failure of the source is over once the source answers,
// even if it has no data.
func (o *outage) record(err error) {
	switch {
	case err == nil, errors.Is(err, allocation.ErrNoData):
		o.set(nil)
	case isOutage(err):
		o.set(err)
	}
}

// set makes err the last failure; nil is none.
func (o *outage) set(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.at, o.wall = err, o.now(), time.Now()
}

// last is the last failure, nil if the source has answered since.
func (o *outage) last() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// down is why nothing is computed for queries of closed hours now, nil if it is.
func (o *outage) down() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil || time.Since(o.wall) >= downFor {
		return nil
	}
	if age := o.now().Sub(o.at); age < 0 || age >= downFor {
		return nil
	}
	return fmt.Errorf("%w (it is asked again %s after that)", o.err, downFor)
}

// ended is the error of a reading of hours that ctx ended, with the last failure, which may be why it took so long.
func (o *outage) ended(ctx context.Context) error {
	if err := o.last(); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("read hours: %w (the source failed last in %v)", ctx.Err(), err) //nolint:errorlint // the cause is not to be told apart
	}
	return fmt.Errorf("read hours: %w", ctx.Err())
}
