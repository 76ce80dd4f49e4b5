package democluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/value"
)

// target is a scrape target: it is scraped at phase + k·interval for every whole k, while it is there.
type target struct {
	job, instance   string
	node            string // the node's name, if the target is a node's
	interval, phase int64
	from            int64  // first scrape not before
	life            span   // exists
	down            []span // does not answer
	stopped         span   // Prometheus does not run: nothing is scraped, and no staleness markers are written
	gaps            []span // down and stopped, in the order of time
}

func (c *Cluster) newTarget(job, instance string, key uint64) *target {
	interval := c.cfg.ScrapeInterval.Milliseconds()
	r := rng(key)
	g := &target{job: job, instance: instance, interval: interval, phase: r.between(0, interval-1), from: c.start, life: span{c.start, never}, stopped: c.stopped}
	g.fails()
	return g
}

// fails says when the target does not answer.
func (g *target) fails(down ...span) {
	g.down, g.gaps = down, append(slices.Clone(down), g.stopped)
	slices.SortFunc(g.gaps, func(a, b span) int { return cmp.Compare(a.from, b.from) })
}

// first returns the number of the first scrape at or after t.
func (g *target) first(t int64) int64 {
	if t >= never {
		return never
	}
	d := t - g.phase
	k := d / g.interval
	if k*g.interval < d {
		k++
	}
	return k
}

// scrapeTime returns the time of scrape k.
func (g *target) scrapeTime(k int64) int64 { return g.phase + k*g.interval }

// jitter is how much older than scrape k the sample is that cAdvisor took of a cgroup: under a second.
func jitter(key uint64, k int64) int64 { return int64(mix(key^uint64(k)*0x9e3779b97f4a7c15) % 1000) }

// firstTaken returns the number of the first scrape whose sample of a cgroup is from t or later.
func (g *target) firstTaken(key uint64, t int64) int64 {
	k := g.first(t)
	if k < never && g.scrapeTime(k)-jitter(key, k) < t {
		k++
	}
	return k
}

// run is a number of consecutive scrapes [from, to) with the same value; a marker says that the series ended there.
type run struct {
	from, to int64
	value    float64
	marker   bool
}

// alive returns the parts of the scrapes r in which the target was scraped and answered.
func (g *target) alive(r run, dst []run) []run {
	r.from = max(r.from, g.first(max(g.from, g.life.from)))
	r.to = min(r.to, g.first(g.life.to))
	for _, d := range g.gaps {
		a, b := g.first(d.from), g.first(d.to)
		if a < r.to && r.from < b {
			if r.from < a {
				left := r
				left.to = a
				dst = append(dst, left)
			}
			r.from = b
		}
	}
	if r.from < r.to {
		dst = append(dst, r)
	}
	return dst
}

// step is a change of a series: from at on it has the value, or is absent.
type step struct {
	at     int64
	value  float64
	absent bool
}

// constant is a series that has one value during a span.
func constant(s span, v float64) []step {
	return []step{{at: s.from, value: v}, {at: s.to, absent: true}}
}

// runsOf samples steps at a target's scrapes, and adds the staleness markers: wherever a scrape misses what the one before had.
// Only what falls into the scrapes [from, to) is returned.
func (g *target) runsOf(steps []step, from, to int64) []run {
	var all []run
	for i, s := range steps {
		if s.absent {
			continue
		}
		r := run{from: g.first(s.at), to: never, value: s.value}
		if i+1 < len(steps) {
			r.to = g.first(steps[i+1].at)
		}
		if r.from < r.to {
			all = g.alive(r, all)
		}
	}
	return g.markEnds(all, from, to)
}

// markEnds adds staleness markers for series that ended. A Prometheus that has just started does not know which series it scraped
// before it stopped.
func (g *target) markEnds(all []run, from, to int64) []run {
	var out []run
	for i, r := range all {
		if part := (run{max(r.from, from), min(r.to, to), r.value, false}); part.from < part.to {
			out = append(out, part)
		}
		if next := i + 1; (next == len(all) || all[next].from > r.to) && r.to >= from && r.to < to && !g.stopped.has(g.scrapeTime(r.to)) {
			out = append(out, run{r.to, r.to + 1, staleMarker(), true})
		}
	}
	return out
}

func staleMarker() float64 { return math.Float64frombits(value.StaleNaN) }

// sink takes the samples of one series, in the order of time.
type sink interface {
	// same adds the scrapes [from, to) of a target, all of one value.
	same(g *target, from, to int64, v float64) error
	// add adds one sample.
	add(t int64, v float64) error
}

// emit hands the samples of a series to a sink.
func (s *series) emit(to sink) error {
	for _, r := range s.runs {
		var err error
		if s.curve == nil || r.marker {
			err = to.same(s.target, r.from, r.to, r.value)
		} else {
			err = s.emitCurve(r, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *series) emitCurve(r run, to sink) error {
	i := 0
	for k := r.from; k < r.to; k++ {
		t := s.target.scrapeTime(k)
		if s.jitters {
			t -= jitter(s.key, k)
		}
		for i+1 < len(s.curve) && s.curve[i+1].at <= t {
			i++
		}
		seg := s.curve[i]
		if err := to.add(t, float64(seg.base+seg.rate*(t-seg.at))/s.divisor); err != nil {
			return err
		}
	}
	return nil
}
