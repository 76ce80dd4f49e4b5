// Package costseries presents cost as a storage.Queryable: the families of metrics over the closed hours of a ledger, for
// Prometheus' own engine.
//
// A gauge has a sample for each closed hour, at the time from which /metrics shows that hour: its end plus the grace period.
// Where a series ends, a stale marker follows. A counter has samples at the same times, with what had accrued in the month by
// then. So a series has at any past time the value that a scrape got then, also for times before promcost ran.
//
// Hours are read one after the other. Only the hours and the columns that a query needs are read. Where the engine is about to
// sum series by labels, they are summed while they are read.
package costseries

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// Sets yields the closed hours within a window, oldest first, with the data that only names. An hour that cannot be read is an
// empty set of the hour's window and an error, which wraps allocation.ErrNoData if there is no data. An error without a set is the
// last.
type Sets interface {
	// Hours are the hours as they are known by now. Gauges show them.
	Hours(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]
	// Counted are the hours as they were first counted. Counters add them up.
	Counted(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]
	// SpendingsIn returns a function that gives the state of the budgets at instants within w, nil where there are no budgets.
	// The error wraps allocation.ErrNoData where no state is known in all of w.
	SpendingsIn(ctx context.Context, w allocation.Window) (spendingAt func(context.Context, time.Time) (*metering.Spending, error), err error)
}

// Hours yields hours as Sets.Hours does.
type Hours func(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]

// Outlooks returns a function that gives what subjects should have cost by instants within w, best asked for in their order. The error wraps
// allocation.ErrNoData where that is known in none of w.
type Outlooks func(ctx context.Context, w allocation.Window, subjects ...metering.Subject) (outlookAt func(context.Context, time.Time) (*metering.Outlook, error), err error)

// Options say what a Queryable serves. The zero value serves all subjects in UTC.
type Options struct {
	// Grace is the time from the end of an hour until it is shown.
	Grace time.Duration
	// Zone is the time zone in which months begin. The default is UTC.
	Zone *time.Location
	// Subjects are served whatever is switched on for /metrics, and however many series they have. Nil means all of the table.
	// The subject of labels must come from a Metering that names some.
	Subjects []metering.Subject
	// Billed are the hours with the adjustments of bills, as far as bills reach, and then an empty hour. All have Set.BilledUntil. It
	// fails as Sets.Hours does. Nil leaves out the metrics of costs by bill.
	Billed Hours
	// Outlooks say what subjects should cost. Nil leaves out the metrics of that.
	Outlooks Outlooks
	// Currency names the money of every cost. Nil leaves promcost_currency_info out.
	Currency func() string
	// Bounds are the error bounds of a running time d that is counted on a grid of that resolution, or with every sample of a
	// scrape interval where the resolution is 0. Nil leaves them out.
	Bounds func(d, resolution, scrape time.Duration) (lower, upper float64)
	// Now is the clock. There is no cost after it. The default is time.Now.
	Now func() time.Time
}

// Queryable is cost series as a storage.SampleAndChunkQueryable. It is safe for concurrent use.
type Queryable struct {
	sets     Sets
	opts     Options
	families []family // by name
}

var _ storage.SampleAndChunkQueryable = (*Queryable)(nil)

// New returns the cost series of sets.
func New(sets Sets, o Options) *Queryable {
	o.Zone = cmp.Or(o.Zone, time.UTC)
	if o.Subjects == nil {
		o.Subjects = metering.Subjects()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	q := &Queryable{sets: sets, opts: o}
	q.families = q.makeFamilies()
	return q
}

// Querier implements storage.Queryable. It never fails.
func (q *Queryable) Querier(mint, maxt int64) (storage.Querier, error) {
	return q.querier(mint, maxt), nil
}

// ChunkQuerier implements storage.ChunkQueryable. It never fails.
func (q *Queryable) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	return &chunkQuerier{q.querier(mint, maxt)}, nil
}

// Family is a metric that is served.
type Family struct {
	Name   string
	Help   string
	Type   string // as Prometheus' API has it: gauge, counter or gaugehistogram
	Labels []string
}

// UsageFamilies are the metrics that only PromQL has.
func UsageFamilies() (list []Family) {
	for _, f := range usageFamilies() {
		list = append(list, f.described())
	}
	return list
}

// described is what is served of a family.
func (f *family) described() Family {
	kind := "gauge"
	switch {
	case f.histograms != nil:
		kind = "gaugehistogram"
	case f.kind == counters:
		kind = "counter"
	}
	return Family{Name: f.name, Help: f.help, Type: kind, Labels: f.labels}
}

// Families are the metrics that are served, by name.
func (q *Queryable) Families() []Family {
	list := make([]Family, len(q.families))
	for i := range q.families {
		f := &q.families[i]
		list[i] = f.described()
	}
	return list
}
