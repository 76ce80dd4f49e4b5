// Package recorder keeps a ledger's history complete without queries. Its loop computes each closed hour once, newest first,
// so that metrics come first and the past after them. It rolls hours up to days, computes incomplete hours again, counts the
// costs of the month, and computes the state of budgets.
package recorder

import (
	"cmp"
	"context"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
)

// DefaultBackfill is the default of Options.Backfill.
const DefaultBackfill = 7 * 24 * time.Hour

// Options are the options of a Recorder. Zero fields take the defaults.
type Options struct {
	// Backfill is how far back Run computes closed hours that the history lacks. It always goes back to the beginning of the
	// month. Below 0 it goes no further.
	Backfill time.Duration
	// Retention is how long sets are kept; 0 is for ever.
	Retention time.Duration
	// Metering returns the definition of the counters. It is called for each count; if it returns another one, the month is
	// counted anew. The default is that of package metering.
	Metering func() *metering.Metering
	// Bills returns what bills say now, nil if there are no bills. It is called only for budgets that are billed. The default returns
	// nil, so that they are at list prices.
	Bills func(ctx context.Context) (Bills, error)
	// Changed is called by Run when Latest or Accrued have something new. The default does nothing.
	Changed func()
	// Sleep is how Run waits: for so long, unless ctx ends before, which it reports as false. The default takes that time.
	Sleep func(ctx context.Context, d time.Duration) bool
}

// Bills are what bills say at one moment.
type Bills interface {
	// Version is another one whenever the bills say something else.
	Version() string
	// Until is until when the costs of clusters are final.
	Until() time.Time
	// Reconcile returns a stored set with the adjustments of bills, as far as they reach.
	Reconcile(ctx context.Context, set *allocation.Set) (*allocation.Set, error)
}

func (o Options) withDefaults() Options {
	o.Backfill = max(cmp.Or(o.Backfill, DefaultBackfill), 0)
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Metering == nil {
		fallback := metering.Default()
		o.Metering = func() *metering.Metering { return fallback }
	}
	if o.Bills == nil {
		o.Bills = func(context.Context) (Bills, error) { return nil, nil }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return o
}

// Recorder keeps the history of a ledger complete, and has what metrics show of it. It is safe for concurrent use.
type Recorder struct {
	*records
	*counters
	*budgets
	*outlooks
	upkeep *upkeep
	latest latest
	// incomplete are the kept hours that are computed again, by start. Only the loop uses it.
	incomplete map[int64]retry
	refreshed  chan struct{} // holds an element while Run has a Refresh to answer
}

// New returns a recorder for the history of l. Errors in the background go to logger.
func New(l *ledger.Ledger, logger log.Logger, o Options) *Recorder {
	opts := l.Options()
	r := &records{
		ledger: l, archive: l.Archive(), clock: l.Clock(), logger: logger, opts: o.withDefaults(), readOnly: opts.ReadOnly, stores: opts.Stores(), loaded: opts.Loaded,
	}
	return &Recorder{
		records: r, counters: &counters{records: r}, budgets: &budgets{records: r}, outlooks: &outlooks{records: r}, upkeep: &upkeep{records: r},
		incomplete: map[int64]retry{}, refreshed: make(chan struct{}, 1),
	}
}

// Refresh says that the ledger's Computer answers otherwise from now on, such as by other prices: the ledger is refreshed, and Run
// computes its hour again, in the background.
func (r *Recorder) Refresh() {
	r.ledger.Refresh()
	r.forgetBegin()
	select {
	case r.refreshed <- struct{}{}:
	default: // Run has not begun to answer the last one
	}
}
