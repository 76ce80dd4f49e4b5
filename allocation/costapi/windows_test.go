package costapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/costapi"
)

// setWindows are the windows of the sets of an answer, and what the cluster costs in each, by the layout.
func setWindows(t *testing.T, h http.Handler, layout, path string, params ...string) (windows string, costs []float64) {
	t.Helper()
	w := get(h, path, append([]string{"aggregate=cluster", "idle=false"}, params...)...)
	var answer struct {
		Data []map[string]struct {
			Window    struct{ Start, End time.Time }
			TotalCost float64
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
	}
	var list []string
	for _, set := range answer.Data {
		window := set["one"].Window
		list = append(list, window.Start.Format(layout)+"-"+window.End.Format(layout))
		costs = append(costs, set["one"].TotalCost)
	}
	return strings.Join(list, " "), costs
}

// TestAccumulatedSteps cuts sets where the periods of accumulate begin, so that each day gets its own part of a step.
func TestAccumulatedSteps(t *testing.T) {
	const day, hour = "01-02", "02T15"
	santiago, err := time.LoadLocation("America/Santiago") // has no midnight on 2026-09-06
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, layout string
		zone         *time.Location
		params, want string
		hours        []float64 // that each set costs
	}{
		{"steps over midnight", day, nil, "window=2026-11-19T01:00:00Z,2026-11-20T01:00:00Z step=7h accumulate=day", "11-19-11-20 11-20-11-21", []float64{23, 1}},
		{"steps over hours", hour, nil, "window=2026-11-20T01:30:00Z,2026-11-20T03:00:00Z step=45m accumulate=hour", "20T01-20T02 20T02-20T03", []float64{0.5, 1}},
		{"steps over a Sunday", day, nil, "window=2026-11-13T00:00:00Z,2026-11-17T00:00:00Z step=36h accumulate=week", "11-08-11-15 11-15-11-22", []float64{48, 48}},
		{"a step over months", day, nil, "window=2026-10-30T00:00:00Z,2026-11-02T00:00:00Z step=100h accumulate=month", "10-01-11-01 11-01-12-01", []float64{48, 24}},
		{"a step over quarters", day, nil, "window=2026-09-30T00:00:00Z,2026-10-02T00:00:00Z step=48h accumulate=quarter", "07-01-10-01 10-01-01-01", []float64{24, 24}},
		{"days of 25 hours", day, berlin(t), "window=2026-10-24T12:00:00+02:00,2026-10-26T12:00:00+01:00 step=10h accumulate=day", "10-24-10-25 10-25-10-26 10-26-10-27", []float64{12, 25, 12}},
		{"days of 23 hours", day, berlin(t), "window=2026-03-28T12:00:00+01:00,2026-03-30T12:00:00+02:00 step=10h accumulate=day", "03-28-03-29 03-29-03-30 03-30-03-31", []float64{12, 23, 12}},
		{"no midnight", "02T15", santiago, "window=2026-09-05T12:00:00-04:00,2026-09-07T12:00:00-03:00 step=10h accumulate=day", "05T00-06T01 06T01-07T00 07T00-08T00", []float64{12, 23, 12}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, costs := setWindows(t, newHandler(&fake{}, costapi.Config{Zone: tc.zone}), tc.layout, "/model/allocation/compute", strings.Fields(tc.params)...)
			if got != tc.want {
				t.Fatalf("sets of %s, want %s", got, tc.want)
			}
			perHour := costs[0] / tc.hours[0]
			for i, hours := range tc.hours {
				if diff := costs[i] - hours*perHour; diff > 1e-9 || diff < -1e-9 {
					t.Errorf("set %d costs %v hours, want %v", i, costs[i]/perHour, hours)
				}
			}
		})
	}
}

// TestStoredHours reads hours if sets are summed by hours, also in windows whose sets are days.
func TestStoredHours(t *testing.T) {
	for _, path := range []string{"/model/allocation", "/model/allocation/summary", "/model/assets"} {
		for params, want := range map[string]int{
			"window=yesterday accumulate=hour": 24, "window=yesterday step=1d accumulate=hour": 24, "window=2d accumulate=hour": 49, "window=12h accumulate=hour": 13,
			"window=yesterday": 1, "window=yesterday step=1h accumulate=day": 1, "window=today accumulate=hour": 5,
		} {
			w := get(newHandler(&fake{}, costapi.Config{}), path, strings.Fields(params)...)
			var answer struct{ Data []json.RawMessage }
			var summary struct {
				Data struct{ Sets []json.RawMessage }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				if err := json.Unmarshal(w.Body.Bytes(), &summary); err != nil || w.Code != http.StatusOK {
					t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
				}
			}
			if got := len(answer.Data) + len(summary.Data.Sets); got != want {
				t.Errorf("%s?%s: %d sets, want %d", path, params, got, want)
			}
		}
	}
}

// TestCalendarSteps cuts sets by the calendar of the time zone if steps are words, and if ACK's steps are days.
func TestCalendarSteps(t *testing.T) {
	const compute, ack = "/model/allocation/compute", "/v2/allocation"
	const clocksBack = "window=2026-10-24T00:00:00+02:00,2026-10-27T00:00:00+01:00"
	const clocksForward = "window=2026-03-28T00:00:00+01:00,2026-03-31T00:00:00+02:00"
	for _, tc := range []struct{ name, path, params, want string }{
		{"days, one of 25 hours", compute, clocksBack + " step=day", "10-24T00 10-25T00 10-26T00"},
		{"days, one of 23 hours", compute, clocksForward + " step=day", "03-28T00 03-29T00 03-30T00"},
		{"days of 24 hours", compute, clocksBack + " step=1d", "10-24T00 10-24T01 10-25T01 10-26T00"},
		{"24 hours", compute, clocksForward + " step=24h", "03-28T00 03-28T23 03-30T00"},
		{"hours", compute, "window=2026-10-25T01:30:00+02:00,2026-10-25T03:30:00+01:00 step=hour", "10-25T01 10-25T02 10-25T02 10-25T03"},
		{"weeks", compute, "window=2026-11-13T00:00:00+01:00,2026-11-17T00:00:00+01:00 step=week", "11-13T00 11-15T00"},
		{"months", compute, "window=2026-09-13T00:00:00+02:00,2026-11-17T00:00:00+01:00 step=month", "09-13T00 10-01T00 11-01T00"},
		{"quarters", "/allocation", "window=2026-09-13T00:00:00+02:00,2026-11-17T00:00:00+01:00 step=quarter", "09-13T00 10-01T00"},
		{"months by weeks", compute, "window=2026-10-29T00:00:00+01:00,2026-11-03T00:00:00+01:00 step=month accumulate=week", "10-25T00 11-01T00"},
		{"stored days", "/model/allocation", clocksBack + " step=day", "10-24T00 10-25T00 10-26T00"},
		{"days of a bill", ack, clocksBack + " step=1d", "10-24T00 10-25T00 10-26T00"},
		{"24 hours of a bill", ack, clocksForward + " step=24h", "03-28T00 03-28T23 03-30T00"},
		{"weeks of a bill", ack, "window=2026-10-17T00:00:00+02:00,2026-10-27T00:00:00+01:00 step=1w", "10-17T00 10-20T00"},
		{"two days of a bill", ack, clocksBack + " step=2d", "10-24T00 10-25T00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			zone := berlin(t)
			params := strings.Fields(tc.params)
			if tc.path != ack {
				params = append(params, "aggregate=cluster")
			}
			w := get(newHandler(&fake{}, costapi.Config{Zone: zone}), tc.path, params...)
			var answer struct {
				Data []map[string]struct {
					Start  time.Time
					Window struct{ Start time.Time }
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%v: status %d: %.300s", err, w.Code, w.Body)
			}
			var got []string
			for _, set := range answer.Data {
				start := set["one"].Window.Start
				if tc.path == ack {
					start = set["web/front-1"].Start
				}
				got = append(got, start.In(zone).Format("01-02T15"))
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("sets from %s, want %s", text, tc.want)
			}
		})
	}
}
