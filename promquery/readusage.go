package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
)

// usage gives the builder the usage of containers and the traffic of pods, each series in the order of time.
func (c *computation) usage(ctx context.Context, b *build.Builder) error {
	s := b.Sampling()
	window := build.Span{Start: s.LoadStart(), End: s.End}
	stages := []stage{levels, disks}
	if c.only.fewOfAssets {
		stages = stages[:1]
	}
	if err := c.spans(ctx, b, stageNames[levels], []build.Span{window}, stages...); err != nil {
		return err
	}
	before := b.UnseenBefore()
	if err := c.unseen(ctx, b, askLevelsBefore, &before, levels); err != nil {
		return err
	}
	after := b.UnseenAfter()
	if err := c.unseen(ctx, b, askLevelsAfter, &after, levels); err != nil {
		return err
	}
	if err := c.unseen(ctx, b, askCountersBefore, &before, counters, moving); err != nil {
		return err
	}
	if err := c.spans(ctx, b, stageNames[counters], []build.Span{window}, counters, moving); err != nil {
		return err
	}
	return c.unseen(ctx, b, askCountersAfter, &after, counters, moving)
}

// unseen gives the builder the usage of some pods outside of the window, if there is any to read.
func (c *computation) unseen(ctx context.Context, b *build.Builder, name string, x *build.Unseen, stages ...stage) error {
	if x.Start >= x.End {
		return nil
	}
	defer c.onlyNames("pod", x.Pods)()
	return c.spans(ctx, b, name, []build.Span{x.Span}, stages...)
}

// readAgain reads usage a second time that exceeded the capacity of its node.
func (c *computation) readAgain(ctx context.Context, b *build.Builder, x *build.Excess) error {
	s, end := b.Sampling(), x.End
	if s.Exact() {
		end = min(s.End, end+s.Lookback)
	}
	var stages []stage
	if x.Resources[allocation.RAM] {
		stages = append(stages, levels)
	}
	if x.Resources[allocation.CPU] {
		stages = append(stages, counters)
	}
	if len(stages) == 0 {
		return nil
	}
	b.Revisit(x.Span)
	defer c.onlyNames("pod", x.Pods)()
	return c.stage(ctx, b, askAgain, x.Start-s.Start+s.LoadStart(), end, stages...)
}
