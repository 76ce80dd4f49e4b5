package main

import (
	"errors"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// suffixes are the ends of the names of samples by the type of their family, as OpenMetrics has them.
var suffixes = map[string][]string{
	"counter": {"_total", "_created"}, "gauge": {""}, "histogram": {"_bucket", "_count", "_sum", "_created"}, "summary": {"", "_count", "_sum", "_created"},
	"info": {"_info"}, "stateset": {""}, "gaugehistogram": {"_bucket", "_gcount", "_gsum"}, "unknown": {""},
}

var sampleName = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? [^ ]+( # \{.*\} [^ ]+( [^ ]+)?)?$`)

// openMetricsProblems is what a strict parser finds wrong with a page.
func openMetricsProblems(page string) (problems []string) {
	families, taken, series := map[string]string{}, map[string]string{}, map[string]bool{}
	family, kind, sampled := "", "", false
	complain := func(what, line string) { problems = append(problems, what+": "+line) }
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	for i, line := range lines {
		fields := strings.SplitN(line, " ", 4)
		switch {
		case line == "# EOF":
			if i != len(lines)-1 {
				complain("the end is not last", line)
			}
			return problems
		case strings.HasPrefix(line, "# ") && len(fields) == 4:
			if fields[2] != family {
				if _, again := families[fields[2]]; again {
					complain("a family twice", line)
				}
				family, kind, sampled = fields[2], "unknown", false
				families[family] = kind
			}
			if sampled {
				complain("metadata after samples", line)
			}
			switch {
			case fields[1] == "TYPE":
				kind = fields[3]
				for _, suffix := range append([]string{""}, suffixes[kind]...) {
					if other := taken[family+suffix]; other != "" && other != family {
						complain("the name clashes with that of "+other, line)
					}
					taken[family+suffix] = family
				}
			case fields[1] == "UNIT" && !strings.HasSuffix(family, "_"+fields[3]):
				complain("the name lacks the unit", line)
			}
		default:
			sample := sampleName.FindStringSubmatch(line)
			if sample == nil {
				complain("no sample", line)
				continue
			}
			sampled = true
			if id := sample[1] + sample[2]; series[id] {
				complain("a series twice", line)
			} else {
				series[id] = true
			}
			if suffix, ok := strings.CutPrefix(sample[1], family); !ok || !slices.Contains(suffixes[kind], suffix) {
				complain("a sample of another family, or of another name than those of a "+kind, line)
			}
			if exemplar := sample[3] != ""; exemplar && kind != "counter" && kind != "histogram" {
				complain("an exemplar of a "+kind, line)
			}
		}
	}
	return append(problems, "it has no end")
}

// fetched gets a page in the format that accept asks for.
func fetched(t *testing.T, url, accept string) (contentType, page string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return resp.Header.Get("Content-Type"), string(text)
}

// TestOpenMetricsStrictly reads all that a promcost exposes, its own state and that of Go included, as a strict parser of OpenMetrics
// and as Prometheus does, and has promtool look at the older format.
func TestOpenMetricsStrictly(t *testing.T) {
	t.Parallel()
	base := spawn(t, "serve", "--source=blocks", "--tsdb.path="+writeSmallDemo(t), "--storage.path="+t.TempDir(), "--storage.retention=12h",
		"--collector.pod", "--collector.container", "--collector.opencost", "--collector.label", "--collector.label.names=team")
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	get(t, base+"/model/allocation/compute?window=1h") // so that requests are counted
	for _, accept := range []string{"application/openmetrics-text", "application/openmetrics-text; version=1.0.0", "application/openmetrics-text;version=0.0.1"} {
		contentType, page := fetched(t, base+"/metrics", accept)
		if !strings.HasPrefix(contentType, "application/openmetrics-text") || !strings.Contains(page, "promcost_namespace_hourly_cost{") || !strings.Contains(page, "promcost_http_requests_total{") {
			t.Errorf("%s: %s: %.200s", accept, contentType, page)
		}
		for _, problem := range openMetricsProblems(page) {
			t.Errorf("%s: %s", accept, problem)
		}
		for p := textparse.NewOpenMetricsParser([]byte(page), labels.NewSymbolTable()); ; {
			if _, err := p.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	_, page := fetched(t, base+"/metrics", "text/plain")
	cmd := exec.CommandContext(t.Context(), promtest.Promtool(t), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	const known = `node_gpu_count non-histogram and non-summary metrics should not have "_count" suffix` // it is OpenCost's name
	if out, _ := cmd.CombinedOutput(); strings.TrimSpace(string(out)) != known {
		t.Errorf("promtool check metrics: %s", out)
	}
}

// TestFederateFormats answers /federate in the formats in which a real Prometheus does, and as its parser reads them: all metrics in
// OpenMetrics, and in the others some, or all with -soak.
func TestFederateFormats(t *testing.T) {
	t.Parallel()
	blocks := writeSmallDemo(t)
	base, prometheus := spawn(t, "serve", "--source=blocks", "--tsdb.path="+blocks, "--storage.path="), promtest.Start(t, blocks, promtest.Config{})
	eventually(t, "it does not get ready", func() bool { code, _ := get(t, base+"/-/ready"); return code == http.StatusOK })
	names := "" // of all metrics
	for _, accept := range []string{
		"application/openmetrics-text; version=1.0.0", "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", "text/plain", "*/*", "",
	} {
		path := "/federate?match[]=%7B__name__=~%22promcost" + names + ".*%22%7D"
		names = soak.Of("_namespace", "")
		want, _ := fetched(t, prometheus+path, accept)
		got, page := fetched(t, base+path, accept)
		if got != want || !strings.Contains(page, "promcost_namespace_hourly_cost{") {
			t.Errorf("%q: %s, Prometheus %s: %.200s", accept, got, want, page)
		}
		for p := textparse.NewPromParser([]byte(page), labels.NewSymbolTable(), false); ; {
			if _, err := p.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}
