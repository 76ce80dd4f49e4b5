package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// gatherFirst reads the stages that every computation needs. A shard reads first where pods are, then when containers ran, and then
// details of its own pods only.
func (c *computation) gatherFirst(ctx context.Context, b *build.Builder, first []stage) error {
	s := b.Sampling() // the rest of the inputs changes it
	if !b.Sharded() {
		return c.stage(ctx, b, stageNames[always], s.LoadStart(), s.End, first...)
	}
	places, rest := first[:2], first[3:]
	if err := c.stage(ctx, b, stageNames[always], s.LoadStart(), s.End, places...); err != nil {
		return err
	}
	b.LeaveOthers()
	if err := c.stage(ctx, b, stageNames[running], s.LoadStart(), s.End, running); err != nil {
		return err
	}
	if err := c.named(ctx, b, "pod", b.Recall(), running); err != nil {
		return err
	}
	c.only.leftOut = &UIDs{Has: b.LeavesOut}
	return c.stage(ctx, b, stageNames[details], s.LoadStart(), s.End, rest...)
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
	if !usage {
		return Workers{N: n, Skip: skip, Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
			series, key, err := take(worker, i, key, p)
			if err != nil {
				return err
			}
			return b.Add(series, key, p)
		}}
	}
	workers := b.Workers(n)
	of := func(i int, key []Symbol) int {
		series, key := plans[last].read(i, key)
		return b.WorkerOf(series, key, n)
	}
	if last == 0 {
		of = nil
	}
	return Workers{
		N:    n,
		Skip: skip,
		Of:   of,
		Yield: func(worker, i int, key []Symbol, p *timeline.Points) error {
			series, key, _ := take(worker, i, key, p) // usage is never a price
			return workers[worker%n].Add(series, key, p)
		},
	}
}
