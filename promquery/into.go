package promquery

import (
	"slices"
	"sync"

	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// grades is the grade of series about pods, nil if there are none in the plan or all are wanted. Sources may grade at the same time.
func grades(b *build.Builder, p *plan) func(i int, key []string) (id uint64, nothing bool) {
	if !b.Sharded() || !slices.ContainsFunc(p.sels, func(s Selector) bool { return s.Common != nil }) {
		return nil
	}
	var mu sync.Mutex
	var texts []string
	return func(i int, key []string) (uint64, bool) {
		if p.sels[i].Common == nil {
			return 0, false
		}
		mu.Lock()
		defer mu.Unlock()
		texts = p.texts(i, key, texts)
		return b.Grade(p.readers[i].series, texts)
	}
}

// into are workers that read keys by the plans, one for each worker and one more, and add the series to the builder: usage by all
// workers, other series by the first. A single plan is for a source that is read by one goroutine.
func into(b *build.Builder, plans []*plan, usage bool) Workers {
	last := len(plans) - 1
	n := max(last, 1)
	skip := func(i int, key []Symbol) bool {
		series, key := plans[last].read(i, key)
		skips := b.Foreign(series, key)
		found := plans[last].readers[i].found
		found.elsewhere = found.elsewhere || skips
		return skips
	}
	if !b.Sharded() {
		skip = nil
	}
	take := func(worker, i int, key []Symbol, p *timeline.Points) (signals.Series, []Symbol, error) {
		plan := plans[worker]
		series, key, err := plan.readPoints(i, key, p)
		if series.Signal != signals.Nothing {
			found := plan.readers[i].found.add(key[0], p)
			if !plan.readers[i].bare(key) {
				plan.times.note(found, p)
			}
		} else if !p.Continued() {
			plan.dropped++
		}
		return series, key, err
	}
	workers := b.Workers(n + 1)
	if !usage {
		return Workers{N: n, Skip: skip, Grade: grades(b, plans[last]), Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
			series, key, err := take(worker, i, key, p)
			if err != nil {
				return err
			}
			return b.Add(series, key, p)
		}}
	}
	of := func(i int, key []Symbol) int {
		series, key := plans[last].read(i, key)
		return b.WorkerOf(series, key, n)
	}
	if last == 0 {
		of = nil
	}
	return Workers{
		N:     n,
		Skip:  skip,
		Grade: grades(b, plans[last]),
		Of:    of,
		Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
			series, key, _ := take(worker, i, key, p) // usage is never a price
			return workers[worker%n].Add(series, key, p)
		},
	}
}
