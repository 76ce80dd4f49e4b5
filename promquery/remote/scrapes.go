package remote

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
)

// Answers with raw samples do not show staleness markers. Prometheus writes one at a scrape that lacks a series which the scrape before
// had. So they are put back: at the first scrape of its target at which a series is missing. The samples of up have the times of all
// scrapes, of failed ones, too. Where none follows within the lookback, the target was not scraped: it was removed, or there was an outage, which
// leaves no markers. Samples at other times than the scrapes get none, as in Prometheus.

// scrapeMetric is what Prometheus makes of each scrape.
const scrapeMetric = "up"

// mostStretches bounds the memory for the times of scrapes, to about 24 MB. Regular ones of one target are a single stretch.
const mostStretches = 1 << 20

// target is what was scraped. Several endpoints may share both labels.
type target struct{ job, instance string }

// targetOf is the target of a series.
func targetOf(labels []label) target {
	return target{valueOf(labels, "job"), valueOf(labels, "instance")}
}

// scrapes are when targets were scraped.
type scrapes struct {
	byTarget   map[target][]*times
	byID       map[uint64]*times // by the hash of the labels of their series
	labels     map[uint64][]label
	stretches  int
	start, end int64 // of the time that was asked for
}

// times are ascending.
type times []stretch

// stretch is n times, step apart.
type stretch struct{ from, step, n int64 }

func (x *stretch) last() int64 { return x.from + (x.n-1)*x.step }

// add adds a time after all others.
func (s *times) add(t int64) {
	if k := len(*s) - 1; k >= 0 {
		x := &(*s)[k]
		if t <= x.last() {
			return
		}
		if d := t - x.last(); d <= timeline.Lookback && (x.n == 1 || d == x.step) {
			x.step = d
			x.n++
			return
		}
	}
	*s = append(*s, stretch{from: t, n: 1})
}

// end is the last of the times, of which there are some.
func (s times) end() int64 { return s[len(s)-1].last() }

// has reports whether t is one of the times.
func (s times) has(t int64) bool {
	k := s.reach(0, t-1)
	return k < len(s) && s[k].after(t-1) == t
}

// reach is the first stretch from the k-th on that has a time after t.
func (s times) reach(k int, t int64) int {
	for k < len(s) && s[k].last() <= t {
		k++
	}
	return k
}

// after is the first time after t. There is one.
func (x *stretch) after(t int64) int64 {
	if t < x.from {
		return x.from
	}
	return x.from + ((t-x.from)/x.step+1)*x.step
}

// mark appends to dst the samples of a series, and staleness markers up to end.
func (s times) mark(dst, samples []point, end int64) []point {
	k := 0
	for i, p := range samples {
		dst = append(dst, p)
		following := end + 1
		if i+1 < len(samples) {
			following = samples[i+1].t
		}
		if k = s.reach(k, p.t-1); k == len(s) || s[k].after(p.t-1) != p.t {
			continue // another scrape gave this sample
		}
		if k = s.reach(k, p.t); k == len(s) {
			continue
		}
		if next := s[k].after(p.t); next < following && next-p.t <= timeline.Lookback {
			dst = append(dst, point{next, math.Float64frombits(value.StaleNaN)})
		}
	}
	return dst
}

// of returns the scrapes that the samples of a series come from, nil if none are known.
func (s *scrapes) of(labels []label, samples []point) *times {
	for _, list := range s.byTarget[targetOf(labels)] {
		last := samples[len(samples)-1].t
		if list.has(samples[0].t) && (list.has(last) || last > list.end()) { // a scrape may have come since
			return list
		}
	}
	return nil
}

// add adds samples of up.
func (s *scrapes) add(id uint64, labels []label, samples []point) error {
	list := s.byID[id]
	if list == nil {
		list = new(times)
		of := targetOf(labels)
		s.byID[id], s.byTarget[of], s.labels[id] = list, append(s.byTarget[of], list), slices.Clone(labels)
	}
	before := len(*list)
	for _, p := range samples {
		list.add(p.t)
	}
	if s.stretches += len(*list) - before; s.stretches > mostStretches {
		return errTooMany
	}
	return nil
}

// unmarked reports whether raw samples of the group lack markers that its series have.
func (s *Source) unmarked(g *group) bool {
	return s.cfg.Lookback == 0 && g.span.Grid.Lookback == 0 && (g.raw || g.span.Grid.Step == 0)
}

// findScrapes asks when targets were scraped in the time of the groups that want to know, unless that is too short to matter. It returns
// nil if the server does not say.
func (r *run) findScrapes(ctx context.Context, metrics []*group) (*scrapes, error) {
	span := promquery.Request{Metric: scrapeMetric, Start: math.MaxInt64}
	first := -1
	for _, g := range metrics {
		if r.src.unmarked(g) {
			span.Start, span.End = min(span.Start, g.span.Start), max(span.End, g.span.End)
			first = g.members[0].i
		}
	}
	if first < 0 || span.End-span.Start < worthAsking {
		return nil, nil
	}
	span.Start -= timeline.Lookback
	r.src.mu.Lock()
	known := r.src.scrapes
	r.src.mu.Unlock()
	if known != nil && known.start <= span.Start && span.End <= known.end {
		return known, nil
	}
	g, err := newGroup(first, span)
	if err != nil {
		return nil, err
	}
	if _, err := r.estimate(ctx, []*group{g}); err != nil {
		return nil, err
	}
	found := &scrapes{byTarget: map[target][]*times{}, byID: map[uint64]*times{}, labels: map[uint64][]label{}, start: span.Start, end: span.End}
	q := &querier{run: r, group: g, handedUntil: map[uint64]int64{}, got: make([]int64, 1), record: found}
	if err := q.read(ctx); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil || len(found.byID) == 0 {
		return nil, nil
	}
	found.addRemovals()
	if time.Since(time.UnixMilli(span.End)) > knownSampleAge { // later ones may still come
		r.src.mu.Lock()
		r.src.scrapes = found
		r.src.mu.Unlock()
	}
	return found, nil
}
