package costapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// storedAnswer is what the answers of stored paths share, and where each has its windows.
type storedAnswer struct {
	Data     json.RawMessage
	Warnings []string
}

// windowsOf are the windows of the sets of an answer, oldest first, however deep they are.
func windowsOf(t *testing.T, data json.RawMessage, layout string, zone *time.Location) string {
	t.Helper()
	var list []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			w, ok := v["window"].(map[string]any)
			if _, sets := v["sets"]; ok && !sets {
				var ends []string
				for _, name := range []string{"start", "end"} {
					at, err := time.Parse(time.RFC3339, w[name].(string))
					if err != nil {
						t.Fatal(err)
					}
					ends = append(ends, at.In(zone).Format(layout))
				}
				list = append(list, strings.Join(ends, "-"))
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	var all any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	walk(all)
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// TestStoredInstants asks each stored path for explicit instants. Sets stay days. The first and the last are cut at the instants
// if these are hours of the zone, otherwise at the hours around them, with a warning. Durations with an offset keep their length
// and end at an hour, too.
func TestStoredInstants(t *testing.T) {
	kolkata, err := time.LoadLocation("Asia/Kolkata") // +05:30
	if err != nil {
		t.Fatal(err)
	}
	paths := []struct {
		path, params string
		whole        bool // one set of all
	}{
		{"/model/allocation", "aggregate=cluster", false},
		{"/model/allocation", "aggregate=cluster&accumulate=true", true},
		{"/model/allocation/summary", "aggregate=cluster", false},
		{"/model/allocation/summary/topline", "", true},
		{"/model/assets", "", false},
		{"/model/assets", "accumulate=true", true},
	}
	for _, tc := range []struct {
		name, window string
		zone         *time.Location
		sets, whole  string
		warns        bool
	}{
		{"days", "2026-11-18T00:00:00Z,2026-11-20T00:00:00Z", time.UTC, "18T00:00-19T00:00 19T00:00-20T00:00", "18T00:00-20T00:00", false},
		{"hours", "2026-11-18T10:00:00Z,2026-11-20T10:00:00Z", time.UTC, "18T10:00-19T00:00 19T00:00-20T00:00 20T00:00-20T10:00", "18T10:00-20T10:00", false},
		{"24 hours that are no day", "2026-11-19T13:00:00Z,2026-11-20T13:00:00Z", time.UTC, "19T13:00-20T00:00 20T00:00-20T13:00", "19T13:00-20T13:00", false},
		{"within a day", "2026-11-19T13:00:00Z,2026-11-19T15:00:00Z", time.UTC, "19T13:00-19T15:00", "19T13:00-19T15:00", false},
		{"no hours", "2026-11-18T10:20:00Z,2026-11-19T10:40:00Z", time.UTC, "18T10:00-19T00:00 19T00:00-19T11:00", "18T10:00-19T11:00", true},
		{"less than an hour", "2026-11-18T10:20:00Z,2026-11-18T10:40:00Z", time.UTC, "18T10:00-18T11:00", "18T10:00-18T11:00", true},
		{"seconds since 1970", "1795042800,1795129199", time.UTC, "18T23:00-19T00:00 19T00:00-19T23:00", "18T23:00-19T23:00", true},
		{"hours of another zone", "2026-11-18T10:00:00Z,2026-11-19T10:00:00Z", kolkata, "18T15:00-19T00:00 19T00:00-19T16:00", "18T15:00-19T16:00", true},
		{"hours of the zone", "2026-11-18T10:30:00Z,2026-11-19T10:30:00Z", kolkata, "18T16:00-19T00:00 19T00:00-19T16:00", "18T16:00-19T16:00", false},
		{"dates", "2026-11-18,2026-11-19", kolkata, "18T00:00-19T00:00", "18T00:00-19T00:00", false},
		{"a duration that ended", "24h offset 36h", time.UTC, "18T16:00-19T00:00 19T00:00-19T16:00", "18T16:00-19T16:00", true},
		{"a duration that ended this hour", "24h offset 1m", time.UTC, "20T04:00-21T00:00 21T00:00-21T04:00", "20T04:00-21T04:00", true},
		{"hours that ended", "3h offset 36h", time.UTC, "19T13:00-19T14:00 19T14:00-19T15:00 19T15:00-19T16:00", "19T13:00-19T16:00", true},
		{"hours and a half that ended", "90m offset 36h", time.UTC, "19T14:00-19T15:00 19T15:00-19T16:00", "19T14:00-19T16:00", true},
		{"a duration that ended, on another clock", "24h offset 36h", kolkata, "18T21:00-19T00:00 19T00:00-19T21:00", "18T21:00-19T21:00", true},
	} {
		for _, p := range paths {
			t.Run(tc.name+p.path+p.params, func(t *testing.T) {
				f := &fake{}
				w := get(newHandler(f, costapi.Config{Zone: tc.zone}), p.path, append(strings.Split(p.params, "&"), "window="+tc.window)...)
				var answer storedAnswer
				if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
					t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
				}
				want := tc.sets
				if p.whole {
					want = tc.whole
				}
				if got := windowsOf(t, answer.Data, "02T15:04", tc.zone); got != want {
					t.Errorf("sets %s, want %s", got, want)
				}
				warned := slices.ContainsFunc(answer.Warnings, func(w string) bool { return strings.Contains(w, "begin and end at hours") })
				if warned != tc.warns {
					t.Errorf("warnings %q", answer.Warnings)
				}
			})
		}
	}
}

// TestEndToCome holds that a window between instants keeps its end though it is to come: its last sets are empty.
func TestEndToCome(t *testing.T) {
	for _, tc := range []struct{ window, sets, whole string }{
		{"2026-11-20T10:00:00Z,2026-11-22T10:00:00Z", "20T10:00-21T00:00 21T00:00-22T00:00 22T00:00-22T10:00", "20T10:00-22T10:00"},
		{"2026-11-20T10:00:00Z,2026-11-23T00:00:00Z", "20T10:00-21T00:00 21T00:00-22T00:00 22T00:00-23T00:00", "20T10:00-23T00:00"},
	} {
		for params, want := range map[string]string{"": tc.sets, "accumulate=true": tc.whole} {
			w := get(newHandler(&fake{}, costapi.Config{}), "/model/allocation/summary", "aggregate=cluster", params, "window="+tc.window)
			var answer storedAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			if got := windowsOf(t, answer.Data, "02T15:04", time.UTC); got != want {
				t.Errorf("%s %s: sets %s, want %s", tc.window, params, got, want)
			}
		}
	}
}
