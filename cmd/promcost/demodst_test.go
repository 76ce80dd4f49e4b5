package main

import (
	"strings"
	"testing"
	"time"
)

// TestDemoAfterChange checks where the history ends that has a change of clocks: the day of it is whole, and not of 24 hours.
func TestDemoAfterChange(t *testing.T) {
	for _, tt := range []struct {
		zone, now, want string
		hours           float64 // of the day of the change
		err             string
	}{
		{"Europe/Berlin", "2026-05-01T00:00:00Z", "2026-03-30T13:00:00Z", 23, ""},
		{"Europe/Berlin", "2026-12-01T00:00:00Z", "2026-10-26T13:00:00Z", 25, ""},
		{"Europe/Berlin", "2026-10-26T00:00:00Z", "2026-03-30T13:00:00Z", 23, ""}, // the day of the change is not over long enough
		{"America/New_York", "2026-04-01T00:00:00Z", "2026-03-09T19:00:00Z", 23, ""},
		{"UTC", "2026-05-01T00:00:00Z", "", 0, "were not changed"},
		{"Asia/Kolkata", "2026-05-01T00:00:00Z", "", 0, "Europe/Berlin"},
	} {
		t.Run(tt.zone+" "+tt.now, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			f := &demoFlags{}
			if err := f.endAfterChange(zone, now); err != nil || tt.err != "" {
				if tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			end := f.config.End
			if got := end.Format(time.RFC3339); got != tt.want {
				t.Errorf("ends at %s, want %s", got, tt.want)
			}
			y, m, d := end.Add(-afterChange).In(zone).Date()
			if got := time.Date(y, m, d+1, 0, 0, 0, 0, zone).Sub(time.Date(y, m, d, 0, 0, 0, 0, zone)).Hours(); got != tt.hours {
				t.Errorf("the day of the change has %v hours, want %v", got, tt.hours)
			}
		})
	}
}
