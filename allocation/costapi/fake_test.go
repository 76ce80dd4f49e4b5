package costapi_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/diagnosis"
	"github.com/promcost/promcost/allocation/notices"
	"github.com/promcost/promcost/allocation/rates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// now is the clock of the tests, a Saturday.
var now = time.Date(2026, 11, 21, 4, 13, 46, 0, time.UTC)

// fake is a ledger that answers with two containers on one node, or with err, and records what it was asked.
type fake struct {
	asked []allocation.Query
	err   error
	panic any
	wait  bool // for the end of the request
	// noData is a time after which there is no data; the zero time means there always is.
	noData time.Time
	// kept is the only time that it has data of: it computes nothing. The zero window computes everything.
	kept allocation.Window
	// hole is a time that sets warn of, as ledgers do where hours lack costs.
	hole allocation.Window
	// reading is what it says of every computation.
	reading *allocation.Reading
	most    int // sets it answers with, 0 for any number; of more it has no data
	// priced are the sources of the prices of CPU, memory and GPUs.
	priced [allocation.NumResources]string
}

func (f *fake) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		f.asked = append(f.asked, q)
		if f.panic != nil {
			panic(f.panic)
		}
		if f.wait {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		if f.err != nil {
			yield(nil, f.err)
			return
		}
		if f.kept != (allocation.Window{}) && (!q.Window.End.After(f.kept.Start) || !q.Window.Start.Before(f.kept.End)) {
			yield(nil, fmt.Errorf("%w: %w: ask another", allocation.ErrNoData, allocation.ErrNotComputed))
			return
		}
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		if f.most > 0 && len(windows) > f.most || !f.noData.IsZero() && !q.Window.Start.Before(f.noData) {
			yield(nil, allocation.ErrNoData)
			return
		}
		dict := allocation.NewDict()
		sets := make([]*allocation.Set, len(windows))
		for i, w := range windows {
			sets[i] = sampleSet(w, dict, max(q.Resolution, 0)) // exact if the source decides
			sets[i].Reading, sets[i].Nodes[0].PriceSource = f.reading, f.priced
			if f.hole.Start.Before(w.End) && w.Start.Before(f.hole.End) {
				sets[i].Warnings = append(sets[i].Warnings, notices.HoleWarning(f.hole, "no data: it is gone"))
				sets[i].Covered = nil
				for _, part := range [...]allocation.Window{{Start: w.Start, End: f.hole.Start}, {Start: f.hole.End, End: w.End}} {
					if part.Start.Before(part.End) {
						sets[i].Covered = append(sets[i].Covered, allocation.Covered{Cluster: "one", Start: part.Start, End: part.End})
					}
				}
			}
		}
		for _, s := range sets {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// sampleSet has a node of 4 cores and 16 GiB, a web container of 1 core and 4 GiB and a job of 2 cores for half the time.
func sampleSet(w allocation.Window, dict *allocation.Dict, resolution time.Duration) *allocation.Set {
	const gib = 1 << 30
	s := allocation.NewSet(w, dict)
	s.Covered = []allocation.Covered{{Cluster: "one", Start: w.Start, End: w.End}}
	s.Resolution = resolution
	hours := w.Duration().Hours()
	add := func(r allocation.Row, cores, gibs, hours float64) {
		r.End = r.Start.Add(time.Duration(hours * float64(time.Hour)))
		v := &r.Values
		v[allocation.RunningSeconds], v[allocation.LeastSeconds], v[allocation.MostSeconds] = hours*3600, hours*3600*0.9, hours*3600*1.1
		for res, amount := range map[allocation.Resource]float64{allocation.CPU: cores, allocation.RAM: gibs * gib} {
			v[allocation.Hours.Of(res)], v[allocation.RequestHours.Of(res)] = amount*hours, amount*hours
			v[allocation.UsageHours.Of(res)], v[allocation.UsageMax.Of(res)] = amount*hours/2, amount*0.75
		}
		v[allocation.Cost.Of(allocation.CPU)], v[allocation.Cost.Of(allocation.RAM)] = cores*hours*0.03125, gibs*hours*0.00390625
		s.Append(&r)
	}
	text := func(namespace, kind, controller, pod, container string) (t [allocation.Services]string) {
		t[allocation.Cluster], t[allocation.NodeName], t[allocation.ProviderID] = "one", "n1", "aws:///eu-1a/i-1"
		t[allocation.Namespace], t[allocation.ControllerKind], t[allocation.Controller] = namespace, kind, controller
		t[allocation.Pod], t[allocation.Container] = pod, container
		return t
	}
	add(allocation.Row{
		Text: text("web", "deployment", "front", "front-1", "nginx"), Services: []string{"front"}, Start: w.Start,
		Labels: map[string]string{"app": "front", "team": "red"}, Annotations: map[string]string{"note": "x"},
	}, 1, 4, hours)
	add(allocation.Row{Text: text("batch", "job", "sum", "sum-1", "main"), Start: w.Start}, 2, 2, hours/2)
	n := allocation.Node{
		Cluster: "one", Name: "n1", ProviderID: "aws:///eu-1a/i-1", InstanceType: "m5.xlarge", Region: "eu-1", Zone: "eu-1a",
		Start: w.Start, End: w.End, RunningSeconds: hours * 3600, Labels: map[string]string{"rack": "r7"},
	}
	n.Hours[allocation.CPU], n.Hours[allocation.RAM] = 4*hours, 16*gib*hours
	n.Cost[allocation.CPU], n.Cost[allocation.RAM] = 4*hours*0.03125, 16*hours*0.00390625
	n.Idle[allocation.CPU], n.Idle[allocation.RAM] = 2*hours*0.03125, 11*hours*0.00390625
	s.Nodes = []allocation.Node{n}
	return s
}

// sampleReading is of a computation at 1m that read two sources.
func sampleReading(w allocation.Window) *allocation.Reading {
	cut := w.Start.Add(w.Duration() / 2)
	return &allocation.Reading{
		Window: w, Resolution: time.Minute, ScrapeInterval: 30 * time.Second,
		Total: 300 * time.Millisecond, Read: 200 * time.Millisecond, Integrate: 90 * time.Millisecond,
		Sources: []allocation.SourceReading{
			{Name: "blocks", Until: cut, Took: 50 * time.Millisecond, Requests: 3, Series: 20, Samples: 2000, Bytes: 900},
			{
				Name: "remote-read", From: cut, Took: 150 * time.Millisecond, Requests: 2, Series: 20, Samples: 1000, Bytes: 5000,
				Retries: 1, Errors: 1, Requesting: 140 * time.Millisecond, Inputs: []allocation.InputUse{
					{Input: "cpu usage", Requests: 2, Retries: 1, Errors: 1, Samples: 900, Bytes: 4800, Requesting: 130 * time.Millisecond},
					{Input: "running", Samples: 100, Bytes: 200, Requesting: 10 * time.Millisecond},
				},
			},
		},
		Stages: []allocation.StageReading{
			{Name: "inputs", Took: 120 * time.Millisecond, Requests: 3, Samples: 2500, Bytes: 5000},
			{Name: "usage", Took: 80 * time.Millisecond, Requests: 2, Samples: 500, Bytes: 900},
		},
		Inputs: []allocation.InputReading{{Name: "running", Alternatives: []allocation.AlternativeReading{
			{Metric: "running_metric", Clusters: []allocation.ClusterReading{{Cluster: "a", Series: 7, Samples: 70}, {Cluster: "b", Series: 5, Samples: 50}}},
			{Metric: "other_metric"},
		}}},
	}
}

// sampleDiagnosis finds something of every kind.
func sampleDiagnosis(_ context.Context, w allocation.Window) (*diagnosis.Diagnosis, error) {
	return &diagnosis.Diagnosis{
		Window: w, Sources: sampleReading(w).Sources, Oldest: w.Start.Add(-time.Hour), Warnings: []string{"a block is skipped"},
		Clusters: []diagnosis.Cluster{{
			Cluster: "a", ScrapeInterval: 30 * time.Second, Oldest: w.Start.Add(10 * time.Minute), Newest: w.End.Add(-10 * time.Second),
			Uncovered: []allocation.Window{{Start: w.Start, End: w.Start.Add(10 * time.Minute)}},
			Inputs: []diagnosis.Input{
				{
					Name: "running", State: diagnosis.Fallback, Required: true, ScrapeInterval: 30 * time.Second, Newest: w.End.Add(-10 * time.Second),
					Alternatives: []diagnosis.Metric{{Metric: "second_metric", Series: 7}},
				},
				{Name: "pod", State: diagnosis.Missing, Required: true, Missing: "no nodes", Remedy: "run it"},
				{Name: "gpus", State: diagnosis.None, Missing: "no GPUs", Remedy: "run it"},
			},
		}},
		Prices: []diagnosis.Price{
			{Source: "node_cpu_hourly_cost", Kind: rates.MetricSource, AsOf: w.End, Nodes: []string{"a/n1"}, Cost: 3, Share: 0.75},
			{Source: rates.BuiltInPrices, Kind: rates.DefaultSource, Cost: 1, Share: 0.25},
		},
	}, nil
}

// newHandler is the API over a fake at the tests' clock.
func newHandler(f *fake, cfg costapi.Config) http.Handler {
	if cfg.Diagnose == nil {
		cfg.Diagnose = sampleDiagnosis
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return now }
	}
	return costapi.New(f, log.NewNopLogger(), cfg)
}

// get asks for a path with a query of name=value parts that are still to be encoded.
func get(h http.Handler, path string, parts ...string) *httptest.ResponseRecorder {
	values := url.Values{}
	for _, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		values.Add(name, value)
	}
	target := path
	if len(values) > 0 {
		target += "?" + values.Encode()
	}
	if path == predictionPath {
		return do(h, httptest.NewRequest(http.MethodPost, target, strings.NewReader(manifestOfFront)))
	}
	return do(h, httptest.NewRequest(http.MethodGet, target, nil))
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs, -update rewrites it:\n%s", path, diff)
	}
}
