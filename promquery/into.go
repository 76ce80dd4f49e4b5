package promquery

import (
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// skip reports which series the builder skips, by their keys in a plan. It is nil if the builder skips none.
func skip(b *build.Builder, p *plan) func(i int, key []Symbol) bool {
	skips := b.Skips()
	if skips == nil {
		return nil
	}
	return func(i int, key []Symbol) bool {
		skip := skips(p.read(i, key))
		found := p.readers[i].found
		found.skipped = found.skipped || skip
		return skip
	}
}

// into are workers that read keys by the plans, one for each worker and one more, and add the series to the builder: usage by all
// workers, other series by the first. A single plan is for a source that is read by one goroutine.
func into(b *build.Builder, plans []*plan, usage bool) Workers {
	last := len(plans) - 1
	n := max(last, 1)
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
		return Workers{N: n, Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
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
		N:  n,
		Of: of,
		Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
			series, key, _ := take(worker, i, key, p) // usage is never a price
			return workers[worker%n].Add(series, key, p)
		},
	}
}
