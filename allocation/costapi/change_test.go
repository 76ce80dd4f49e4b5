package costapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
)

// TestBaseline checks what windows are compared. Stored sets end with the last full hour; it is 04:13:46 on a Saturday in UTC.
func TestBaseline(t *testing.T) {
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, params     string
		zone             *time.Location
		window, baseline string
	}{
		{"yesterday", "window=yesterday", time.UTC, "2026-11-20T00:00:00Z,2026-11-21T00:00:00Z", "2026-11-19T00:00:00Z,2026-11-20T00:00:00Z"},
		{"today", "window=today", time.UTC, "2026-11-21T00:00:00Z,2026-11-21T04:00:00Z", "2026-11-20T00:00:00Z,2026-11-20T04:00:00Z"},
		{"this week", "window=week", time.UTC, "2026-11-15T00:00:00Z,2026-11-21T04:00:00Z", "2026-11-08T00:00:00Z,2026-11-14T04:00:00Z"},
		{"last week", "window=lastweek", time.UTC, "2026-11-08T00:00:00Z,2026-11-15T00:00:00Z", "2026-11-01T00:00:00Z,2026-11-08T00:00:00Z"},
		{"this month", "window=month", time.UTC, "2026-11-01T00:00:00Z,2026-11-21T04:00:00Z", "2026-10-01T00:00:00Z,2026-10-21T04:00:00Z"},
		{"last month", "window=lastmonth", time.UTC, "2026-10-01T00:00:00Z,2026-11-01T00:00:00Z", "2026-09-01T00:00:00Z,2026-10-01T00:00:00Z"},
		{"a month as dates", "window=2026-10-01,2026-11-01", time.UTC, "2026-10-01T00:00:00Z,2026-11-01T00:00:00Z", "2026-09-01T00:00:00Z,2026-10-01T00:00:00Z"},
		{"a quarter as dates", "window=2026-07-01,2026-10-01", time.UTC, "2026-07-01T00:00:00Z,2026-10-01T00:00:00Z", "2026-04-01T00:00:00Z,2026-07-01T00:00:00Z"},
		{"some days", "window=2026-11-03,2026-11-05", time.UTC, "2026-11-03T00:00:00Z,2026-11-05T00:00:00Z", "2026-11-01T00:00:00Z,2026-11-03T00:00:00Z"},
		{"whole days of a duration", "window=3d", time.UTC, "2026-11-18T00:00:00Z,2026-11-21T04:00:00Z", "2026-11-14T20:00:00Z,2026-11-18T00:00:00Z"},
		{"hours", "window=6h", time.UTC, "2026-11-20T22:00:00Z,2026-11-21T04:00:00Z", "2026-11-20T16:00:00Z,2026-11-20T22:00:00Z"},
		{"given", "window=yesterday&baseline=2026-11-02,2026-11-03", time.UTC, "2026-11-20T00:00:00Z,2026-11-21T00:00:00Z", "2026-11-02T00:00:00Z,2026-11-03T00:00:00Z"},
		{"a resolution", "window=6h&resolution=1m", time.UTC, "2026-11-20T22:13:00Z,2026-11-21T04:13:00Z", "2026-11-20T16:13:00Z,2026-11-20T22:13:00Z"},
		{"half an hour off", "window=today", kolkata, "2026-11-21T00:00:00+05:30,2026-11-21T09:00:00+05:30", "2026-11-20T00:00:00+05:30,2026-11-20T09:00:00+05:30"},
		{"a day of 25 hours before", "window=2026-10-26,2026-10-27", berlin, "2026-10-26T00:00:00+01:00,2026-10-27T00:00:00+01:00", "2026-10-25T00:00:00+02:00,2026-10-26T00:00:00+01:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(richHandler(costapi.Config{Zone: tt.zone}), "/model/allocation/change", append(strings.Split(tt.params, "&"), "aggregate=namespace")...)
			var answer struct {
				Data struct{ Window, BaselineWindow struct{ Start, End string } }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %s", err, w.Code, w.Body)
			}
			if got := answer.Data.Window.Start + "," + answer.Data.Window.End; got != tt.window {
				t.Errorf("window %s, want %s", got, tt.window)
			}
			if got := answer.Data.BaselineWindow.Start + "," + answer.Data.BaselineWindow.End; got != tt.baseline {
				t.Errorf("baseline %s, want %s", got, tt.baseline)
			}
		})
	}
}

// TestChangeMistakes checks what the parameters of changes refuse.
func TestChangeMistakes(t *testing.T) {
	for params, want := range map[string]string{
		"window=1d&baseline=nonsense":                               "parameter baseline",
		"window=1d&baseline=2027-01-01,2027-01-02":                  "parameter baseline",
		"window=1d&drill=namespace,pod":                             "name one field",
		"window=1d&drill=podd":                                      "parameter drill",
		"window=2026-11-19,2026-11-20&aggregate=namespace&limit=-1": "parameter limit",
	} {
		w := get(richHandler(costapi.Config{}), "/model/allocation/change", strings.Split(params, "&")...)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, %s", params, w.Code, w.Body)
		}
	}
}

// TestChangeMissing checks what an answer says of windows that lack costs. It is 04:13:46 on the 21st.
func TestChangeMissing(t *testing.T) {
	day := func(d, h int) time.Time { return time.Date(2026, 11, d, h, 0, 0, 0, time.UTC) }
	type span struct{ Start, End time.Time }
	for _, tc := range []struct {
		name, params string
		hole         allocation.Window
		missing      []span
		warning      string // "" for none about the windows
	}{
		{"nothing is missing", "window=yesterday", allocation.Window{}, nil, ""},
		{"before both", "window=yesterday", allocation.Window{Start: day(1, 0), End: day(19, 0)}, nil, ""},
		{"a part of the baseline", "window=yesterday", allocation.Window{Start: day(1, 0), End: day(19, 18)}, []span{{day(19, 0), day(19, 18)}}, "the baseline: 6 of 24 h have data: "},
		{"a part of the window", "window=yesterday", allocation.Window{Start: day(20, 6), End: day(21, 0)}, []span{{day(20, 6), day(21, 0)}}, "the window: 6 of 24 h have data: "},
		{"a part of a running day", "window=today", allocation.Window{Start: day(21, 0), End: day(21, 1)}, []span{{day(21, 0), day(21, 1)}}, "the window: 3 of 4 h have data: "},
		{"all of the baseline", "window=yesterday", allocation.Window{Start: day(1, 0), End: day(20, 0)}, []span{{day(19, 0), day(20, 0)}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := get(newHandler(&fake{hole: tc.hole}, costapi.Config{}), "/model/allocation/change", tc.params, "aggregate=cluster")
			var answer struct {
				Data     struct{ Missing []span }
				Warnings []string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			if diff := cmp.Diff(tc.missing, answer.Data.Missing); diff != "" {
				t.Error(diff)
			}
			all := strings.Join(answer.Warnings, "\n")
			if !strings.Contains(all, tc.warning) || tc.warning == "" && strings.Contains(all, "is the effect window") {
				t.Errorf("warnings %q, want %q", answer.Warnings, tc.warning)
			}
		})
	}
}
