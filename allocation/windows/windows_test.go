package windows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/windows"
)

// testNow is the instant of the tests, a Saturday.
var testNow = time.Date(2026, 11, 21, 4, 13, 46, 0, time.UTC)

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestParseWindow(t *testing.T) {
	const exact, rounded = windows.Exact, windows.Rounded
	for _, tc := range []struct {
		text       string
		style      windows.Style
		start, end string
		relative   bool
	}{
		{"today", rounded, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"yesterday", rounded, "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", false},
		{"week", rounded, "2026-11-15T00:00:00Z", "2026-11-21T04:13:46Z", false},
		{"lastweek", rounded, "2026-11-08T00:00:00Z", "2026-11-15T00:00:00Z", false},
		{"month", rounded, "2026-11-01T00:00:00Z", "2026-11-21T04:13:46Z", false},
		{"lastmonth", rounded, "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", false},
		{"30m", rounded, "2026-11-21T03:44:00Z", "2026-11-21T04:14:00Z", false},
		{"1h", rounded, "2026-11-21T04:00:00Z", "2026-11-21T05:00:00Z", false},
		{"24h", rounded, "2026-11-20T05:00:00Z", "2026-11-21T05:00:00Z", false},
		{"1d", rounded, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"7d", rounded, "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"1w", rounded, "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"2w", rounded, "2026-11-08T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"7d offset 1d", rounded, "2026-11-13T04:13:46Z", "2026-11-20T04:13:46Z", false},
		{"1d offset 1w", rounded, "2026-11-13T04:13:46Z", "2026-11-14T04:13:46Z", false},
		{"2026-01-01T00:00:00Z,2026-01-02T00:00:00Z", rounded, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", false},
		{"1767225600,1767312000", rounded, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", false},
		{"1767225600-1767312000", rounded, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", false},
		{"1767225600|1767312000", rounded, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", false},

		{"today", exact, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", false},
		{"week", exact, "2026-11-15T00:00:00Z", "2026-11-21T04:13:46Z", false},
		{"30m", exact, "2026-11-21T03:43:46Z", "2026-11-21T04:13:46Z", true},
		{"12h", exact, "2026-11-20T16:13:46Z", "2026-11-21T04:13:46Z", true},
		{"7d", exact, "2026-11-14T04:13:46Z", "2026-11-21T04:13:46Z", true},
		{"2w", exact, "2026-11-07T04:13:46Z", "2026-11-21T04:13:46Z", true},
		{"24h offset 14h", exact, "2026-11-19T14:13:46Z", "2026-11-20T14:13:46Z", true},
		{"2026-11-20T10:00:00+02:00,2026-11-20T12:00:00+02:00", exact, "2026-11-20T08:00:00Z", "2026-11-20T10:00:00Z", false},
		{"2026-11-20T10:00:00 02:00,2026-11-20T12:00:00 02:00", exact, "2026-11-20T08:00:00Z", "2026-11-20T10:00:00Z", false},
		{"2026-11-19,2026-11-20", exact, "2026-11-19T00:00:00Z", "2026-11-20T00:00:00Z", false},
		{"2026-11-20T23:00:00Z, 2026-11-30", exact, "2026-11-20T23:00:00Z", "2026-11-30T00:00:00Z", false},
		{" 1d ", exact, "2026-11-20T04:13:46Z", "2026-11-21T04:13:46Z", true},
	} {
		t.Run(tc.text, func(t *testing.T) {
			w, relative, err := windows.Parse(tc.text, testNow, time.UTC, tc.style)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Start.Format(time.RFC3339Nano); got != tc.start {
				t.Errorf("start %s, want %s", got, tc.start)
			}
			if got := w.End.Format(time.RFC3339Nano); got != tc.end {
				t.Errorf("end %s, want %s", got, tc.end)
			}
			if relative != tc.relative {
				t.Errorf("relative %v, want %v", relative, tc.relative)
			}
		})
	}
}

func TestParseWindowZones(t *testing.T) {
	for _, tc := range []struct {
		name, text, at, zone string
		style                windows.Style
		start, end           string
	}{
		{"words follow the zone", "today", "2026-11-21T23:30:00Z", "Europe/Berlin", windows.Exact, "2026-11-22T00:00:00+01:00", "2026-11-23T00:00:00+01:00"},
		{"23 hours in spring", "yesterday", "2026-03-30T10:00:00Z", "Europe/Berlin", windows.Exact, "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"25 hours in autumn", "yesterday", "2026-10-26T10:00:00Z", "Europe/Berlin", windows.Exact, "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"month over the change", "lastmonth", "2026-04-10T10:00:00Z", "Europe/Berlin", windows.Exact, "2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"},
		{"lastmonth in January", "lastmonth", "2026-01-10T10:00:00Z", "UTC", windows.Exact, "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"dates follow the zone", "2026-11-19,2026-11-20", "2026-11-21T00:00:00Z", "Asia/Kolkata", windows.Exact, "2026-11-19T00:00:00+05:30", "2026-11-20T00:00:00+05:30"},
		{"days stay on UTC midnights", "1d", "2026-11-21T04:00:00Z", "Etc/GMT-2", windows.Rounded, "2026-11-21T02:00:00+02:00", "2026-11-22T02:00:00+02:00"},
		{"hours of OpenCost's tests", "2h", "2024-05-03T08:01:04Z", "UTC", windows.Rounded, "2024-05-03T07:00:00Z", "2024-05-03T09:00:00Z"},
		{"days of OpenCost's tests", "3d", "2024-05-03T08:01:04Z", "UTC", windows.Rounded, "2024-05-01T00:00:00Z", "2024-05-04T00:00:00Z"},
		{"to the second", "30m", "2024-05-03T08:01:04.25Z", "UTC", windows.Exact, "2024-05-03T07:31:04Z", "2024-05-03T08:01:04Z"},
		{"the first instants of a week", "week", "2024-05-05T00:00:00.25Z", "UTC", windows.Exact, "2024-05-05T00:00:00Z", "2024-05-05T00:00:01Z"},
		{"at midnight today counts", "1d", "2024-05-03T00:00:00Z", "UTC", windows.Rounded, "2024-05-03T00:00:00Z", "2024-05-04T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, tc.at)
			if err != nil {
				t.Fatal(err)
			}
			w, _, err := windows.Parse(tc.text, at, mustZone(t, tc.zone), tc.style)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Start.Format(time.RFC3339); got != tc.start {
				t.Errorf("start %s, want %s", got, tc.start)
			}
			if got := w.End.Format(time.RFC3339); got != tc.end {
				t.Errorf("end %s, want %s", got, tc.end)
			}
		})
	}
}

func TestParseWindowErrors(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", []string{`window ""`, "empty", "give today"}},
		{"30s", []string{`"30s"`, "none of the known forms", "30m"}},
		{"1h30m", []string{"none of the known forms"}},
		{"Today", []string{`"Today"`, "today"}},
		{"quarter", []string{"none of the known forms"}},
		{"-1d", []string{"none of the known forms"}},
		{"7d offset", []string{"none of the known forms"}},
		{"0d", []string{"no length", "1d"}},
		{"99999999999999999999d", []string{"longer than 100 years", "30d"}},
		{"9999999999w", []string{"longer than 100 years"}},
		{"1d offset 99999999d", []string{"longer than 100 years"}},
		{"90y", []string{"none of the known forms"}},
		{"99y,1d", []string{`start: "99y"`, "RFC 3339"}},
		{"2026-01-01T00:00:00Z,", []string{`end: ""`}},
		{"2026-13-01,2026-01-02", []string{`start: "2026-13-01"`}},
		{"2026-01-02T00:00:00Z,2026-01-01T00:00:00Z", []string{"end 2026-01-01T00:00:00Z is before start", "swap"}},
		{"2026-01-02,2026-01-02", []string{"both 2026-01-02T00:00:00Z", "no length", "2026-01-02T00:00:00Z,2026-01-03T00:00:00Z"}},
		{"2026-11-22T00:00:00Z,2026-11-23T00:00:00Z", []string{"start 2026-11-22T00:00:00Z is in the future", "now is 2026-11-21T04:13:46Z"}},
		{"1767225600000,1767312000000", []string{"milliseconds"}},
		{"1960-01-01,2026-01-02", []string{"before 1970"}},
		{"99w offset 5000w", []string{"before 1970"}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			for _, style := range []windows.Style{windows.Exact, windows.Rounded} {
				_, _, err := windows.Parse(tc.text, testNow, time.UTC, style)
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q lacks %q", err, want)
					}
				}
			}
		})
	}
}

// TestAlign moves windows back to a multiple of the resolution since midnight of the zone, and keeps their length.
func TestAlign(t *testing.T) {
	for _, tc := range []struct {
		name, zone, end, want string
		r                     time.Duration
	}{
		{"a minute", "UTC", "2026-11-21T04:13:46Z", "2026-11-21T04:13:00Z", time.Minute},
		{"kept on the grid", "UTC", "2026-11-21T04:13:00Z", "2026-11-21T04:13:00Z", time.Minute},
		{"exact mode", "UTC", "2026-11-21T04:13:46Z", "2026-11-21T04:13:00Z", 0},
		{"auto", "UTC", "2026-11-21T04:13:46Z", "2026-11-21T04:13:00Z", allocation.AutoResolution},
		{"no divisor of a day", "UTC", "2026-11-21T04:13:46Z", "2026-11-21T04:12:00Z", 7 * time.Minute},
		{"longer than an hour", "UTC", "2026-11-21T04:13:46Z", "2026-11-21T04:00:00Z", 5 * time.Hour},
		{"midnight", "UTC", "2026-11-21T00:00:00Z", "2026-11-21T00:00:00Z", 7 * time.Minute},
		{"of the zone", "Asia/Kolkata", "2026-11-21T04:13:46+05:30", "2026-11-21T04:00:00+05:30", time.Hour},
		{"a day of 25 hours", "Europe/Berlin", "2026-10-25T04:13:46+01:00", "2026-10-25T04:12:00+01:00", 3 * time.Minute},
		{"a day without midnight", "America/Santiago", "2026-09-06T01:05:30-03:00", "2026-09-06T01:00:00-03:00", 7 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			end, err := time.Parse(time.RFC3339, tc.end)
			if err != nil {
				t.Fatal(err)
			}
			end = end.In(mustZone(t, tc.zone))
			w := allocation.Window{Start: end.Add(-90 * time.Minute), End: end}
			got := windows.Align(w, tc.r)
			if got.End.Format(time.RFC3339) != tc.want || got.Duration() != w.Duration() {
				t.Errorf("ends at %s, %s long; want %s", got.End.Format(time.RFC3339), got.Duration(), tc.want)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for _, tc := range []struct {
		text string
		want time.Duration
	}{
		{"0", 0},
		{"90s", 90 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"1.5h", 90 * time.Minute},
		{".5s", 500 * time.Millisecond},
		{"1d", 24 * time.Hour},
		{"1d12h", 36 * time.Hour},
		{"1w", 168 * time.Hour},
		{"2w1d", 15 * 24 * time.Hour},
		{"1.5d", 36 * time.Hour},
		{"-5m", -5 * time.Minute},
		{"250ms", 250 * time.Millisecond},
		{"9007199254740993ns", 9007199254740993},
	} {
		if got, err := windows.ParseDuration(tc.text); err != nil || got != tc.want {
			t.Errorf("%q: got %v, %v, want %v", tc.text, got, err, tc.want)
		}
	}
	for _, text := range []string{"", "-", "5", "m", "1x", "1h 30m", "1y", "+1h", "--1h", "1e3s", "999999w", "99999999999999999999999999h"} {
		_, err := windows.ParseDuration(text)
		if err == nil || !strings.Contains(err.Error(), "parse duration") || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%q: error %v names no input or no remedy", text, err)
		}
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, seed := range []string{
		"today", "lastmonth", "7d", "24h offset 14h", "2026-01-01T00:00:00Z,2026-01-02T00:00:00 02:00", "2026-01-01,2026-01-02",
		"1767225600|1767312000", "99999999999999999999w", "1d offset 99999999999999999999w", ",", "0000-01-01,9999-01-01",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, style := range []windows.Style{windows.Exact, windows.Rounded} {
			w, _, err := windows.Parse(text, testNow, time.UTC, style)
			if err != nil {
				continue
			}
			if !w.Start.Before(w.End) || w.Start.After(testNow) || w.Duration() <= 0 {
				t.Errorf("window %v to %v", w.Start, w.End)
			}
			if a := windows.Align(w, time.Minute); a.Duration() != w.Duration() || a.End.After(w.End) || w.End.Sub(a.End) >= time.Minute {
				t.Errorf("aligned %v to %v", a.Start, a.End)
			}
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"1h30m", "2w1d", "1.5d", "-5m", "0", ".5s", "9223372036854775807ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := windows.ParseDuration(text)
		if err != nil {
			return
		}
		if want, err := time.ParseDuration(text); err == nil && (got-want).Abs() > time.Microsecond {
			t.Errorf("%q: got %v, time.ParseDuration says %v", text, got, want)
		}
	})
}
