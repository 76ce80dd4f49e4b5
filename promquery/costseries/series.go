package costseries

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// stale is a stale marker.
var stale = math.Float64frombits(value.StaleNaN)

// series is a storage.Series. Its values are at consecutive times of a clock that all series of a loader share, or at times of
// its own once it has a gap.
type series struct {
	labels labels.Labels
	clock  *[]int64 // Unix milliseconds
	first  int      // index of the time of values[0] in the clock, where times is nil
	last   int      // index of the time of the last value
	times  []int64
	values []float64
	// histograms are the samples in place of values, as far as it reaches; a nil one is a stale marker, which values has.
	histograms []*histogram.FloatHistogram
}

// put adds v to the value at a time of the clock, which must not be before the last one.
func (s *series) put(now int, v float64) {
	switch n := len(s.values); {
	case n == 0:
		s.first = now
	case s.last == now:
		s.values[n-1] += v
		return
	case s.times == nil && s.last+1 < now:
		s.times = append(make([]int64, 0, cap(s.values)+1), (*s.clock)[s.first:s.first+n]...)
	}
	if s.times != nil {
		s.times = append(s.times, (*s.clock)[now])
	}
	s.last, s.values = now, append(s.values, v)
}

// grow makes room for as many samples again, but no more than most, and returns how many bytes that takes.
func (s *series) grow(most int) int {
	n := min(max(len(s.values), 16), max(most, 1))
	s.values = append(make([]float64, 0, len(s.values)+n), s.values...)
	if s.times == nil {
		return 8 * n
	}
	return 16 * n
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	times := s.times
	if times == nil {
		times = (*s.clock)[s.first : s.first+len(s.values)]
	}
	return storage.NewListSeriesIterator(&samples{times: times, values: s.values, histograms: s.histograms})
}

// samples are storage.Samples that are made one at a time, for a single iterator.
type samples struct {
	times      []int64
	values     []float64
	histograms []*histogram.FloatHistogram
	now        sample
}

// Len implements storage.Samples.
func (s *samples) Len() int { return len(s.values) }

// Get implements storage.Samples. The sample is valid until the next call.
func (s *samples) Get(i int) chunks.Sample {
	s.now = sample{t: s.times[i], v: s.values[i]}
	if i < len(s.histograms) {
		s.now.h = s.histograms[i]
	}
	return &s.now
}

// sample is a chunks.Sample.
type sample struct {
	t int64
	v float64
	h *histogram.FloatHistogram // nil for a number
}

func (s *sample) T() int64                      { return s.t }
func (*sample) ST() int64                       { return 0 }
func (s *sample) F() float64                    { return s.v }
func (*sample) H() *histogram.Histogram         { return nil }
func (s *sample) FH() *histogram.FloatHistogram { return s.h }

func (s *sample) Type() chunkenc.ValueType {
	if s.h != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

func (s *sample) Copy() chunks.Sample { own := *s; return &own }
