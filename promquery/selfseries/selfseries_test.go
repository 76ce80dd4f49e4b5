package selfseries_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/promquery/selfseries"
)

// watched is a ring under a clock that is set by hand, beside a storage with a series of the name cost and one of the name shared.
type watched struct {
	*selfseries.Ring
	now      time.Time
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
}

func watch(t *testing.T) (*watched, storage.SampleAndChunkQueryable) {
	t.Helper()
	w := &watched{
		now:      time.Unix(1000, 0),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "Requests."}, []string{"code"}),
		seconds:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "How long.", Buckets: []float64{1}}),
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(w.requests, w.seconds, prometheus.NewGauge(prometheus.GaugeOpts{Name: "shared", Help: "Of both."}))
	w.Ring = selfseries.New(reg, selfseries.Options{Keep: time.Minute, Now: func() time.Time { return w.now }})
	others := promqltest.LoadedStorage(t, "load 10s\n  cost{namespace=\"a\"} 7x1000\n  shared{namespace=\"a\"} 8x1000\n")
	return w, w.Beside(others, []string{"cost", "shared"})
}

// scrape scrapes some seconds later.
func (w *watched) scrape(t *testing.T, after int) {
	t.Helper()
	w.now = w.now.Add(time.Duration(after) * time.Second)
	if err := w.Scrape(); err != nil {
		t.Error(err)
	}
}

// read are the samples of all series that a matcher of names selects, as text.
func read(t *testing.T, q storage.Queryable, from, to int64, hints *storage.SelectHints, names string) (list []string) {
	t.Helper()
	querier, err := q.Querier(1000*from, 1000*to)
	if err != nil {
		t.Fatal(err)
	}
	set := querier.Select(t.Context(), true, hints, labels.MustNewMatcher(labels.MatchRegexp, "__name__", names))
	for set.Next() {
		var b strings.Builder
		b.WriteString(set.At().Labels().String())
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			at, v := it.At()
			text := fmt.Sprint(v)
			if value.IsStaleNaN(v) {
				text = "stale"
			}
			fmt.Fprintf(&b, " %s@%d", text, at/1000)
		}
		list = append(list, b.String())
	}
	if err := errors.Join(set.Err(), querier.Close()); err != nil {
		t.Error(err)
	}
	return list
}

func TestSamples(t *testing.T) {
	w, q := watch(t)
	w.requests.WithLabelValues("200").Add(1)
	w.scrape(t, 0)
	w.requests.WithLabelValues("500").Add(5)
	w.scrape(t, 15)
	w.requests.WithLabelValues("200").Add(1)
	w.requests.DeleteLabelValues("500")
	w.scrape(t, 15)
	w.scrape(t, 15)
	w.scrape(t, 0) // the clock stands still
	w.seconds.Observe(3)
	for _, tt := range []struct {
		name     string
		from, to int64
		hints    *storage.SelectHints
		names    string
		want     []string
	}{
		{"all of it", 0, 2000, nil, "requests_total", []string{
			`{__name__="requests_total", code="200"} 1@1000 1@1015 2@1030 2@1045`,
			`{__name__="requests_total", code="500"} 5@1015 stale@1030`,
		}},
		{"between", 1001, 1030, nil, "requests_total", []string{
			`{__name__="requests_total", code="200"} 1@1015 2@1030`,
			`{__name__="requests_total", code="500"} 5@1015 stale@1030`,
		}},
		{"hints", 0, 2000, &storage.SelectHints{Start: 1031_000, End: 1045_000}, "requests_total", []string{
			`{__name__="requests_total", code="200"} 2@1045`,
		}},
		{"a limit", 1045, 1045, &storage.SelectHints{Start: 0, End: 2000_000, Limit: 1}, "seconds.*|requests_total", []string{
			`{__name__="requests_total", code="200"} 2@1045`,
		}},
		{"histograms", 1045, 1045, nil, "seconds.*", []string{
			`{__name__="seconds_bucket", le="+Inf"} 0@1045`, `{__name__="seconds_bucket", le="1"} 0@1045`,
			`{__name__="seconds_count"} 0@1045`, `{__name__="seconds_sum"} 0@1045`,
		}},
		{"both", 1040, 1049, nil, "cost|requests_total", []string{
			`{__name__="cost", namespace="a"} 7@1040`, `{__name__="requests_total", code="200"} 2@1045`,
		}},
		{"what others know more of", 1040, 1049, nil, "shared", []string{`{__name__="shared", namespace="a"} 8@1040`}},
		{"others alone", 1040, 1049, nil, "cost", []string{`{__name__="cost", namespace="a"} 7@1040`}},
		{"before", 0, 999, nil, "requests_total", nil},
		{"after", 1046, 2000, nil, "requests_total", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(t, q, tt.from, tt.to, tt.hints, tt.names)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, read(t, unpacked{q}, tt.from, tt.to, tt.hints, tt.names)); diff != "" {
				t.Errorf("chunks: %s", diff)
			}
		})
	}
}

// unpacked is a storage.Queryable of the samples in chunks.
type unpacked struct {
	storage.SampleAndChunkQueryable
}

// Querier implements storage.Queryable.
func (u unpacked) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := u.ChunkQuerier(mint, maxt)
	return unpacking{q}, err
}

// unpacking is a storage.Querier.
type unpacking struct{ storage.ChunkQuerier }

// Select implements storage.Querier.
func (u unpacking) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return storage.NewSeriesSetFromChunkSeriesSet(u.ChunkQuerier.Select(ctx, sorted, hints, matchers...))
}

// TestOldSamplesAreForgotten keeps one minute of samples, and no series that has ended.
func TestOldSamplesAreForgotten(t *testing.T) {
	w, q := watch(t)
	w.requests.WithLabelValues("500").Add(1)
	w.scrape(t, 0)
	w.requests.DeleteLabelValues("500")
	for i := range 20 {
		w.requests.WithLabelValues("200").Add(float64(i % 2))
		w.scrape(t, 15)
	}
	want := []string{`{__name__="requests_total", code="200"} 8@1240 8@1255 9@1270 9@1285 10@1300`}
	if diff := cmp.Diff(want, read(t, q, 0, 2000, nil, "requests_total")); diff != "" {
		t.Error(diff)
	}
}

func TestWords(t *testing.T) {
	w, q := watch(t)
	w.requests.WithLabelValues("200").Add(1)
	w.scrape(t, 0)
	querier, err := q.Querier(0, 2000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	names, _, err := querier.LabelValues(t.Context(), "__name__", nil)
	if diff := cmp.Diff([]string{"cost", "requests_total", "seconds_bucket", "seconds_count", "seconds_sum", "shared"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	known, _, err := querier.LabelNames(t.Context(), &storage.LabelHints{Limit: 3})
	if diff := cmp.Diff([]string{"__name__", "code", "le"}, known); diff != "" || err != nil {
		t.Error(diff, err)
	}
	codes, _, err := querier.LabelValues(t.Context(), "code", nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "requests_total"))
	if diff := cmp.Diff([]string{"200"}, codes); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestSelectAny gives series that several selectors match once, whatever the storage beside can do.
func TestSelectAny(t *testing.T) {
	w, q := watch(t)
	w.requests.WithLabelValues("200").Add(1)
	w.scrape(t, 0)
	for name, of := range map[string]storage.Queryable{"storage": q, "ring": w.Beside(q, nil)} {
		querier, err := of.Querier(0, 2000_000)
		if err != nil {
			t.Fatal(err)
		}
		set := querier.(anySelector).SelectAny(t.Context(), nil, [][]*labels.Matcher{
			{labels.MustNewMatcher(labels.MatchRegexp, "__name__", "requests_total|cost")},
			{labels.MustNewMatcher(labels.MatchEqual, "code", "200")},
			{labels.MustNewMatcher(labels.MatchEqual, "namespace", "a")},
		})
		var got []string
		for set.Next() {
			got = append(got, set.At().Labels().String())
		}
		want := []string{`{__name__="cost", namespace="a"}`, `{__name__="requests_total", code="200"}`, `{__name__="shared", namespace="a"}`}
		if diff := cmp.Diff(want, got); diff != "" || set.Err() != nil {
			t.Error(name, diff, set.Err())
		}
	}
}

// noting is a storage that notes when it is asked to select, and when it is first looked at.
type noting struct {
	storage.SampleAndChunkQueryable
	notes *[]string
}

func (n noting) Querier(int64, int64) (storage.Querier, error) {
	return &notingQuerier{storage.NoopQuerier(), n}, nil
}

type notingQuerier struct {
	storage.Querier
	noting
}

func (q *notingQuerier) Select(context.Context, bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	*q.notes = append(*q.notes, "select")
	return &notingSet{storage.EmptySeriesSet(), q.noting}
}

type notingSet struct {
	storage.SeriesSet
	noting
}

func (s *notingSet) Next() bool {
	*s.notes = append(*s.notes, "look")
	return false
}

// TestSelectsBeforeItLooks has the storage beside know all selects of a query before it is looked at any: it reads for them together.
func TestSelectsBeforeItLooks(t *testing.T) {
	w, _ := watch(t)
	w.requests.WithLabelValues("200").Add(1)
	w.scrape(t, 0)
	var notes []string
	q, err := w.Beside(noting{notes: &notes}, nil).Querier(0, 2000_000)
	if err != nil {
		t.Fatal(err)
	}
	one, other := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+")), q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "code", "200"))
	if !one.Next() || !other.Next() {
		t.Error("the ring has nothing")
	}
	if diff := cmp.Diff([]string{"select", "select", "look", "look"}, notes); diff != "" {
		t.Error(diff)
	}
}

// anySelector is what a querier of the ring is, beside storage.Querier.
type anySelector interface {
	SelectAny(ctx context.Context, hints *storage.SelectHints, selectors [][]*labels.Matcher) storage.SeriesSet
}

// TestARegistryThatFails keeps the metrics that a failing registry gathers.
func TestARegistryThatFails(t *testing.T) {
	half := prometheus.GathererFunc(func() (families []*dto.MetricFamily, err error) {
		reg := prometheus.NewRegistry()
		reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "there", Help: "It."}))
		if families, err = reg.Gather(); err != nil {
			return nil, err
		}
		return families, errors.New("the rest is not")
	})
	r := selfseries.New(half, selfseries.Options{Now: func() time.Time { return time.Unix(1000, 0) }})
	if err := r.Scrape(); err == nil || !strings.Contains(err.Error(), "gather own metrics: the rest is not") {
		t.Errorf("the error is %v", err)
	}
	got := read(t, r.Beside(promqltest.LoadedStorage(t, ""), nil), 0, 2000, nil, "there")
	if diff := cmp.Diff([]string{`{__name__="there"} 0@1000`}, got); diff != "" {
		t.Error(diff)
	}
}
