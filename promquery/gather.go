package promquery

import (
	"context"

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
	first := []stage{always, priced}
	if !b.MetadataLast() {
		first = append(first, metadata)
	}
	if b.ChargeFrom() == allocation.FromScheduled {
		first = append(first, waiting)
	}
	s := b.Sampling() // the rest of the inputs changes it
	if err := c.stage(ctx, b, stageNames[always], s.LoadStart(), s.End, first...); err != nil {
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
	return c.spans(ctx, b, stageNames[standIn], blind, stages...)
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
