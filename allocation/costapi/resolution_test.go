package costapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestMaxError chooses resolutions by the error that is allowed.
func TestMaxError(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params []string
		want   time.Duration // that the ledger is asked for
		text   string        // that the answer names
	}{
		{"a tenth of ten minutes", []string{"maxError=0.1"}, time.Minute, "1m"},
		{"just below a divisor", []string{"maxError=0.099"}, 50 * time.Second, "50s"},
		{"longer containers", []string{"maxError=0.05", "minDuration=1h"}, 3 * time.Minute, "3m"},
		{"rounding", []string{"maxError=0.3", "minDuration=10m"}, 3 * time.Minute, "3m"},
		{"no longer than an hour", []string{"maxError=1", "minDuration=7d"}, time.Hour, "1h"},
		{"no longer than the window", []string{"maxError=1", "minDuration=7d", "window=25m"}, 20 * time.Minute, "20m"},
		{"below a second", []string{"maxError=0.001"}, 0, "exact"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{}
			w := get(newHandler(f, costapi.Config{}), "/model/allocation/compute", over("yesterday", tt.params)...)
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			if q := f.asked[0]; q.Resolution != tt.want || q.ExactBelow != (tt.want > 0) {
				t.Errorf("asked for %s, exact below the scrape interval %t; want %s", q.Resolution, q.ExactBelow, tt.want)
			}
			if got := resolution(t, w.Body.Bytes()); got != tt.text {
				t.Errorf("answer names %s, want %s", got, tt.text)
			}
		})
	}
}

// over adds a window to parameters that have none.
func over(window string, params []string) []string {
	if slices.ContainsFunc(params, func(p string) bool { return strings.HasPrefix(p, "window=") }) {
		return params
	}
	return append(slices.Clone(params), "window="+window)
}

// resolution is what an answer names.
func resolution(t *testing.T, body []byte) string {
	t.Helper()
	var answer struct{ Resolution string }
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Resolution
}

func TestBadMaxError(t *testing.T) {
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{[]string{"maxError=0.1", "resolution=1m"}, "leave it or resolution out"},
		{[]string{"maxError=0"}, "above 0"},
		{[]string{"maxError=5"}, "at most 1"},
		{[]string{"maxError=NaN"}, "above 0"},
		{[]string{"maxError=5%"}, "0.05 for 5 %"},
		{[]string{"maxError=0.1", "minDuration=0s"}, "at least 1s"},
		{[]string{"maxError=0.1", "minDuration=short"}, "short"},
		{[]string{"resolution=2h", "window=1h"}, "parameter resolution=2h: it is longer than the window of 1h: give a longer window"},
		{[]string{"resolution=25h"}, "longer than the window of 24h"},
		{[]string{"aggregate=pod,pod"}, "pod is there already: name it once"},
		{[]string{"explain=true", "format=csv"}, "format=json"},
	} {
		t.Run(strings.Join(tt.params, "&"), func(t *testing.T) {
			w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/compute", over("1d", tt.params)...)
			checkError(t, w, http.StatusBadRequest)
			if !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s lacks %q", w.Body, tt.want)
			}
		})
	}
}

// TestResolutionUsed names the resolution that a computation used where it is not the one that was asked for.
func TestResolutionUsed(t *testing.T) {
	for _, tt := range []struct {
		name string
		used *allocation.Reading
		want string
	}{
		{"nothing known", nil, "10s"},
		{"raised to the scrape interval", &allocation.Reading{Resolution: 30 * time.Second}, "30s"},
		{"exact", &allocation.Reading{}, "exact"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(newHandler(&fake{reading: tt.used}, costapi.Config{}), "/assets", "window=yesterday", "resolution=10s")
			if got := resolution(t, w.Body.Bytes()); got != tt.want {
				t.Errorf("answer names %s, want %s", got, tt.want)
			}
		})
	}
}

// TestMinDurationAlone warns: it changes nothing.
func TestMinDurationAlone(t *testing.T) {
	w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/compute", "window=yesterday", "minDuration=1h")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "minDuration has no effect without maxError") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
