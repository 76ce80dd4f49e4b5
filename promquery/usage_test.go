package promquery_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/remote"
)

// checkSent checks that a Select's requests add up to what it says of them all.
func checkSent(t *testing.T, stats *promquery.Stats, selectors int) {
	t.Helper()
	bytes := int64(0)
	for _, r := range stats.Sent {
		of := int64(0)
		for _, p := range r.Of {
			if p.Request < 0 || p.Request >= selectors || p.Bytes < 0 {
				t.Errorf("a request for %+v, of %d selectors", p, selectors)
			}
			of += p.Bytes
		}
		if of != r.Bytes || len(r.Of) == 0 || r.Took <= 0 {
			t.Errorf("request %+v: its portions have %d bytes", r, of)
		}
		bytes += r.Bytes
	}
	if bytes != stats.Bytes || int64(len(stats.Sent)) != stats.Requests {
		t.Errorf("%d requests of %d bytes, want %d of %d", len(stats.Sent), bytes, stats.Requests, stats.Bytes)
	}
}

// checkUses checks that the accounts of inputs add up to the account of their source.
func checkUses(t *testing.T, src *allocation.SourceReading) {
	t.Helper()
	sum := allocation.InputUse{}
	for _, in := range src.Inputs {
		if in.Input == "" || in.Samples < 0 || int64(len(in.Durations)) != in.Requests {
			t.Errorf("an input %+v", in)
		}
		sum.Requests += in.Requests
		sum.Retries += in.Retries
		sum.Errors += in.Errors
		sum.Samples += in.Samples
		sum.Bytes += in.Bytes
		sum.Requesting += in.Requesting
		sum.Durations = append(sum.Durations, in.Durations...)
	}
	whole := time.Duration(0)
	for _, took := range sum.Durations {
		whole += took
	}
	sum.Durations = nil
	want := allocation.InputUse{
		Requests: src.Requests, Retries: src.Retries, Errors: src.Errors, Samples: src.Samples, Bytes: src.Bytes, Requesting: src.Requesting,
	}
	if diff := cmp.Diff(want, sum); diff != "" || whole != src.Requesting {
		t.Errorf("%s: sums over inputs (-total +sum), %s of requests:\n%s", src.Name, whole, diff)
	}
	if !slices.IsSortedFunc(src.Inputs, func(a, b allocation.InputUse) int { return strings.Compare(a.Input, b.Input) }) {
		t.Errorf("inputs are not sorted: %+v", src.Inputs)
	}
}

// TestUses computes from every source, and from two joined: what was taken for each input adds up, and usage has its part.
func TestUses(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	w := allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End()}
	run := func(t *testing.T, src promquery.Source, sources int) {
		cfg := config
		sets, err := promquery.NewEngine(src, cfg).Compute(t.Context(), allocation.Query{Window: w, Resolution: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		r := sets[0].Reading
		if len(r.Sources) != sources {
			t.Fatalf("%d sources, want %d", len(r.Sources), sources)
		}
		for i := range r.Sources {
			x := &r.Sources[i]
			checkUses(t, x)
			at := slices.IndexFunc(x.Inputs, func(in allocation.InputUse) bool { return in.Input == "cpu usage" })
			if at < 0 || x.Inputs[at].Samples < 1000 || x.Inputs[at].Bytes < 1000 || x.Inputs[at].Requesting <= 0 {
				t.Errorf("cpu usage: %+v", x.Inputs[max(at, 0)])
			}
		}
	}
	for _, source := range sources {
		t.Run(source.name, func(t *testing.T) { run(t, source.open(t, dir).Source, 1) })
	}
	t.Run("joined", func(t *testing.T) {
		cut := at(c.End().Add(-2 * time.Hour).UnixMilli())
		run(t, promquery.Join(openBlocks(t, dir), openRemote(t, dir, remote.ModeRemoteRead), cut), 2)
	})
}

// giving is a source that answers the question of the first stage with given stats and an error, to see for which input they count.
// It answers others with nothing.
type giving struct{ stats promquery.Stats }

var errLost = errors.New("connection lost")

func (g giving) Select(_ context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(_ promquery.Yield) (promquery.Stats, error) {
		if sels[0].Input != "running" {
			return promquery.Stats{}, nil
		}
		return g.stats, errLost
	})
}

// TestUsesOfRequests looks at whom a request of several inputs is counted for. The first selectors of the first stage are
// of the inputs running, init running and started.
func TestUsesOfRequests(t *testing.T) {
	several := promquery.Sent{Took: 10 * time.Second, Bytes: 10, Of: []promquery.Portion{{Request: 0, Bytes: 3}, {Request: 1, Bytes: 7}}}
	retried := promquery.Sent{Took: time.Second, Again: true, Failed: true, Of: []promquery.Portion{{Request: 2}, {Request: 1}}}
	for _, tt := range []struct {
		name  string
		stats promquery.Stats
		want  []allocation.InputUse
	}{
		{"requests", promquery.Stats{Requests: 2, Bytes: 10, Sent: []promquery.Sent{several, retried}}, []allocation.InputUse{
			{Input: "init running", Requests: 1, Bytes: 7, Requesting: 7 * time.Second, Durations: []time.Duration{10 * time.Second}},
			{Input: "running", Bytes: 3, Requesting: 3 * time.Second},
			{Input: "started", Requests: 1, Retries: 1, Errors: 1, Requesting: time.Second, Durations: []time.Duration{time.Second}},
		}},
		{"an error without a request", promquery.Stats{}, []allocation.InputUse{{Input: "running", Errors: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen promquery.Observation
			cfg := config
			cfg.Observe = func(o promquery.Observation) { seen = o }
			q := allocation.Query{Window: lastHour(time.Unix(1e9, 0)), Resolution: time.Minute}
			if _, err := promquery.NewEngine(giving{tt.stats}, cfg).Compute(t.Context(), q); !errors.Is(err, errLost) {
				t.Fatalf("got %v", err)
			}
			src := &seen.Reading.Sources[0]
			checkUses(t, src)
			var got []allocation.InputUse
			for _, in := range src.Inputs {
				if in.Errors+in.Bytes+in.Requests > 0 {
					got = append(got, in)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("inputs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPortions divides bytes among selectors: nothing is lost, whatever the weights.
func TestPortions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		bytes   int64
		weights []int64
		want    []int64
	}{
		{"one", 7, []int64{3}, []int64{7}},
		{"alike", 10, []int64{1, 1, 1}, []int64{3, 3, 4}},
		{"by weight", 100, []int64{1, 0, 3}, []int64{25, 0, 75}},
		{"the last has none", 5, []int64{2, 0}, []int64{5, 0}},
		{"no weights", 9, []int64{0, 0}, []int64{9, 0}},
		{"nothing", 0, []int64{4, 4}, []int64{0, 0}},
		{"many", 1 << 50, []int64{1 << 40, 1 << 40}, []int64{1 << 49, 1 << 49}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			selectors := make([]int, len(tt.weights))
			var got []int64
			for i, p := range promquery.NewPortions(tt.bytes, selectors, tt.weights) {
				got = append(got, p.Bytes)
				selectors[i] = i
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("portions (-want +got):\n%s", diff)
			}
		})
	}
}
