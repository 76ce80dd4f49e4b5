package promquery

import (
	"context"

	"github.com/promcost/promcost/allocation"
)

// usage gives the builder what containers used and pods moved, each series in the order of time.
func (c *computation) usage(ctx context.Context, b *allocation.Builder) error {
	s := b.Sampling()
	window := allocation.Span{Start: s.LoadStart(), End: s.End}
	if err := c.spans(ctx, b, stageNames[levels], []allocation.Span{window}, levels, disks); err != nil {
		return err
	}
	unseen := b.Unseen()
	for _, x := range []struct {
		name   string
		span   allocation.Span
		stages []stage
		some   bool // of some pods
	}{
		{askLevelsBefore, unseen.Before, []stage{levels}, true},
		{askLevelsAfter, unseen.After, []stage{levels}, true},
		{askCountersBefore, unseen.Before, []stage{counters, moving}, true},
		{stageNames[counters], window, []stage{counters, moving}, false},
		{askCountersAfter, unseen.After, []stage{counters, moving}, true},
	} {
		if x.span.Start >= x.span.End {
			continue
		}
		all := func() {}
		if x.some {
			all = c.onlyNames("pod", unseen.Pods)
		}
		err := c.spans(ctx, b, x.name, []allocation.Span{x.span}, x.stages...)
		if all(); err != nil {
			return err
		}
	}
	return nil
}

// readAgain gives the builder once more the usage that exceeded what nodes have.
func (c *computation) readAgain(ctx context.Context, b *allocation.Builder, x *allocation.Excess) error {
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
