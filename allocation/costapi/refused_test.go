package costapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestKeptOnly checks that stored days are answered with a warning if the others cannot be computed.
func TestKeptOnly(t *testing.T) {
	day := func(d, h int) time.Time { return time.Date(2026, 11, d, h, 0, 0, 0, time.UTC) }
	for _, tc := range []struct {
		name, params string
		kept         allocation.Window
		sets         int    // 0 for an error
		want         string // the warning of the hole
	}{
		{"the running day lacks", "window=7d", allocation.Window{Start: day(1, 0), End: day(20, 6)}, 8, "no costs from 2026-11-21"},
		{"summed", "window=7d&accumulate=true", allocation.Window{Start: day(1, 0), End: day(20, 6)}, 1, "no costs from 2026-11-21"},
		{"only the running day is there", "window=7d", allocation.Window{Start: day(21, 0), End: day(21, 4)}, 8, "no costs from 2026-11-14"},
		{"summed, only the running day is there", "window=7d&accumulate=true", allocation.Window{Start: day(21, 0), End: day(21, 4)}, 1, "no costs from 2026-11-14"},
		{"nothing is there", "window=7d", allocation.Window{Start: day(1, 0), End: day(2, 0)}, 0, ""},
		{"nothing is there, and there is time to come", "window=2026-11-20,2026-11-24", allocation.Window{Start: day(1, 0), End: day(2, 0)}, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(newHandler(&fake{kept: tc.kept}, costapi.Config{}), "/model/allocation", append(strings.Split(tc.params, "&"), "aggregate=cluster")...)
			if tc.sets == 0 {
				if w.Code != http.StatusUnprocessableEntity {
					t.Errorf("status %d: %.300s", w.Code, w.Body)
				}
				return
			}
			var answer struct {
				Data     []map[string]any
				Warnings []string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK || len(answer.Data) != tc.sets {
				t.Fatalf("%v: status %d: %d sets: %.300s", err, w.Code, len(answer.Data), w.Body)
			}
			if all := strings.Join(answer.Warnings, "\n"); strings.Count(all, tc.want) != 1 || !strings.Contains(all, "ask another") {
				t.Errorf("warnings %q, want %q", answer.Warnings, tc.want)
			}
		})
	}
}

// TestCheckQuestions checks saved questions as the requests that they stand for.
func TestCheckQuestions(t *testing.T) {
	for query, want := range map[string]string{
		"window=month&aggregate=label:team":                         "",
		"window=1d&fieldSelector=spec.node%3Dn1&shareIdle=weighted": "",
		"window=1d&agregate=pod":                                    `did you mean "aggregate"?`, //nolint:misspell // it is one
		"window=1d&aggregate=tier":                                  `unknown field "tier"`,
		"window=fortnight":                                          "window=fortnight",
		"window=1d&filter=namespace:":                               "parameter filter",
		"window=1d&format=csv&accumulate=false&limit=-1":            "limit",
		"aggregate=pod":                                             "window",
	} {
		err := costapi.CheckQuestions(costapi.Config{Questions: []costapi.Question{{Name: "fine", Query: "window=1d"}, {Name: "asked", Query: query}}})
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "question asked: "+query) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}
