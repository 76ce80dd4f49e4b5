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

// TestMonthly checks what costs of a month are at the rate of: of the hours that the server says to have data, or of the window up to now
// if it says nothing of them.
func TestMonthly(t *testing.T) {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	day := allocation.Window{Start: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}
	for _, tt := range []struct {
		name, answer string
		i            int
		hours        float64
	}{
		{"one set", `{"data":[{}],"coveredHours":4,"windowHours":6}`, 0, 4},
		{"one of several sets", `{"data":[{},{}],"coveredHours":9,"windowHours":30,"setCoveredHours":[7,2]}`, 1, 2},
		{"without data", `{"data":[{}],"coveredHours":0,"windowHours":6}`, 0, 6},
		{"other server", `{"data":[{},{}]}`, 1, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := readReply(strings.NewReader(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			covered := answer.coverage(tt.i, day, now)
			if got := covered.Factor(730); got != 730/tt.hours {
				t.Errorf("factor %v, want 730/%v", got, tt.hours)
			}
		})
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
