package promquery

import (
	"context"
	"regexp"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// usage gives the builder what containers used and pods moved, each series in the order of time.
func (c *computation) usage(ctx context.Context, b *allocation.Builder) error {
	s := b.Sampling()
	window := allocation.Span{Start: s.LoadStart(), End: s.End}
	if err := c.spans(ctx, b, stageNames[levels], []allocation.Span{window}, levels); err != nil {
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
		c.pods = ""
		if x.some {
			c.pods = c.named(unseen.Pods)
		}
		if err := c.spans(ctx, b, x.name, []allocation.Span{x.span}, x.stages...); err != nil {
			return err
		}
	}
	return nil
}

// named is a regular expression of pods' names, empty where they are too many or their metrics name them otherwise: for all.
func (c *computation) named(pods []string) string {
	quoted := make([]string, len(pods))
	for i, pod := range pods {
		quoted[i] = regexp.QuoteMeta(pod)
	}
	if names := strings.Join(quoted, "|"); !c.exported && len(names) <= mostPods {
		return names
	}
	return ""
}

// mostPods is the most bytes of pods' names that a source is asked for by name.
const mostPods = 32 << 10

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
	c.pods = c.named(x.Pods)
	defer func() { c.pods = "" }()
	return c.stage(ctx, b, askAgain, x.Start-s.Start+s.LoadStart(), end, stages...)
}
