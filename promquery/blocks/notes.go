package blocks

import (
	"fmt"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// outcome is what became of selectors that are alike.
type outcome struct {
	i, n   int // the index of the first, and how many there are
	metric string
	lost   []damage  // what was not found of each block
	left   bool      // series of unwanted pods were left out
	notes  [][]notes // by worker and selector
}

// newOutcome is the outcome of the selectors that f is the last of, without notes.
func (r *reader) newOutcome(f *found) *outcome {
	return &outcome{i: f.i, n: len(f.sels), metric: f.sels[0].Metric, lost: f.lost, left: f.left, notes: make([][]notes, len(r.each))}
}

// note records what became of each of the selectors.
func (r *reader) note(o *outcome) {
	for k := range o.n {
		all := newNotes(r.blocks)
		for _, of := range o.notes {
			bytes := int64(0)
			if k < len(of) {
				bytes = of[k].stats.Bytes
				all.join(&of[k])
			}
			r.stats.Sent = append(r.stats.Sent, promquery.Request{Of: []promquery.Portion{{Selector: o.i + k, Bytes: bytes}}})
		}
		r.stats.Add(all.stats)
		for at, b := range r.blocks {
			all.damage[at].join(o.lost[at])
			r.snap.note(b, &all.damage[at], o.metric)
		}
		r.stats.Warnings = append(r.stats.Warnings, all.skipped.Warnings(o.metric)...)
		if o.left && r.workers.Left != nil {
			r.workers.Left(o.i + k)
		}
	}
}

// notes are what reading series for a selector took, and what of them could not be read.
type notes struct {
	stats   promquery.Stats
	skipped chunks.Skipped
	damage  []damage // by block
}

func newNotes(blocks []*block) notes { return notes{damage: make([]damage, len(blocks))} }

// join adds the notes of others.
func (n *notes) join(o *notes) {
	n.stats.Add(o.stats)
	n.skipped.Join(o.skipped)
	for k := range o.damage {
		n.damage[k].join(o.damage[k])
	}
}

// joined are notes by selector, with those of others.
func joined(all, others []notes) []notes {
	for k := range others {
		if k == len(all) {
			all = append(all, others[k])
		} else {
			all[k].join(&others[k])
		}
	}
	return all
}

// of are the notes of a worker for the selector with the index k among those that are alike.
func (l *worker) of(k int) *notes {
	for len(l.notes) <= k {
		l.notes = append(l.notes, newNotes(l.blocks))
	}
	return &l.notes[k]
}

// noted are the notes of a worker by selector, which begins new ones.
func (l *worker) noted() []notes {
	out := l.notes
	l.notes = nil
	return out
}

// damage is what of a block could not be read for one metric. The zero value is none.
type damage struct {
	err      error // why the rest of the series cannot be read
	failed   int   // series with unreadable chunks
	chunkErr error // why the first of them is
	// first and last are the inclusive range of the times of unreadable chunks, if there are any.
	first, last int64
	spans       bool
}

// reach records the time of an unreadable chunk.
func (d *damage) reach(first, last int64) {
	if !d.spans {
		d.first, d.last, d.spans = first, last, true
	}
	d.first, d.last = min(d.first, first), max(d.last, last)
}

// span is the half-open time in which samples of the block could not be read; ok is false if all could.
func (d *damage) span(b *block) (from, to int64, ok bool) {
	if d.err != nil || d.failed > 0 && !d.spans {
		return b.meta.MinTime, b.meta.MaxTime, true
	}
	return max(d.first, b.meta.MinTime), min(d.last, b.meta.MaxTime-1) + 1, d.spans
}

// add counts a series that has unreadable chunks.
func (d *damage) add(err error) {
	if d.failed++; d.failed == 1 {
		d.chunkErr = err
	}
}

// join adds what else could not be read.
func (d *damage) join(o damage) {
	if d.err == nil {
		d.err = o.err
	}
	if d.failed == 0 {
		d.chunkErr = o.chunkErr
	}
	d.failed += o.failed
	if o.spans {
		d.reach(o.first, o.last)
	}
}

// loss is the missing samples of a metric.
func (d *damage) loss(b *block, metric string) (l promquery.Loss, ok bool) {
	from, to, ok := d.span(b)
	cause := d.err
	if cause == nil {
		cause = d.chunkErr
	}
	if !ok || cause == nil {
		return l, false
	}
	return promquery.Loss{
		Of: fmt.Sprintf("block %s", b.id), From: from, To: to, Metrics: []string{metric}, Cause: oneLine(cause),
		Remedy: "restore the block from a copy or remove its directory",
	}, true
}
