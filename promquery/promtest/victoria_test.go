package promtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/promcost/promcost/promquery/promtest"
)

// TestShowAll meets a VictoriaMetrics whose flush does not wait for samples that are on their way into a part.
func TestShowAll(t *testing.T) {
	var asked []string
	rows := []int{0, 1_195_387, 2_593_483}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path != "/metrics" {
			return
		}
		_, _ = fmt.Fprintf(w, "vm_rows{type=\"indexdb/file\"} 7\nvm_rows{type=\"storage/inmemory\"} %d\nvm_rows{type=\"storage/small\"} 0\nvm_rows_merged_total{type=\"storage/small\"} 9\n", rows[0])
		rows = rows[1:]
	}))
	defer server.Close()
	promtest.ShowAll(t, server.URL, 2_593_483)
	round := []string{"/internal/force_flush", "/metrics"}
	if want := slices.Repeat(round, 3); !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
