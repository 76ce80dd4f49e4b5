package costapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/notices"
)

// warningLedger is a fake whose sets have warnings of a kind, each of another thing and another time.
type warningLedger struct{ fake }

func (f *warningLedger) Sets(ctx context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		n := 0
		for s, err := range f.fake.Sets(ctx, q) {
			if err == nil {
				n++
				verb := "volumes cost nothing, for their"
				s.Warnings = []string{
					fmt.Sprintf("1 %s capacity is not known (v%d): is kube_persistentvolume_capacity_bytes of kube-state-metrics there?", verb, n),
					notices.HoleWarning(s.Window, "it is gone"),
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestWarningsAreSaidOnce asks every path that has sets for several of them, in every format: the warnings of all are joined by kind, and no
// field repeats them.
func TestWarningsAreSaidOnce(t *testing.T) {
	const window = "2026-11-19T00:00:00Z,2026-11-21T00:00:00Z"
	api := costapi.New(&warningLedger{}, log.NewNopLogger(), costapi.Config{Now: func() time.Time { return now }, Custom: func() (allocation.CustomPrices, bool) { return allocation.CustomPrices{}, true }})
	for _, target := range []string{
		"/model/allocation?", "/model/allocation/compute?step=1d&", "/allocation?step=1d&", "/allocation/compute?step=1d&accumulate=true&", "/model/allocation/summary?",
		"/allocation/summary?step=1d&", "/model/allocation/summary/topline?", "/model/assets?", "/model/assets/topline?", "/v2/allocation?step=24h&",
		"/model/allocation?format=csv&", "/model/allocation/compute?step=1d&format=parquet&", "/model/allocation/compute?step=1d&format=arrow&",
		"/model/assets?format=csv&", "/model/assets?format=parquet&", "/model/assets?format=arrow&", "/v2/allocation?step=24h&format=csv&",
	} {
		t.Run(target, func(t *testing.T) {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target+"window="+url.QueryEscape(window), nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%d: %.300s", w.Code, w.Body)
			}
			got := told(t, w)
			want := []string{
				"2 volumes cost nothing, for their capacity is not known (v1, v2): is kube_persistentvolume_capacity_bytes of kube-state-metrics there?",
				"no costs from 2026-11-19T00:00:00Z to 2026-11-21T00:00:00Z: it is gone",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// told are the warnings of an answer, in its body or its header.
func told(t *testing.T, w *httptest.ResponseRecorder) []string {
	t.Helper()
	if w.Header().Get("Content-Type") != "application/json" {
		var all []string
		for _, text := range w.Header().Values("Warning") {
			unquoted, err := strconv.Unquote(strings.TrimPrefix(text, "299 promcost "))
			if err != nil {
				t.Errorf("warning %s: %v", text, err)
			}
			all = append(all, unquoted)
		}
		return all
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if body["warning"] != nil {
		t.Errorf("a second copy: %s", body["warning"])
	}
	var all []string
	if err := json.Unmarshal(body["warnings"], &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSharedAtOnce checks which answers warn that they share costs over several days at once, other than stored sets do (SEMANTICS §6).
func TestSharedAtOnce(t *testing.T) {
	api := newHandler(&fake{}, costapi.Config{})
	const days = "window=2026-11-15T00:00:00Z,2026-11-19T00:00:00Z&aggregate=namespace"
	for target, want := range map[string]bool{
		"/model/allocation/compute?" + days:                                                                   false,
		"/model/allocation/compute?" + days + "&shareNamespaces=payments":                                     true,
		"/model/allocation/compute?" + days + "&shareIdle=weighted":                                           true,
		"/model/allocation/compute?" + days + "&shareCost=10&format=csv":                                      true,
		"/model/allocation/compute?" + days + "&shareNamespaces=payments&step=2d":                             true,
		"/model/allocation/compute?" + days + "&shareNamespaces=payments&step=2d&accumulate=true":             true,
		"/model/allocation/compute?" + days + "&shareNamespaces=payments&step=1d&accumulate=true":             false,
		"/model/allocation?" + days + "&shareNamespaces=payments&accumulate=true":                             false,
		"/allocation/compute?" + days + "&shareNamespaces=payments":                                           false,
		"/model/allocation/compute?window=2026-11-15T00:00:00Z,2026-11-16T00:00:00Z&shareNamespaces=payments": false,
	} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if got := strings.Contains(w.Body.String()+fmt.Sprint(w.Header()["Warning"]), "step=1d with accumulate=true"); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: status %d, warns: %t, want %t", target, w.Code, got, want)
		}
	}
}
