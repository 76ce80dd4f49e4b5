package ledger_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// model is a cluster whose costs are known for any window: the engine of these tests.
type model struct {
	extra int       // further containers
	from  time.Time // there are no data before
	shard allocation.Shard

	mu         sync.Mutex
	queries    []allocation.Query
	err        error                                 // of all computations
	without    func(w allocation.Window) bool        // hours without data
	incomplete func(w allocation.Window) bool        // of which the source says that something is missing
	slow       func(ctx context.Context)             // before an answer
	tooMuch    time.Duration                         // longer queries are refused
	rate       func(container int, hour int) float64 // cores, by Unix hour
	rules      int                                   // that sets say they were computed by; 0 is the current ones
}

const containers, nodes = 12, 3

// rates of a container change from hour to hour.
func defaultRate(container, hour int) float64 { return 0.1 + float64((container*7+hour*3)%11)/7 }

// Compute implements ledger.Computer.
func (m *model) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	m.mu.Lock()
	m.queries = append(m.queries, q)
	err, tooMuch, slow := m.err, m.tooMuch, m.slow
	m.mu.Unlock()
	if slow != nil {
		slow(ctx)
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if tooMuch > 0 && q.Window.Duration() > tooMuch {
		return nil, allocation.ErrTooMuch
	}
	if !q.Window.End.After(m.from) {
		return nil, fmt.Errorf("%w: nothing before %s", allocation.ErrNoData, m.from)
	}
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	dict := allocation.NewDict()
	var sets []*allocation.Set
	some := false
	for _, w := range windows {
		set := m.set(w, dict)
		set.Resolution = q.Resolution
		some = some || set.Len() > 0
		own, err := set.OfShard(m.shard)
		if err != nil {
			return nil, err
		}
		sets = append(sets, own)
	}
	if !some {
		return nil, fmt.Errorf("%w: nothing at all", allocation.ErrNoData)
	}
	return sets, nil
}

// set is the exact set of a window.
func (m *model) set(w allocation.Window, dict *allocation.Dict) *allocation.Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := allocation.NewSet(w, dict)
	s.Incomplete, s.Rules = m.incomplete != nil && m.incomplete(w), cmp.Or(m.rules, s.Rules)
	start := w.Start
	if m.from.After(start) {
		start = m.from
	}
	if !w.End.After(start) || m.without != nil && m.without(w) {
		return s
	}
	used := [nodes]float64{}
	for c := containers + m.extra - 1; c >= 0; c-- { // not in the order of storing
		node := c % nodes
		hours, cores := 0.0, 0.0
		for t := start; t.Before(w.End); {
			end := t.Truncate(time.Hour).Add(time.Hour)
			if end.After(w.End) {
				end = w.End
			}
			hours += end.Sub(t).Hours()
			cores += end.Sub(t).Hours() * m.rate(c, int(t.Unix()/3600))
			t = end
		}
		used[node] += cores * 0.03
		r := &allocation.Row{Start: start, End: w.End}
		for p, text := range map[allocation.Property]string{
			allocation.Cluster: "c1", allocation.NodeName: fmt.Sprint("node-", node), allocation.Namespace: fmt.Sprint("ns-", c%4),
			allocation.Pod: fmt.Sprint("pod-", c), allocation.PodUID: fmt.Sprint("uid-", c), allocation.Container: "main",
			allocation.ControllerKind: "deployment", allocation.Controller: fmt.Sprint("app-", c%5),
		} {
			r.Text[p] = text
		}
		r.Labels = map[string]string{"app": fmt.Sprint("app-", c%5)}
		r.Values[allocation.RunningSeconds], r.Values[allocation.LeastSeconds], r.Values[allocation.MostSeconds] = hours*3600, hours*3600, hours*3600
		r.Values[allocation.Hours.Of(allocation.CPU)], r.Values[allocation.Cost.Of(allocation.CPU)] = cores, cores*0.03
		s.Append(r)
	}
	for i := range nodes {
		n := allocation.Node{Cluster: "c1", Name: fmt.Sprint("node-", i), Start: start, End: w.End, RunningSeconds: w.End.Sub(start).Seconds()}
		n.Idle[allocation.CPU] = 0.5 * w.End.Sub(start).Hours()
		n.Cost[allocation.CPU] = used[i] + n.Idle[allocation.CPU]
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// asked are the windows that were computed since the last call.
func (m *model) asked() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.queries {
		text := q.Window.Start.UTC().Format("02T15:04") + " " + q.Window.End.UTC().Format("02T15:04")
		if q.Step > 0 {
			text += " " + q.Step.String()
		}
		list = append(list, text)
	}
	slices.Sort(list)
	m.queries = nil
	return list
}

// keeper is a history that tests let fail.
type keeper struct {
	sound func() error // of sets that are read; nil where nobody can change them
	ledgertest.History

	mu   sync.Mutex
	fail func(what string) error
}

// mend makes it work again.
func (k *keeper) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = nil
}

func (k *keeper) failing(what string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail == nil {
		return nil
	}
	return k.fail(what)
}

func (k *keeper) List(ctx context.Context, kind ledger.Kind, w allocation.Window) ([]ledger.Kept, error) {
	if err := k.failing("list"); err != nil {
		return nil, err
	}
	return k.History.List(ctx, kind, w)
}

func (k *keeper) Read(ctx context.Context, kept []ledger.Kept, only *allocation.Projection) ([]*allocation.Set, error) {
	if err := k.failing("read"); err != nil {
		return nil, err
	}
	sets, err := k.History.Read(ctx, kept, only)
	for _, s := range sets {
		if k.sound != nil {
			s.Sound = append(s.Sound, k.sound)
		}
	}
	return sets, err
}

func (k *keeper) Write(ctx context.Context, set *allocation.Set, keep ledger.Keep) error {
	if err := k.failing("write"); err != nil {
		return err
	}
	return k.History.Write(ctx, set, keep)
}

// rig is a ledger over a model and a history in a directory, at a time that tests set.
type rig struct {
	*ledger.Ledger
	model  *model
	keeper *keeper
	bucket *objstore.InMemBucket
	opts   ledger.Options
	stop   func() // ends the loop

	mu     sync.Mutex
	moved  *sync.Cond // told when any of these changes
	now    time.Time
	until  time.Time     // until when a loop may sleep
	wake   time.Time     // when it wants to wake up, zero while it works
	offset time.Duration // that the clock was set by
}

// back sets the clock of a rig that lives.
func (r *rig) back(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offset = by
}

// sleep is how loops sleep: time passes only as tests let it.
func (r *rig) sleep(ctx context.Context, d time.Duration) bool {
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

// pass lets time pass, and waits until the loop sleeps beyond it.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = r.now.Add(d)
	r.moved.Broadcast()
	for !r.wake.After(r.until) {
		r.moved.Wait()
	}
	r.now = r.until
}

func newRig(t *testing.T, now string, o ledger.Options) *rig {
	t.Helper()
	r := &rig{model: &model{rate: defaultRate}, bucket: objstore.NewInMemBucket()}
	r.moved = sync.NewCond(&r.mu)
	r.set(at(t, now))
	o.Now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.now.Add(r.offset)
	}
	o.Sleep = r.sleep
	r.opts = o
	r.restart(t)
	return r
}

// restart makes a new ledger on what is kept.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	backend := history.NewBucket(r.bucket, history.BucketOptions{})
	r.keeper = &keeper{History: ledgertest.History{Store: history.New(backend, history.Options{Now: r.opts.Now})}}
	r.Ledger = ledger.NewKeeping(r.model, r.keeper, log.NewNopLogger(), r.opts)
}

func (r *rig) set(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02T15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func between(t testing.TB, from, to string) allocation.Window {
	t.Helper()
	return allocation.Window{Start: at(t, from), End: at(t, to)}
}

// ask gives the sets of a query, which have to be sound.
func (r *rig) ask(t *testing.T, q allocation.Query) []*allocation.Set {
	t.Helper()
	sets, err := collect(t.Context(), r.Ledger, q)
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
		if err := s.Check(); err != nil && q.Only == nil {
			t.Error(err)
		}
	}
	return sets
}

// sums are what namespaces cost in all, idle among them.
func sums(t testing.TB, sets ...*allocation.Set) map[string]float64 {
	t.Helper()
	keys, err := allocation.ParseKeys("namespace", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := allocation.Apply(allocation.Join(sets), allocation.Options{Aggregate: keys, Idle: true, Accumulate: allocation.All})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]float64{}
	for row := range out[0].Len() {
		of[out[0].Name(row)] = out[0].TotalCost(row)
	}
	return of
}

// same compares sums, which may have been added in another order.
func same(t testing.TB, what string, got, want map[string]float64) {
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

// exactly computes a window at once.
func (r *rig) exactly(w allocation.Window) *allocation.Set {
	return r.model.set(w, allocation.NewDict())
}
