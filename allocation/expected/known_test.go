package expected_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/expected"
)

func TestKnown(t *testing.T) {
	day := allocation.Window{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)}
	covered := func(cluster string, from, to int) allocation.Covered { // hours from the beginning of the day
		return allocation.Covered{Cluster: cluster, Start: day.Start.Add(time.Duration(from) * time.Hour), End: day.Start.Add(time.Duration(to) * time.Hour)}
	}
	for _, tc := range []struct {
		name string
		data []allocation.Covered
		want bool
	}{
		{"nothing", nil, false},
		{"all of it", []allocation.Covered{covered("a", -24, 48)}, true},
		{"but two hours", []allocation.Covered{covered("a", 0, 10), covered("a", 12, 24)}, true},
		{"but three hours", []allocation.Covered{covered("a", 0, 10), covered("a", 13, 24)}, false},
		{"data begin at noon", []allocation.Covered{covered("a", 12, 48)}, false},
		{"a second cluster begins at noon", []allocation.Covered{covered("a", 0, 24), covered("b", 12, 48)}, true},
		{"a second cluster ended before", []allocation.Covered{covered("a", 0, 24), covered("b", -48, -24)}, true},
		{"a second cluster lacks hours", []allocation.Covered{covered("a", 0, 24), covered("b", -24, 6), covered("b", 18, 48)}, false},
		{"clusters take turns", []allocation.Covered{covered("a", 0, 12), covered("b", 12, 24)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := expected.Known(day, coverage.Join(tc.data)); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}

// TestBefore checks days of other lengths: clocks are set back on the 1st of November in New York.
func TestBefore(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		end       time.Time
		days      int
		start, to string
	}{
		{"the running day", time.Date(2026, 11, 3, 8, 0, 0, 0, zone), 0, "2026-11-03T00:00:00-05:00", "2026-11-03T08:00:00-05:00"},
		{"a day of 25 hours", time.Date(2026, 11, 3, 8, 0, 0, 0, zone), 2, "2026-11-01T00:00:00-04:00", "2026-11-01T08:00:00-05:00"},
		{"a whole one", time.Date(2026, 11, 3, 0, 0, 0, 0, zone), 1, "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		{"a day to come", time.Date(2026, 11, 1, 0, 0, 0, 0, zone), -1, "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := expected.Before(tc.end, tc.days, zone)
			if got := [2]string{w.Start.Format(time.RFC3339), w.End.Format(time.RFC3339)}; got != [2]string{tc.start, tc.to} {
				t.Errorf("%v, want %s to %s", got, tc.start, tc.to)
			}
		})
	}
}
