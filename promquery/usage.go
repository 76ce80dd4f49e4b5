package promquery

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// metered is one of a computation's sources. It records what is read from it, and for which input.
type metered struct {
	src     Source
	used    bool
	reading allocation.SourceReading
}

// Select implements Source.
func (p *metered) Select(ctx context.Context, rs []Request, stats *Stats) iter.Seq2[Series, error] {
	return p.selectFrom(ctx, p.src, rs, stats)
}

// End implements Ender.
func (p *metered) End() { endSource(p.src) }

// selectFrom is Select on src instead of its source.
func (p *metered) selectFrom(ctx context.Context, src Source, rs []Request, stats *Stats) iter.Seq2[Series, error] {
	return func(yield func(Series, error) bool) {
		began, samples, failed := time.Now(), make([]int64, len(rs)), false
		var got Stats
		for s, err := range src.Select(ctx, rs, &got) {
			if err == nil {
				samples[s.Request] += int64(s.Points.Len())
			}
			failed = err != nil && ctx.Err() == nil
			if !yield(s, err) {
				break
			}
		}
		p.used = true
		p.reading.Took += time.Since(began)
		p.addUp(rs, samples, &got, failed)
		stats.Add(got)
	}
}

// addUp adds up what a Select took. If the source failed without a failed request, the failure counts for the first request.
func (p *metered) addUp(rs []Request, samples []int64, stats *Stats, failed bool) {
	r := &p.reading
	r.Requests += stats.Requests
	r.Series += stats.Series
	r.Samples += stats.Samples
	r.Bytes += stats.Bytes
	for i, n := range samples {
		input(r, rs[i].Input).Samples += n
	}
	for i := range stats.Sent {
		failed = failed && !stats.Sent[i].Failed
		countSent(r, rs, &stats.Sent[i])
	}
	if failed && len(rs) > 0 {
		input(r, rs[0].Input).Errors++
		r.Errors++
	}
}

// countSent counts what was sent for the input that it brought the most bytes of, with its whole duration. All inputs that it asked
// for share its bytes and its time.
func countSent(r *allocation.SourceReading, rs []Request, req *Sent) {
	var names []string
	var bytes []int64
	for _, of := range req.Of {
		name := rs[of.Request].Input
		k := slices.Index(names, name)
		if k < 0 {
			k, names, bytes = len(names), append(names, name), append(bytes, 0)
		}
		bytes[k] += of.Bytes
	}
	most := 0
	for k, took := range apportion(int64(req.Took), bytes) {
		in := input(r, names[k])
		in.Bytes += bytes[k]
		in.Requesting += time.Duration(took)
		if bytes[k] > bytes[most] {
			most = k
		}
	}
	in := input(r, names[most])
	in.Durations = append(in.Durations, req.Took)
	in.Requests++
	r.Requesting += req.Took
	if req.Again {
		in.Retries++
		r.Retries++
	}
	if req.Failed {
		in.Errors++
		r.Errors++
	}
}

// input is the account of an input. The accounts are sorted by name.
func input(r *allocation.SourceReading, name string) *allocation.InputUse {
	at, ok := slices.BinarySearchFunc(r.Inputs, name, func(in allocation.InputUse, name string) int { return cmp.Compare(in.Input, name) })
	if !ok {
		r.Inputs = slices.Insert(r.Inputs, at, allocation.InputUse{Input: name})
	}
	return &r.Inputs[at]
}

// reading is the account of what was read.
func (c *computation) reading() *allocation.Reading {
	r := &allocation.Reading{Read: max(0, c.selects-c.using), Integrate: c.using + c.computing, Stages: c.stages, Inputs: c.found.reading()}
	if len(c.windows) > 0 {
		r.Resolution, r.ScrapeInterval = c.windows[0].resolution, c.windows[0].scrape
	}
	r.Sources = c.sources()
	return r
}

// sources is the account of each source that was asked.
func (c *computation) sources() []allocation.SourceReading {
	var out []allocation.SourceReading
	for _, p := range c.metered {
		if p.used {
			out = append(out, p.reading)
		}
	}
	return out
}
