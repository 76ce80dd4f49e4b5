package promtest_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestRecordings reads all recordings, and checks that those of several scrapes are written as they were read.
func TestRecordings(t *testing.T) {
	for _, name := range promtest.Recordings(t) {
		r := promtest.Recorded(t, name)
		if len(r.Series) == 0 || len(r.Scrapes) == 0 {
			t.Errorf("%s: %d series, %d scrapes", name, len(r.Series), len(r.Scrapes))
		}
		if len(r.Scrapes) < 2 {
			continue
		}
		every := time.Duration(r.Scrapes[1]-r.Scrapes[0]) * time.Millisecond
		again, err := promtest.ParseRecording(r.Format(every))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%s is read otherwise once it was written:\n%s", name, diff)
		}
	}
}

// TestSamples checks what a Prometheus would have stored of a recording.
func TestSamples(t *testing.T) {
	var r promtest.Recording
	at := time.UnixMilli(1_000_000)
	for i, text := range []string{"a{job=\"own\"} 1\nb 2\ngo_c 3\n", "a{job=\"own\"} 1\n", "b 4\n"} {
		scrape, err := promtest.ParseRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(at.Add(time.Duration(i)*time.Minute), scrape, func(metric string) bool { return metric != "go_c" })
	}
	want := []promtest.Series{
		{Labels: []string{"__name__", "a", "job", "own", "instance", "x:1"}, Samples: []promtest.Sample{{1_000_000, 1}, {1_060_000, 1}, promtest.Stale(1_120_000)}},
		{Labels: []string{"__name__", "b", "job", "j", "instance", "x:1"}, Samples: []promtest.Sample{{1_000_000, 2}, promtest.Stale(1_060_000), {1_120_000, 4}}},
	}
	if diff := cmp.Diff(want, r.Samples("job", "j", "instance", "x:1"), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	const written = "# scraped from 1970-01-01T00:16:40Z every 1m0s 3 times\na{job=\"own\"} 1x2 _\nb 2 _ 4\n"
	if got := r.Format(time.Minute); got != written {
		t.Errorf("written as %q, want %q", got, written)
	}
}

// TestBadRecordings reads files that someone has edited.
func TestBadRecordings(t *testing.T) {
	const head = "# scraped from 2026-01-01T00:00:00Z every 15s 2 times\n"
	for name, text := range map[string]string{
		"no exposition":     "a{",
		"first line":        "# scraped from yesterday\n",
		"time":              "# scraped from x every 15s 2 times\n",
		"interval":          "# scraped from 2026-01-01T00:00:00Z every x 2 times\n",
		"too few values":    head + "a 1\n",
		"bad multiplier":    head + "a 1xy\n",
		"a label without =": head + "a{b} 1x2\n",
	} {
		if _, err := promtest.ParseRecording(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r, err := promtest.ParseRecording(head + "a NaN 1\n")
	if err != nil || !math.IsNaN(r.Samples()[0].Samples[0].V) {
		t.Errorf("NaN is read as %+v, %v", r, err)
	}
}

// TestRuns reads the recorded runs, and records the runs in the events of a watch.
func TestRuns(t *testing.T) {
	runs := promtest.RecordedRuns(t)
	again, err := promtest.ParseRuns(promtest.FormatRuns(runs))
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if diff := cmp.Diff(runs, again); diff != "" {
		t.Errorf("runs are read otherwise once they were written:\n%s", diff)
	}
	for _, text := range []string{"too few words", "ns pod uid c node false 1 yesterday -", "ns pod uid c node false 1 2026-01-01T00:00:00Z never"} {
		if _, err := promtest.ParseRuns(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
