package ledgertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Model is a cluster whose costs are known for any window: the computer of tests.
type Model struct {
	Extra int       // further containers
	From  time.Time // there are no data before
	Shard allocation.Shard

	sync.Mutex // guards the fields below

	Queries    []allocation.Query
	Err        error                                 // of all computations
	Without    func(w allocation.Window) bool        // hours without data
	Incomplete func(w allocation.Window) bool        // of which the source says that something is missing
	Priced     func(w allocation.Window) string      // where the prices of nodes come from
	Slow       func(ctx context.Context)             // before an answer
	TooMuch    time.Duration                         // longer queries are refused
	Rate       func(container int, hour int) float64 // cores, by Unix hour
	Rules      int                                   // that sets say they were computed by; 0 is the current ones
}

// Containers and Nodes are how many a Model has.
const (
	Containers = 12
	Nodes      = 3
)

// DefaultRate is the default of Model.Rate: it changes from hour to hour.
func DefaultRate(container, hour int) float64 { return 0.1 + float64((container*7+hour*3)%11)/7 }

// Compute implements ledger.Computer.
func (m *Model) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	m.Lock()
	m.Queries = append(m.Queries, q)
	err, tooMuch, slow := m.Err, m.TooMuch, m.Slow
	m.Unlock()
	if slow != nil {
		slow(ctx)
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if tooMuch > 0 && q.Window.Duration() > tooMuch {
		return nil, allocation.ErrTooMuch
	}
	if !q.Window.End.After(m.From) {
		return nil, fmt.Errorf("%w: nothing before %s", allocation.ErrNoData, m.From)
	}
	windows, err := q.Windows()
	if err != nil {
		return nil, err
	}
	dict := allocation.NewDict()
	var sets []*allocation.Set
	some := false
	for _, w := range windows {
		set := m.Set(w, dict)
		set.Resolution = q.Resolution
		some = some || set.Len() > 0
		own, err := set.OfShard(m.Shard)
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

// Set is the exact set of a window.
func (m *Model) Set(w allocation.Window, dict *allocation.Dict) *allocation.Set {
	m.Lock()
	defer m.Unlock()
	s := allocation.NewSet(w, dict)
	s.Incomplete, s.Rules = m.Incomplete != nil && m.Incomplete(w), cmp.Or(m.Rules, s.Rules)
	start := w.Start
	if m.From.After(start) {
		start = m.From
	}
	if !w.End.After(start) || m.Without != nil && m.Without(w) {
		return s
	}
	used := [Nodes]float64{}
	for c := Containers + m.Extra - 1; c >= 0; c-- { // not in the order of storing
		node := c % Nodes
		hours, cores := 0.0, 0.0
		for t := start; t.Before(w.End); {
			end := t.Truncate(time.Hour).Add(time.Hour)
			if end.After(w.End) {
				end = w.End
			}
			hours += end.Sub(t).Hours()
			cores += end.Sub(t).Hours() * m.Rate(c, int(t.Unix()/3600))
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
	for i := range Nodes {
		n := allocation.Node{Cluster: "c1", Name: fmt.Sprint("node-", i), Start: start, End: w.End, RunningSeconds: w.End.Sub(start).Seconds()}
		if m.Priced != nil {
			n.PriceSource[allocation.CPU] = m.Priced(w)
		}
		n.Idle[allocation.CPU] = 0.5 * w.End.Sub(start).Hours()
		n.Cost[allocation.CPU] = used[i] + n.Idle[allocation.CPU]
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// Asked are the windows that were computed since the last call.
func (m *Model) Asked() (list []string) {
	m.Lock()
	defer m.Unlock()
	for _, q := range m.Queries {
		text := q.Window.Start.UTC().Format("02T15:04") + " " + q.Window.End.UTC().Format("02T15:04")
		if q.Step > 0 {
			text += " " + q.Step.String()
		}
		list = append(list, text)
	}
	slices.Sort(list)
	m.Queries = nil
	return list
}

// Change changes the model.
func (m *Model) Change(f func(m *Model)) {
	m.Lock()
	defer m.Unlock()
	f(m)
}

// DefaultModel is a Model of default rates.
func DefaultModel() *Model { return &Model{Rate: DefaultRate} }
