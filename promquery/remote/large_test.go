package remote_test

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// withLabel adds a label to series.
func withLabel(series []labels.Labels, name, value string) []labels.Labels {
	for i := range series {
		series[i] = labels.NewBuilder(series[i]).Set(name, value).Labels()
	}
	return series
}

// TestLargeAnswers has more samples, or bytes, than one answer should have: each sample comes once all the same, and where the server
// says how many there are, no answer is large.
func TestLargeAnswers(t *testing.T) {
	const secondMs = int64(1000)
	teams := []string{"a", "b", "c", "d"}
	for _, tc := range []struct {
		name        string
		series      []labels.Labels
		step        int64
		hours       int64
		knows       bool
		compression remote.Compression
		most        int // samples of an answer
		requests    int // for samples
	}{
		{"by time, foreseen", inNamespaces("namespace", 90, teams...), minuteMs, 48, true, "", 900_000, 2},
		{"by time, found out", inNamespaces("namespace", 90, teams...), minuteMs, 48, false, "", 360 * 48 * 60, 3},
		{"raw, foreseen", inNamespaces("namespace", 180, teams...), 0, 25, true, "", 900_000, 2},
		{"raw, found out", inNamespaces("namespace", 180, teams...), 0, 25, false, "", 720 * 25 * 60, 3},
		{"by namespace, foreseen", inNamespaces("namespace", 75, teams...), secondMs, 2, true, "", 150 * 3600, 4},
		{"by namespace, found out", inNamespaces("namespace", 75, teams...), secondMs, 2, false, "", 300 * 7200, 6},
		{"one namespace", inNamespaces("namespace", 300, "a"), secondMs, 2, true, "", 300 * 3600, 6},
		{"long labels", withLabel(inNamespaces("namespace", 40, teams...), "text", strings.Repeat("x", 250_000)), minuteMs, 2, true, "", 160 * 120, 6},
		{"compressed", withLabel(inNamespaces("namespace", 40, teams...), "text", strings.Repeat("x", 250_000)), minuteMs, 2, true, remote.CompressionGzip, 160 * 120, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &limited{t: t, series: tc.series, limit: math.MaxInt, knows: tc.knows}
			f := newFake()
			l.handle(f)
			for _, path := range []string{"/api/v1/query", rangePath} {
				f.handle(path, compressing(f.handlers[path]).ServeHTTP)
			}
			sel := promquery.Request{Metric: "m", Keep: promquery.Labels("namespace", "pod"), Start: 1, End: tc.hours * hourMs, Grid: promquery.Grid{Step: tc.step}}
			distance := cmp.Or(tc.step, minuteMs)
			until := map[string]int64{}
			stats, err := promtest.Select(t.Context(), f.source(t, remote.Config{Mode: remote.ModeQuery, Compression: tc.compression}), []promquery.Request{sel}, func(_ int, key []promquery.Symbol, p *timeline.Points) error {
				name := key[0].Value() + "/" + key[1].Value()
				for at := range p.All() {
					if at != until[name]+distance {
						t.Fatalf("%s: a sample at %d follows one at %d", name, at, until[name])
					}
					until[name] = at
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, last := range until {
				if last != sel.End {
					t.Errorf("%s ends at %d", name, last)
				}
			}
			if len(until) != len(tc.series) || stats.Series != int64(len(tc.series)) {
				t.Errorf("%d series, counted as %d, want %d", len(until), stats.Series, len(tc.series))
			}
			asked := 0
			for _, r := range f.asked {
				if query := r.FormValue("query"); strings.HasPrefix(query, "{") && !ofScrapes(query) {
					asked++
				}
			}
			if l.most > tc.most || asked != tc.requests {
				t.Errorf("%d requests, the largest answer has %d samples, want %d and at most %d", asked, l.most, tc.requests, tc.most)
			}
			if slices.ContainsFunc(stats.Sent, func(s promquery.Sent) bool { return s.Failed }) {
				t.Error("an answer that was cut off counts as one that failed")
			}
		})
	}
}

// TestLargeAnswersTurns checks that large answers come one at a time, over all Selects, and that others need not wait for them.
func TestLargeAnswersTurns(t *testing.T) {
	f := newFake()
	f.handle("/api/v1/query", counting(t, map[string]int{"large": 5000, "small": 10}))
	var large, most atomic.Int64
	small := make(chan struct{})
	f.handle(rangePath, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.FormValue("query"), "small") {
			small <- struct{}{}
		} else {
			most.Store(max(most.Load(), large.Add(1)))
			<-small
			time.Sleep(10 * time.Millisecond) // time for one request too many
			large.Add(-1)
		}
		matrix("")(w, r)
	})
	src := f.source(t, remote.Config{Mode: remote.ModeQuery, MaxConcurrency: 4})
	day := func(metric string) promquery.Request {
		return promquery.Request{Metric: metric, Start: 1, End: 24 * hourMs, Grid: promquery.Grid{Step: minuteMs}}
	}
	done := make(chan error)
	for range 2 {
		go func() {
			_, err := promtest.Select(t.Context(), src, []promquery.Request{day("large")}, nil)
			done <- err
		}()
	}
	const requests = 2 * 8 // of 7.2 million samples, 900,000 in each
	for range requests {
		if _, err := promtest.Select(t.Context(), src, []promquery.Request{day("small")}, nil); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := most.Load(); n != 1 {
		t.Errorf("%d large answers at a time, want 1", n)
	}
}
