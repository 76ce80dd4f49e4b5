// Package costseries presents what things cost as series: the families of allocation's table over the closed hours of a
// ledger, as a storage.Queryable for Prometheus' own engine.
//
// A gauge has a sample for each closed hour, at the time from which /metrics shows it: the hour's end and the grace period.
// Where a series has none in an hour that follows one in which it had, it has a stale marker then. A counter has samples at
// the same times, with what had accrued in the month by then. So the value of a series at an instant is what a scrape at
// that instant got, for any past time, from before promcost ran too.
//
// Hours are read one after the other, and only those that a query is about, with the columns that its families need. Sums by
// labels that the engine is about to make are made while reading.
package costseries

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/promcost/promcost/allocation"
)

// Sets gives the closed hours within a window, oldest first, of which only says what is needed. An hour that cannot be had
// is an error beside an empty set of its window, which wraps allocation.ErrNoData where there is nothing of it; an error
// beside no set ends them.
type Sets interface {
	// Hours are as they are known by now: what gauges show.
	Hours(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]
	// Counted are as they were counted first: what counters add.
	Counted(ctx context.Context, w allocation.Window, only *allocation.Projection) iter.Seq2[*allocation.Set, error]
	// SpendingsIn tells how budgets stood at instants within w, nil where there are none; allocation.ErrNoData where that is
	// not known of any.
	SpendingsIn(ctx context.Context, w allocation.Window) (at func(context.Context, time.Time) (*allocation.Spending, error), err error)
}

// Options say what a Queryable serves. The zero value serves all subjects in UTC.
type Options struct {
	// Grace is how long after its end an hour is shown.
	Grace time.Duration
	// Zone is the time zone on whose clock months begin. The default is UTC.
	Zone *time.Location
	// Subjects are those that are served, whatever is switched on for /metrics and however many series they have; nil is all
	// of the table. That of labels has to be of a Metering that names some.
	Subjects []allocation.Subject
	// Currency names the money of every cost. Nil leaves promcost_currency_info out.
	Currency func() string
	// Bounds are the error bounds of a running time d that is counted at a resolution, 0 with every sample of a scrape interval.
	// Nil leaves them out.
	Bounds func(d, resolution, scrape time.Duration) (lower, upper float64)
	// Now is the clock, beyond which there is nothing. The default is time.Now.
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
		o.Subjects = allocation.Subjects()
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
	Name    string
	Help    string
	Counter bool // a gauge otherwise
	Labels  []string
}

// Families are the metrics that are served, by name.
func (q *Queryable) Families() []Family {
	list := make([]Family, len(q.families))
	for i := range q.families {
		f := &q.families[i]
		list[i] = Family{Name: f.name, Help: f.help, Counter: f.counter, Labels: f.labels}
	}
	return list
}
