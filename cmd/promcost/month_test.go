package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMonthIsOneRate asks for the same window of a day, of which eight hours have data, at every door: each says so, and the cost of a month
// is the same, with the history and without.
func TestMonthIsOneRate(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T12:20:00Z", "--demo.duration=8h20m", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval=1m")
	_, url, end := serveArgsByClock(t, func() time.Time { return time.Date(2026, 3, 2, 12, 15, 0, 0, time.UTC) }, "--source=blocks", "--tsdb.path="+blocks, "--storage.path="+t.TempDir(), "--history.grace=0s")
	defer end()
	const window = "window=2026-03-01T12:00:00Z,2026-03-02T12:00:00Z"
	hours := 0.0
	ask := func(path, parameters string) (total float64) {
		t.Helper()
		_, body := get(t, url+path+"?"+window+parameters)
		var answer struct {
			Data                      json.RawMessage
			CoveredHours, WindowHours float64
			Coverage                  string
			Warnings                  []string
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%s: %v in %s", path, err, body)
		}
		if math.Abs(answer.CoveredHours-8) > 0.1 || answer.WindowHours != 24 || answer.Coverage == "" || !strings.Contains(fmt.Sprint(answer.Warnings), answer.Coverage) {
			t.Errorf("%s: %v of %v h, %q, warnings %q", path, answer.CoveredHours, answer.WindowHours, answer.Coverage, answer.Warnings)
		}
		for _, cost := range regexp.MustCompile(`"totalCost":([-+.e\d]+)`).FindAllStringSubmatch(string(answer.Data), -1) {
			v, err := strconv.ParseFloat(cost[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			total += v
		}
		hours = answer.CoveredHours
		return total * 730 / hours
	}
	want := ask("/model/allocation/compute", "&aggregate=namespace&fields=totalCost")
	same := func(door string, got float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s: a month costs %.2f, want %.2f", door, got, want)
		}
	}
	const rows = "&aggregate=namespace&accumulate=true&fields=totalCost"
	same("stored", ask("/model/allocation", rows))
	same("costMetric", ask("/model/allocation", rows+"&costMetric=monthly")*hours/730)
	same("summary", ask("/model/allocation/summary", rows))
	same("topline", ask("/model/allocation/summary/topline", "&aggregate=namespace"))
	ask("/allocation/compute", "&aggregate=namespace")
	ask("/model/assets", "&accumulate=true")
	ask("/assets", "")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"query", "allocation", "--server=" + url, "--" + window}, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	for line := range strings.Lines(stdout.String()) {
		if cells := strings.Fields(line); len(cells) > 2 && cells[0] == "TOTAL" {
			monthly, _ := strconv.ParseFloat(cells[len(cells)-2], 64)
			same("table", monthly)
		}
	}
	if !strings.Contains(stdout.String(), "of 24 h have data") {
		t.Errorf("the table does not say that hours lack data: %s", stdout.String())
	}
}
