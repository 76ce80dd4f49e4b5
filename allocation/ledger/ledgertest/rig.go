package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/recorder"
)

// Options are the options of a ledger and its recorder.
type Options struct {
	Ledger   ledger.Options
	Recorder recorder.Options
}

// Recorded is a ledger and its recorder.
type Recorded struct {
	*ledger.Ledger
	*recorder.Recorder
}

// New returns a ledger over a computer and a history, and its recorder.
func New(c ledger.Computer, h ledger.History, logger log.Logger, o Options) Recorded {
	l := ledger.NewKeeping(c, h, logger, o.Ledger)
	return Recorded{l, recorder.New(l, logger, o.Recorder)}
}

// Rig is a ledger over a model and a history in a directory, at a time that tests set.
type Rig struct {
	Recorded
	Model   *Model
	History *Faulty
	Bucket  *objstore.InMemBucket
	Opts    Options
	Log     io.Writer // of the ledger and the recorder; nil is nowhere
	Stop    func()    // ends the loop

	mu     sync.Mutex
	moved  *sync.Cond // signaled when any of these changes
	now    time.Time
	until  time.Time     // until when a loop may sleep
	wake   time.Time     // when it wants to wake up, zero while it works
	offset time.Duration // that the clock was set by
}

// ShiftClock sets the clock of a rig that lives.
func (r *Rig) ShiftClock(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offset = by
}

// sleep is how loops sleep: time passes only as tests let it.
func (r *Rig) sleep(ctx context.Context, d time.Duration) bool {
	defer context.AfterFunc(ctx, r.moved.Broadcast)()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake = r.now.Add(d)
	r.moved.Broadcast()
	for r.until.Before(r.wake) && ctx.Err() == nil {
		r.moved.Wait()
	}
	if r.wake.After(r.now) && ctx.Err() == nil {
		r.now = r.wake
	}
	r.wake = time.Time{}
	return ctx.Err() == nil
}

// Pass lets time pass, and waits until the loop sleeps beyond it.
func (r *Rig) Pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = r.now.Add(d)
	r.moved.Broadcast()
	for !r.wake.After(r.until) {
		r.moved.Wait()
	}
	r.now = r.until
}

// NewRig returns a rig at a time such as "2026-03-05T12:30", in UTC.
func NewRig(t *testing.T, now string, o Options) *Rig {
	t.Helper()
	r := &Rig{Model: DefaultModel(), Bucket: objstore.NewInMemBucket()}
	r.moved = sync.NewCond(&r.mu)
	r.SetTime(ParseTime(t, now))
	o.Ledger.Now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.now.Add(r.offset)
	}
	o.Recorder.Sleep = r.sleep
	r.Opts = o
	r.Restart(t)
	return r
}

// Restart makes a new ledger over the same history.
func (r *Rig) Restart(t *testing.T) {
	t.Helper()
	r.History = r.OpenHistory()
	r.Recorded = r.Open(r.Model, r.History)
}

// OpenHistory opens the history.
func (r *Rig) OpenHistory() *Faulty {
	backend := history.NewBucket(r.Bucket, history.BucketOptions{})
	return &Faulty{History: History{Store: history.New(backend, history.Options{Now: r.Opts.Ledger.Now})}}
}

// Open returns a ledger over a computer and a history, and its recorder.
func (r *Rig) Open(c ledger.Computer, h ledger.History) Recorded {
	logger := log.NewNopLogger()
	if r.Log != nil {
		logger = log.NewLogfmtLogger(log.NewSyncWriter(r.Log))
	}
	return New(c, h, logger, r.Opts)
}

// SetTime sets the time.
func (r *Rig) SetTime(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

// ParseTime returns the time that a text means in UTC. A text that is no time fails the test.
func ParseTime(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Between is a window of UTC.
func Between(t testing.TB, from, to string) allocation.Window {
	t.Helper()
	return allocation.Window{Start: ParseTime(t, from), End: ParseTime(t, to)}
}

// Ask gives the sets of a query, which have to be sound.
func (r *Rig) Ask(t *testing.T, q allocation.Query) []*allocation.Set {
	t.Helper()
	sets, err := Collect(t.Context(), r.Ledger, q)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := q.Windows()
	if err != nil || len(windows) != len(sets) {
		t.Fatalf("%d sets of %d windows, %v", len(sets), len(windows), err)
	}
	for i, s := range sets {
		if !s.Window.Start.Equal(windows[i].Start) || !s.Window.End.Equal(windows[i].End) {
			t.Errorf("set %d is of %v, want %v", i, s.Window, windows[i])
		}
		if err := passes.Check(s); err != nil && q.Only == nil {
			t.Error(err)
		}
	}
	return sets
}

// Sums returns the total cost of each namespace, with idle as one of them.
func Sums(t testing.TB, sets ...*allocation.Set) map[string]float64 {
	t.Helper()
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := passes.Apply(passes.Join(sets), passes.Options{Aggregate: keys, Idle: true, Accumulate: allocation.All})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]float64{}
	for row := range out[0].Len() {
		of[out[0].Name(row)] = out[0].TotalCost(row)
	}
	return of
}

// Same compares sums, which may have been added in another order.
func Same(t testing.TB, what string, got, want map[string]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
		return
	}
	for name, v := range want {
		if math.Abs(got[name]-v) > 1e-9*v {
			t.Errorf("%s: %s costs %v, want %v", what, name, got[name], v)
		}
	}
}

// Exactly computes a window at once.
func (r *Rig) Exactly(w allocation.Window) *allocation.Set {
	return r.Model.Set(w, allocation.NewDict())
}

// Live is a rig whose loop runs, from an instant on.
func Live(t *testing.T, now string, o Options, prepare func(*Rig)) *Rig {
	t.Helper()
	r := NewRig(t, now, o)
	prepare(r)
	r.Start(t)
	return r
}

// Start runs the loop until the test ends or the rig is restarted, and waits until it has nothing more to do.
func (r *Rig) Start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	loop := r.Recorder
	go func() { ended <- loop.Run(ctx) }()
	r.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.Stop)
	r.Pass(0)
}

// StopAndRestart is a restart while the loop runs.
func (r *Rig) StopAndRestart(t *testing.T) {
	t.Helper()
	r.Stop()
	r.Restart(t)
}

// CountersText are the counters of namespaces, to the last bit, and how far they go.
func CountersText(a *metering.Accrued) string {
	if a == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintln(&b, a.Window.Start.UTC().Format("02T15:04"), a.Window.End.UTC().Format("02T15:04"))
	s := metering.Subjects()[0]
	totals := a.Totals(&s)
	for i := range totals.Len() {
		fmt.Fprintln(&b, totals.Labels(i)[1], totals.Cost(i))
	}
	return b.String()
}

// Kept are the sets that are kept.
func (r *Rig) Kept(t *testing.T, kind ledger.Kind) (list []string) {
	t.Helper()
	sets, err := r.History.List(t.Context(), kind, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		text := s.Window.Start.UTC().Format("02T15:04")
		if s.Window.Duration() != time.Hour {
			text += " " + s.Window.Duration().String()
		}
		if !s.Complete {
			text += " incomplete"
		}
		list = append(list, text)
	}
	return list
}

// CopyFrom gives the history all that another one has.
func (r *Rig) CopyFrom(t *testing.T, from *Rig) {
	t.Helper()
	for name, data := range from.Bucket.Objects() {
		if err := r.Bucket.Upload(t.Context(), name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
}

// Damage flips a bit of every file below a folder of the history.
func (r *Rig) Damage(t *testing.T, folder string) (n int) {
	t.Helper()
	for name, data := range r.Bucket.Objects() {
		if strings.HasPrefix(name, folder+"/") {
			damaged := bytes.Clone(data)
			damaged[len(data)/2] ^= 4
			if err := r.Bucket.Upload(t.Context(), name, bytes.NewReader(damaged)); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

// Remove removes all files below a folder of the history.
func (r *Rig) Remove(t *testing.T, folder string) {
	t.Helper()
	for name := range r.Bucket.Objects() {
		if strings.HasPrefix(name, folder+"/") {
			if err := r.Bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Collect gathers the sets of a query, or its error.
func Collect(ctx context.Context, l *ledger.Ledger, q allocation.Query) (sets []*allocation.Set, err error) {
	for s, err := range l.Sets(ctx, q) {
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}
