package coverage_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/coverage"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// covered is that a cluster has data from one hour to another.
func covered(cluster string, from, to float64) allocation.Covered {
	at := func(hours float64) time.Time { return start.Add(time.Duration(hours * float64(time.Hour))) }
	return allocation.Covered{Cluster: cluster, Start: at(from), End: at(to)}
}

// TestMeasure checks what is said of windows, in words too, and what a cost of 3 comes to in a month.
func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name       string
		hours, now float64 // of the window; 0 is after it
		list       []allocation.Covered
		month      float64
		text       string // "" for a whole window
		warned     bool
	}{
		{"whole", 24, 0, []allocation.Covered{covered("a", -9, 99)}, 3 * 730 / 24.0, "", false},
		{"up to now", 24, 6, []allocation.Covered{covered("a", -9, 6)}, 3 * 730 / 6.0, "", false},
		{"a scrape is missing", 24, 0, []allocation.Covered{covered("a", 0.01, 24)}, 3 * 730 / 23.99, "", false},
		{"hours", 175, 0, []allocation.Covered{covered("a", 158, 175)}, 3 * 730 / 17.0, "17 of 175 h have data", true},
		{"days", 90 * 24, 0, []allocation.Covered{covered("a", 82*24, 90*24)}, 3 * 730 / 192.0, "8 of 90 days have data", true},
		{"all but a little", 90 * 24, 0, []allocation.Covered{covered("a", 0, 90*24-1)}, 3 * 730 / 2159.0, "89.96 of 90 days have data", true},
		{"clusters that overlap", 24, 0, []allocation.Covered{covered("a", 0, 10), covered("b", 8, 20)}, 3 * 730 / 20.0, "20 of 24 h have data", true},
		{"one cluster has all", 24, 0, []allocation.Covered{covered("a", 0, 24), covered("b", 8, 20)}, 3 * 730 / 24.0, "", true},
		{"nothing", 24, 0, nil, 3 * 730 / 24.0, "0 of 24 h have data", false},
		{"nothing yet", 0, 0, nil, 0, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, now := covered("", 0, tt.hours), time.Time{}
			if tt.now != 0 {
				now = covered("", 0, tt.now).End
			}
			c := coverage.Measure(allocation.Window{Start: w.Start, End: w.End}, coverage.Join(tt.list), now)
			if got := 3 * c.Factor(coverage.MonthHours); got-tt.month > 1e-9 || tt.month-got > 1e-9 {
				t.Errorf("a month costs %v, want %v", got, tt.month)
			}
			if c.Whole() != (tt.text == "") || !c.Whole() && c.Text() != tt.text || (c.Warning() != "") != tt.warned {
				t.Errorf("whole %v, %q, warning %q", c.Whole(), c.Text(), c.Warning())
			}
		})
	}
}

// TestJoin checks that stretches that meet are one, as old as the oldest node in them, and of unknown age if one is.
func TestJoin(t *testing.T) {
	young, old, unknown := covered("a", 0, 2), covered("a", 2, 4), covered("a", 3, 5)
	young.Created, old.Created = start, start.Add(-time.Hour)
	if got := coverage.Join([]allocation.Covered{old}, []allocation.Covered{young}); len(got) != 1 || got[0] != (allocation.Covered{Cluster: "a", Start: young.Start, End: old.End, Created: old.Created}) {
		t.Errorf("got %+v", got)
	}
	if got := coverage.Join([]allocation.Covered{old, unknown, young}); len(got) != 1 || !got[0].Created.IsZero() || got[0].End != unknown.End {
		t.Errorf("with an unknown age: %+v", got)
	}
}
