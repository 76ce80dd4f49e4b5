package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// TestMonthly checks what windows are scaled by, of which the running one counts up to now.
func TestMonthly(t *testing.T) {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		from, to time.Duration // from now
		want     float64
	}{
		{"an hour", -2 * time.Hour, -time.Hour, 730},
		{"a month", -730 * time.Hour, 0, 1},
		{"today", -6 * time.Hour, 18 * time.Hour, 730. / 6},
		{"tomorrow", 18 * time.Hour, 42 * time.Hour, 0},
	} {
		if got := monthly(allocation.Window{Start: now.Add(tt.from), End: now.Add(tt.to)}, now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
