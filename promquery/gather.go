package promquery

import (
	"context"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
)

// gather reads everything but usage. It leaves out labels and annotations of pods if label reads them.
func (c *computation) gather(ctx context.Context, b *build.Builder) error {
	c.gathering.on = true
	defer func() { c.gathering.on = false }()
	last := b.MetadataLast()
	if err := c.gatherInputs(ctx, b); err != nil {
		return err
	}
	if last && !b.MetadataLast() { // what was read shows that labels are needed now
		return c.stage(ctx, b, stageNames[metadata], b.Sampling().LoadStart(), b.Sampling().End, metadata)
	}
	return nil
}

// gatherInputs is gather without the labels and annotations that turn out to be needed before usage.
func (c *computation) gatherInputs(ctx context.Context, b *build.Builder) error {
	about := []stage{details, metadata}
	if b.MetadataLast() {
		about = about[:1]
	}
	if b.ChargeFrom() == allocation.FromScheduled {
		about = append(about, waiting)
	}
	first := append([]stage{always, priced, places, running}, about...)
	if err := c.gatherFirst(ctx, b, first, about); err != nil {
		return err
	}
	inWindow := c.series
	if beyond := b.Beyond(); len(beyond) > 0 {
		if err := c.spans(ctx, b, askBeyond, beyond, first...); err != nil {
			return err
		}
	}
	if unpriced := b.Unpriced(); len(unpriced) > 0 {
		if err := c.spans(ctx, b, askPrices, unpriced, priced); err != nil {
			return err
		}
	}
	c.series = inWindow
	if err := c.gatherBlind(ctx, b); err != nil {
		return err
	}
	if c.series == 0 {
		return c.nothing()
	}
	for _, of := range [...]struct {
		element string
		list    func() []string // known once what comes before is read
		stages  []stage
	}{
		{"pod", b.BlindPods, []stage{standIn, infos, phases, lazily}},
		{"container", b.BlindInits, []stage{standIn, infos, lazily}},
		{"pod", b.InfoInits, []stage{phases}},
		{"container", b.InitContainers, []stage{starts}},
		{"pod", b.UnseenPods, []stage{unseen}},
		{"pod", b.UnknownStarts, []stage{restarts}},
		{"pod", b.Ownerless, []stage{owners}},
	} {
		if err := c.named(ctx, b, of.element, of.list(), of.stages...); err != nil {
			return err
		}
	}
	if c.only.fewOfAssets {
		return nil
	}
	last, whole := b.Borders()
	sels := append(within(b, last), within(b, whole)...)
	for i := range last {
		sels[i].Last = true
	}
	return c.read(ctx, b, stageNames[borders], sels, borders)
}

// gatherFirst reads the stages that every computation needs, the last of which are about pods. A shard reads first where pods are, then
// when containers ran, and then what is about its own pods only.
func (c *computation) gatherFirst(ctx context.Context, b *build.Builder, all, about []stage) error {
	s := b.Sampling() // the rest of the inputs changes it
	ask := func(stages ...stage) error {
		return c.stage(ctx, b, stageNames[stages[0]], s.LoadStart(), s.End, stages...)
	}
	if !b.Sharded() {
		return ask(all...)
	}
	if err := ask(always, priced); err != nil {
		return err
	}
	b.PlaceOthers()
	if err := ask(places); err != nil {
		return err
	}
	if b.PlaceTwins() {
		if err := ask(places); err != nil {
			return err
		}
	}
	b.LeaveOthers()
	if err := ask(running); err != nil {
		return err
	}
	names, every := b.Recall()
	if every {
		if err := ask(places, running); err != nil {
			return err
		}
	} else if len(names) > 0 {
		if err := ask(places); err != nil {
			return err
		}
		if err := c.named(ctx, b, "pod", names, running); err != nil {
			return err
		}
	}
	b.Placed()
	c.only.leftOut = &UIDs{Wanted: func(uid string) Wanted {
		switch all, butRuns := b.LeavesOut(uid); {
		case all:
			return WantsNothing
		case butRuns:
			return WantsRuns
		}
		return WantsAll
	}}
	return ask(about...)
}

// gatherBlind reads what stands in for the running signal where that is missing.
func (c *computation) gatherBlind(ctx context.Context, b *build.Builder) error {
	blind := b.Blind()
	if len(blind) == 0 {
		return nil
	}
	stages := []stage{standIn, lazily}
	if !c.found.withoutInfos(blind) {
		stages = append(stages, infos, phases)
	}
	if err := c.spans(ctx, b, stageNames[standIn], blind, stages...); err != nil {
		return err
	}
	others := b.BlindElsewhere(blind)
	if len(others) == 0 {
		return nil
	}
	c.only.inverted = true
	defer func() { c.only.inverted = false }()
	return c.spans(ctx, b, stageNames[standIn], others, slices.DeleteFunc(stages, func(s stage) bool { return s == lazily || s == phases })...)
}

// label reads the labels and annotations that are read last.
func (c *computation) label(ctx context.Context, b *build.Builder) error {
	names, err := b.Labeled()
	if err != nil || !b.MetadataLast() {
		return err
	}
	c.found.someLabels = true
	c.gathering.on = true
	defer func() { c.gathering.on = false }()
	if err := c.named(ctx, b, "pod", names, metadata); err != nil {
		return err
	}
	return c.checkMemory(b)
}
