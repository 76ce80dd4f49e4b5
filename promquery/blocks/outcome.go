package blocks

import (
	"fmt"

	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/chunks"
)

// record adds to the statistics what became of each request, once the requests have no more pages. all are the outcomes of all pages.
func (r *reader) record(last *page, all []outcome) {
	for k := range last.requests {
		if k == len(all) {
			all = append(all, newOutcome(r.snap.blocks))
		}
		n, metric := &all[k], last.requests[k].Metric
		r.stats.Sent = append(r.stats.Sent, promquery.Sent{Of: []promquery.Portion{{Request: last.first + k, Bytes: n.stats.Bytes}}})
		r.stats.Add(n.stats)
		for i, b := range r.snap.blocks {
			n.damage[i].join(last.lost[i])
			r.snap.recordLoss(b, &n.damage[i], metric)
		}
		r.stats.Warnings = append(r.stats.Warnings, n.skipped.Warnings(metric)...)
	}
}

// outcome is what it took to read the series of a request, and what of the series could not be read.
type outcome struct {
	stats   promquery.Stats
	skipped chunks.Skipped
	damage  []damage // by block
}

func newOutcome(blocks []*block) outcome { return outcome{damage: make([]damage, len(blocks))} }

// join adds another outcome of the same request.
func (n *outcome) join(o *outcome) {
	n.stats.Add(o.stats)
	n.skipped.Join(o.skipped)
	for k := range o.damage {
		n.damage[k].join(o.damage[k])
	}
}

// joined returns the outcomes by request, with those of more pages added.
func joined(all, more []outcome) []outcome {
	for k := range more {
		if k == len(all) {
			all = append(all, more[k])
		} else {
			all[k].join(&more[k])
		}
	}
	return all
}

// outcomeOf returns the outcome of the request with the index k among those that are alike.
func (d *decoder) outcomeOf(k int) *outcome {
	for len(d.outcomes) <= k {
		d.outcomes = append(d.outcomes, newOutcome(d.snap.blocks))
	}
	return &d.outcomes[k]
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
