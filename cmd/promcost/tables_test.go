package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

// TestTablesNameTheCurrency asks servers that name a currency, or none, as old ones do.
func TestTablesNameTheCurrency(t *testing.T) {
	for configs, want := range map[string]string{
		`{"code":200,"data":{"currencyCode":"EUR"}}`: "costs in EUR",
		`{"code":200,"data":{}}`:                     "costs in USD",
		`not found`:                                  "costs in USD",
	} {
		t.Run(configs, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/model/getConfigs" {
					fmt.Fprint(w, configs)
					return
				}
				fmt.Fprint(w, `{"code":200,"data":[{"web":{"name":"web","window":{"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z"},"start":"2026-01-31T00:00:00Z","end":"2026-01-31T10:00:00Z","minutes":600,"cpuCost":2}}]}`)
			}))
			defer server.Close()
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), []string{"query", "allocation", "--server=" + server.URL, "--window=1d"}, &stdout, &stderr); code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr.String())
			}
			for _, part := range []string{want, "MONTHLY", " 146.00 "} {
				if !strings.Contains(stdout.String(), part) {
					t.Errorf("no %q in %s", part, stdout.String())
				}
			}
		})
	}
}

// TestMonthly checks that the rate of a month is that of the time that has data, whatever the window and the filter.
func TestMonthly(t *testing.T) {
	now := time.Now().Truncate(time.Hour)
	for _, tt := range []struct {
		name       string
		window     [2]time.Duration // from now, as the other times
		rows, data [2]time.Duration // of the row that the filter selects, and of all rows
		filter     string
		want       string // the monthly cost of 2
	}{
		{name: "an hour", window: [2]time.Duration{-2 * time.Hour, -time.Hour}, data: [2]time.Duration{-2 * time.Hour, -time.Hour}, want: " 1460.00 "},
		{name: "a month", window: [2]time.Duration{-730 * time.Hour, 0}, data: [2]time.Duration{-730 * time.Hour, 0}, want: " 2.00 "},
		{name: "data since the middle", window: [2]time.Duration{-730 * time.Hour, 0}, data: [2]time.Duration{-365 * time.Hour, 0}, want: " 4.00 "},
		{name: "data up to the middle", window: [2]time.Duration{-730 * time.Hour, 0}, data: [2]time.Duration{-730 * time.Hour, -365 * time.Hour}, want: " 4.00 "},
		{name: "a short job by itself", filter: `pod:"job"`, window: [2]time.Duration{-730 * time.Hour, 0}, rows: [2]time.Duration{-2 * time.Hour, -time.Hour}, data: [2]time.Duration{-365 * time.Hour, 0}, want: " 4.00 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				line := tt.data
				if r.FormValue("filter") != "" {
					line = tt.rows
				}
				at := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
				fmt.Fprintf(w, `{"code":200,"data":[{"web":{"name":"web","window":{"start":%q,"end":%q},"start":%q,"end":%q,"minutes":60,"cpuCost":2}}]}`,
					at(tt.window[0]), at(tt.window[1]), at(line[0]), at(line[1]))
			}))
			defer server.Close()
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), []string{"query", "allocation", "--server=" + server.URL, "--window=1d", "--filter=" + tt.filter}, &stdout, &stderr); code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tt.want) {
				t.Errorf("no %q in %s", tt.want, stdout.String())
			}
		})
	}
}

// TestMonthlyOfTheRunningDay checks that time after now does not count.
func TestMonthlyOfTheRunningDay(t *testing.T) {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	answer, err := readReply(strings.NewReader(`{"data":[{"web":{"window":{"start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00Z"},"start":"2026-03-01T00:00:00Z","end":"2026-03-02T00:00:00Z"}},{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []span{{length: 6 * time.Hour}, {}}
	if got := answer.spans(now); !slices.Equal(got, want) || monthly(got[0].length) != 730./6 || monthly(got[1].length) != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestRepliesReadEachCost checks that a table's total has every cost that an answer names, and that a cost is a number.
func TestRepliesReadEachCost(t *testing.T) {
	read := func(name, value string) (float64, error) {
		answer, err := readReply(strings.NewReader(`{"data":[{"web":{"networkInternetCost":1,"` + name + `":` + value + `}}]}`))
		if err != nil {
			return 0, err
		}
		sets, err := answer.sets()
		if err != nil {
			return 0, err
		}
		return sets[0].TotalCost(0), nil
	}
	names := []string{"networkCost"}
	for _, c := range allocation.MoneyColumns() {
		if !slices.Contains(allocation.SharedNetwork.ListColumns(), c) {
			names = append(names, c.String())
		}
	}
	for _, name := range names {
		if total, err := read(name, "2"); err != nil || total != 2 {
			t.Errorf("%s: the total is %v (%v), want 2", name, total, err)
		}
		if _, err := read(name, `"much"`); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a text: %v", name, err)
		}
	}
}
