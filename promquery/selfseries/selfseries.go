// Package selfseries keeps a program's own metrics for a short while and serves them as a storage.SampleAndChunkQueryable beside
// other series, so that queries about the program itself have an answer without a Prometheus that scrapes it. Everything is in
// memory, bounded, and gone when the program ends.
package selfseries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Defaults of Options.
const (
	DefaultInterval = 15 * time.Second
	DefaultKeep     = 2 * time.Hour
)

// Options set up a Ring. Zero fields take the defaults.
type Options struct {
	// Interval is how far apart samples are taken.
	Interval time.Duration
	// Keep is how long samples are kept.
	Keep time.Duration
	// Now is the clock. Where it stands still, the first samples remain the only ones. The default is time.Now.
	Now func() time.Time
}

// Ring is the newest samples of all metrics of a registry. It is safe for concurrent use.
type Ring struct {
	from prometheus.Gatherer
	o    Options

	mu     sync.RWMutex
	first  int     // the number of the first scrape that is kept
	times  []int64 // of the scrapes that are kept, Unix milliseconds
	series map[string]*series
	list   []*series // by labels
}

// series is a metric with its labels. Most values stay the same for long: only changes are kept.
type series struct {
	labels  labels.Labels
	changes []change
}

// change is a value from a scrape on; a stale marker if there is none.
type change struct {
	scrape int
	value  float64
}

// stale is a stale marker.
var stale = math.Float64frombits(value.StaleNaN)

// New returns a ring of the metrics that a registry gathers. It is empty until Scrape or Run is called.
func New(from prometheus.Gatherer, o Options) *Ring {
	o.Interval, o.Keep = cmp.Or(o.Interval, DefaultInterval), cmp.Or(o.Keep, DefaultKeep)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ring{from: from, o: o, series: map[string]*series{}}
}

// Run scrapes until ctx ends. What cannot be gathered is left out: the scrape of /metrics says so.
func (r *Ring) Run(ctx context.Context) error {
	tick := time.NewTicker(r.o.Interval)
	defer tick.Stop()
	for {
		_ = r.Scrape()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Scrape takes a sample of every metric now, unless there is one of this time already. An error says which metrics could not be
// gathered; the others are kept.
func (r *Ring) Scrape() error {
	gathered, failed := r.from.Gather()
	now := r.o.Now().UnixMilli()
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Time(now)}, gathered...)
	if err = errors.Join(failed, err); err != nil {
		err = fmt.Errorf("gather own metrics: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.times); n > 0 && now <= r.times[n-1] {
		return err
	}
	r.add(now, vector)
	r.forget(now - r.o.Keep.Milliseconds())
	return err
}

// add records the samples of a scrape.
func (r *Ring) add(now int64, vector model.Vector) {
	scrape, seen := r.first+len(r.times), make(map[*series]bool, len(vector))
	r.times = append(r.times, now)
	for _, sample := range vector {
		key := sample.Metric.String()
		s := r.series[key]
		if s == nil {
			s = &series{labels: labelsOf(sample.Metric)}
			r.series[key] = s
			at, _ := slices.BinarySearchFunc(r.list, s, compare)
			r.list = slices.Insert(r.list, at, s)
		}
		s.put(scrape, float64(sample.Value))
		seen[s] = true
	}
	for _, s := range r.list {
		if !seen[s] {
			s.put(scrape, stale)
		}
	}
}

// put records a value if it differs from the one before.
func (s *series) put(scrape int, v float64) {
	if n := len(s.changes); n > 0 && math.Float64bits(s.changes[n-1].value) == math.Float64bits(v) {
		return
	}
	s.changes = append(s.changes, change{scrape, v})
}

// forget drops the scrapes before a time, and series that had ended by then.
func (r *Ring) forget(before int64) {
	n, _ := slices.BinarySearch(r.times, before)
	if n == 0 {
		return
	}
	r.first, r.times = r.first+n, slices.Clone(r.times[n:])
	for _, s := range r.list {
		old := 0
		for old+1 < len(s.changes) && s.changes[old+1].scrape <= r.first {
			old++
		}
		s.changes = slices.Delete(s.changes, 0, old)
	}
	ended := func(s *series) bool { return len(s.changes) == 1 && value.IsStaleNaN(s.changes[0].value) }
	r.list = slices.DeleteFunc(r.list, ended)
	for key, s := range r.series {
		if ended(s) {
			delete(r.series, key)
		}
	}
}

func labelsOf(m model.Metric) labels.Labels {
	b := labels.NewScratchBuilder(len(m))
	for name, v := range m {
		b.Add(string(name), string(v))
	}
	b.Sort()
	return b.Labels()
}

func compare(a, b *series) int { return labels.Compare(a.labels, b.labels) }
