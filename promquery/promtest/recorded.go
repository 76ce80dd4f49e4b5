package promtest

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// recordings are expositions of real exporters; the README beside them says where each is from.
//
//go:embed testdata/recorded
var recordings embed.FS

// Recordings are the names of all recorded expositions.
func Recordings(t testing.TB) (names []string) {
	t.Helper()
	files, err := recordings.ReadDir("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".txt"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Recording is what a target exposed at one scrape or several.
type Recording struct {
	Scrapes []int64 // when it was scraped, in Unix milliseconds
	Series  []Scraped
}

// Scraped is a series of a recording: its labels as alternating names and values, with __name__, and its value in each scrape, ""
// if a scrape lacks it.
type Scraped struct {
	Labels []string
	Values []string
}

// Recorded reads a recording.
func Recorded(t testing.TB, name string) Recording {
	t.Helper()
	text, err := recordings.ReadFile("testdata/recorded/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRecording(string(text))
	if err != nil {
		t.Fatalf("read recording %s: %v", name, err)
	}
	return r
}

// Samples are the series of the recording as a Prometheus stores them. They have the labels of the target, given as alternating
// names and values, but keep their own labels of the same names (honor_labels) and lose empty labels. Where a scrape lacks a
// series of the scrape before, there is a staleness marker.
func (r Recording) Samples(target ...string) []Series {
	out := make([]Series, 0, len(r.Series))
	for _, s := range r.Series {
		own := withoutEmpty(s.Labels)
		series := Series{Labels: own}
		for i := 0; i+1 < len(target); i += 2 {
			if !hasName(own, target[i]) {
				series.Labels = append(series.Labels, target[i], target[i+1])
			}
		}
		for i, text := range s.Values {
			v, err := strconv.ParseFloat(text, 64)
			switch {
			case err == nil:
				series.Samples = append(series.Samples, Sample{r.Scrapes[i], v})
			case i > 0 && s.Values[i-1] != "":
				series.Samples = append(series.Samples, Stale(r.Scrapes[i]))
			}
		}
		out = append(out, series)
	}
	return out
}

// withoutEmpty are the alternating names and values without the empty values: no label is the same as an empty one.
func withoutEmpty(labels []string) (out []string) {
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			out = append(out, labels[i], labels[i+1])
		}
	}
	return out
}

// hasName reports whether alternating names and values have a name.
func hasName(labels []string, name string) bool {
	for i := 0; i < len(labels); i += 2 {
		if labels[i] == name {
			return true
		}
	}
	return false
}

// Held is the recording as if the target had exposed at each of these times what it did at its only scrape.
func (r Recording) Held(times []int64) Recording {
	out := Recording{Scrapes: times}
	for _, s := range r.Series {
		out.Series = append(out.Series, Scraped{s.Labels, slices.Repeat(s.Values[:1], len(times))})
	}
	return out
}

// Add adds the metrics of a scrape that keep accepts. Scrapes must be as far apart as Format says.
func (r *Recording) Add(at time.Time, scrape Recording, keep func(metric string) bool) {
	known := make(map[string]int, len(r.Series))
	for i, s := range r.Series {
		known[formatLabels(s.Labels)] = i
	}
	n := len(r.Scrapes)
	r.Scrapes = append(r.Scrapes, at.UnixMilli())
	for _, s := range scrape.Series {
		if !keep(labels.FromStrings(s.Labels...).Get(model.MetricNameLabel)) {
			continue
		}
		i, ok := known[formatLabels(s.Labels)]
		if !ok {
			i = len(r.Series)
			r.Series = append(r.Series, Scraped{s.Labels, make([]string, n)})
		}
		r.Series[i].Values = append(r.Series[i].Values, s.Values[0])
	}
	for i := range r.Series {
		if len(r.Series[i].Values) == n {
			r.Series[i].Values = append(r.Series[i].Values, "")
		}
	}
}

// scrapesFrom begins the first line of a recording of several scrapes: the time of the first and how far they are apart
// follow.
const scrapesFrom = "# scraped from "

// ParseRecording reads an exposition as an exporter writes it. It also reads one of several scrapes, whose lines each have the
// values of a series: "_" for none, 1x8 for eight times 1.
func ParseRecording(text string) (r Recording, err error) {
	if !strings.HasPrefix(text, scrapesFrom) {
		r.Scrapes = []int64{0}
		err = eachSeries(text, func(lset []string, v string) { r.Series = append(r.Series, Scraped{lset, []string{v}}) })
		return r, err
	}
	first, text, _ := strings.Cut(text, "\n")
	var start, step string
	var n int
	if _, err := fmt.Sscanf(strings.TrimPrefix(first, scrapesFrom), "%s every %s %d times", &start, &step, &n); err != nil {
		return r, fmt.Errorf("read %q: %w", first, err)
	}
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return r, err
	}
	every, err := time.ParseDuration(step)
	if err != nil {
		return r, err
	}
	for i := range n {
		r.Scrapes = append(r.Scrapes, at.Add(time.Duration(i)*every).UnixMilli())
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.LastIndexByte(line, '}') + 1 // no value has one
		if end == 0 {
			end = strings.IndexByte(line, ' ')
		}
		var s Scraped
		if err := eachSeries(line[:end]+" 0\n", func(lset []string, _ string) { s.Labels = lset }); err != nil {
			return r, err
		}
		for word := range strings.FieldsSeq(line[end:]) {
			v, times, many := strings.Cut(word, "x")
			count := 1
			if many {
				if count, err = strconv.Atoi(times); err != nil {
					return r, fmt.Errorf("read %q: %w", line, err)
				}
			}
			if v == "_" {
				v = ""
			}
			s.Values = append(s.Values, slices.Repeat([]string{v}, count)...)
		}
		if len(s.Values) != n {
			return r, fmt.Errorf("read %q: %d values, want %d", line, len(s.Values), n)
		}
		r.Series = append(r.Series, s)
	}
	return r, nil
}

// eachSeries calls f with the labels and the value of each line of an exposition.
func eachSeries(text string, f func(lset []string, v string)) error {
	p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := p.Series()
		var lset labels.Labels
		p.Labels(&lset)
		var kv []string
		lset.Range(func(l labels.Label) { kv = append(kv, l.Name, l.Value) })
		f(kv, strconv.FormatFloat(v, 'g', -1, 64))
	}
}

// Format writes the recording of several scrapes as ParseRecording reads it, by metric and labels.
func (r Recording) Format(every time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s every %s %d times\n", scrapesFrom, time.UnixMilli(r.Scrapes[0]).UTC().Format(time.RFC3339), every, len(r.Scrapes))
	lines := make([]string, 0, len(r.Series))
	for _, s := range r.Series {
		line := []string{formatLabels(s.Labels)}
		for i := 0; i < len(s.Values); {
			n := 1
			for i+n < len(s.Values) && s.Values[i+n] == s.Values[i] {
				n++
			}
			word := cmp.Or(s.Values[i], "_")
			if n > 1 {
				word += "x" + strconv.Itoa(n)
			}
			line = append(line, word)
			i += n
		}
		lines = append(lines, strings.Join(line, " ")+"\n")
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "")
}

// formatLabels is a series as an exposition has it.
func formatLabels(kv []string) string {
	name, parts := "", []string{}
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i] == model.MetricNameLabel {
			name = kv[i+1]
		} else {
			parts = append(parts, kv[i]+"="+strconv.Quote(kv[i+1]))
		}
	}
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}
