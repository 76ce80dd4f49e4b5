package promquery

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// part is one of a computation's sources. It records what is read from it, and for which input.
type part struct {
	src     Source
	asked   bool
	reading allocation.SourceReading
}

// Select implements Source.
func (p *part) Select(ctx context.Context, sels []Selector, yield Yield) (Stats, error) {
	return p.SelectParallel(ctx, sels, OneWorker(yield))
}

// SelectParallel implements Parallel.
func (p *part) SelectParallel(ctx context.Context, sels []Selector, workers Workers) (Stats, error) {
	return p.selectOf(ctx, p.src, sels, workers)
}

// selectOf is SelectParallel on src instead of the part's source.
func (p *part) selectOf(ctx context.Context, src Source, sels []Selector, workers Workers) (Stats, error) {
	began := time.Now()
	samples := make([][]int64, workers.N+1) // by worker and selector
	for worker := range samples {
		samples[worker] = make([]int64, len(sels))
	}
	var refused atomic.Bool
	give := workers.Yield
	workers.Yield = func(worker, i int, key []Symbol, points *timeline.Points) error {
		samples[worker][i] += int64(points.Len())
		err := give(worker, i, key, points)
		if err != nil {
			refused.Store(true)
		}
		return err
	}
	stats, err := SelectParallel(ctx, src, sels, workers)
	p.asked = true
	p.reading.Took += time.Since(began)
	p.note(sels, samples, &stats, err != nil && ctx.Err() == nil && !refused.Load())
	return stats, err
}

// note adds up what a Select took. If the source failed without a failed request, the failure counts for the first selector.
func (p *part) note(sels []Selector, samples [][]int64, stats *Stats, failed bool) {
	r := &p.reading
	r.Requests += stats.Requests
	r.Series += stats.Series
	r.Samples += stats.Samples
	r.Bytes += stats.Bytes
	for _, of := range samples {
		for i, n := range of {
			input(r, sels[i].Input).Samples += n
		}
	}
	for i := range stats.Sent {
		failed = failed && !stats.Sent[i].Failed
		noteRequest(r, sels, &stats.Sent[i])
	}
	if failed && len(sels) > 0 {
		input(r, sels[0].Input).Errors++
		r.Errors++
	}
}

// noteRequest counts a request for the input that it brought the most bytes of, with its whole duration. All inputs that it asked
// for share its bytes and its time.
func noteRequest(r *allocation.SourceReading, sels []Selector, req *Request) {
	var names []string
	var bytes []int64
	for _, of := range req.Of {
		name := sels[of.Selector].Input
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
	r := &allocation.Reading{
		Resolution: c.resolution, ScrapeInterval: c.scrape,
		Read: max(0, c.selects-c.yields), Integrate: c.yields + c.computing, Stages: c.stages, Inputs: c.found.reading(),
	}
	r.Sources = c.sources()
	return r
}

// sources is the account of each source that was asked.
func (c *computation) sources() []allocation.SourceReading {
	var out []allocation.SourceReading
	for _, p := range c.parts {
		if p.asked {
			out = append(out, p.reading)
		}
	}
	return out
}
