package main

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

// costOf is the sum of all totalCost that an answer has in its rows, or in its topline.
func costOf(t *testing.T, url string) (sum float64, body string) {
	t.Helper()
	code, body := get(t, url)
	var answer struct{ Data any }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 {
		t.Fatalf("%s: %d, %v: %.300s", url, code, err, body)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if cost, ok := v["totalCost"].(float64); ok {
				sum += cost
				return
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(answer.Data)
	return sum, body
}

// TestStoredInstantsHTTP checks that stored paths have the costs between the given instants if these are hours, and otherwise
// those of the hours around them, with a warning. They are the same as what is computed over just that time.
func TestStoredInstantsHTTP(t *testing.T) {
	t.Parallel()
	blocks, _ := writeTruth(t, "--demo.end=2026-03-02T08:20:00Z", "--demo.duration=14h", "--demo.nodes=4", "--demo.pods=40", "--demo.scrape-interval=1m")
	prometheus := promtest.Start(t, blocks, promtest.Config{})
	stored := spawn(t, "serve", "--prometheus.url="+prometheus, "--storage.path="+t.TempDir(), "--timezone=Asia/Kolkata")
	computed := spawn(t, "serve", "--prometheus.url="+prometheus, "--storage.path=", "--timezone=Asia/Kolkata")
	const hours, odd = "2026-03-01T19:30:00Z,2026-03-02T03:30:00Z", "2026-03-01T19:45:00Z,2026-03-02T03:01:02Z" // from 01:00 to 09:00 there
	for _, p := range []struct{ path, compute string }{
		{"/model/allocation?aggregate=namespace", "/model/allocation/compute?aggregate=namespace&resolution=exact"},
		{"/model/allocation/summary?aggregate=namespace", "/model/allocation/compute?aggregate=namespace&resolution=exact"},
		{"/model/allocation/summary/topline?aggregate=namespace", "/model/allocation/compute?aggregate=namespace&resolution=exact"},
		{"/model/assets?", "/assets?resolution=exact"},
		{"/model/assets/topline?", "/assets?resolution=exact"},
	} {
		want, _ := costOf(t, fmt.Sprintf("%s%s&window=%s", computed, p.compute, hours))
		for _, window := range []string{hours, odd, hours} { // the last from history
			got, body := costOf(t, fmt.Sprintf("%s%s&window=%s", stored, p.path, window))
			if want <= 0 || math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s of %s costs %v, computed over the hours it is %v", p.path, window, got, want)
			}
			if warned := strings.Contains(body, "stored sets begin and end at hours of the clock"); warned != (window == odd) {
				t.Errorf("%s of %s warns: %t", p.path, window, warned)
			}
		}
	}
	// A trend compares the given instants, also if hours are stored.
	for _, window := range []string{hours, odd} {
		trend := "/model/allocation/trends?aggregate=namespace&names=search,payments,__idle__&resolution=exact&window=" + window
		_, fromHistory := get(t, stored+trend)
		_, anew := get(t, computed+trend)
		if diff := cmp.Diff(trendsOf(t, anew), trendsOf(t, fromHistory)); diff != "" {
			t.Errorf("trends of %s (-computed +stored):\n%s", window, diff)
		}
	}
}

// trendsOf are the changes that an answer tells, to nine digits.
func trendsOf(t *testing.T, body string) (changes map[string]string) {
	t.Helper()
	var answer struct {
		Data struct {
			Sets []struct {
				AllocationTrends map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Sets) != 1 {
		t.Fatalf("%v: %.300s", err, body)
	}
	changes = map[string]string{}
	for name, trend := range answer.Data.Sets[0].AllocationTrends {
		text := changeValue.FindSubmatch(trend)
		if text == nil {
			t.Fatalf("%s: %s", name, trend)
		}
		value, err := strconv.ParseFloat(string(text[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		changes[name] = fmt.Sprintf("%.9g", value)
	}
	return changes
}

var changeValue = regexp.MustCompile(`"value":([^,}]+)`)
