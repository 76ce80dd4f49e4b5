package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
)

// TestClock asks for the hours of zones whose clocks are set.
func TestClock(t *testing.T) {
	for _, tc := range []struct {
		zone, from, now string
		hours           int    // between them that ended ten minutes ago
		last            string // end of the last of them
		runs            []int  // hours that are computed at once
	}{
		{"UTC", "2026-03-01T00:00", "2026-03-02T02:05", 25, "2026-03-02T01:00", []int{24, 1}},
		{"UTC", "2026-03-01T00:00", "2026-03-02T02:10", 26, "2026-03-02T02:00", []int{24, 2}},
		{"Asia/Kolkata", "2026-02-28T18:30", "2026-03-01T21:00", 26, "2026-03-01T20:30", []int{24, 2}},
		{"Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:30", 23, "2026-03-29T22:00", []int{23}},
		{"Europe/Berlin", "2026-10-24T22:00", "2026-10-25T23:30", 25, "2026-10-25T23:00", []int{25}},
		{"Australia/Lord_Howe", "2026-04-04T13:00", "2026-04-05T14:00", 24, "2026-04-05T13:30", []int{2, 22}}, // half an hour is in none
	} {
		t.Run(tc.zone+" "+tc.now, func(t *testing.T) {
			now := ledgertest.ParseTime(t, tc.now)
			c := ledger.Clock{Zone: ledgertest.Zone(t, tc.zone), Grace: 10 * time.Minute, Now: func() time.Time { return now }}
			if got := c.LastHour().End; !got.Equal(ledgertest.ParseTime(t, tc.last)) {
				t.Errorf("the last hour ends at %s, want %s", got.UTC(), tc.last)
			}
			next := c.NextClosed()
			before := ledger.Clock{Zone: c.Zone, Grace: c.Grace, Now: func() time.Time { return next.Add(-time.Second) }}
			after := ledger.Clock{Zone: c.Zone, Grace: c.Grace, Now: func() time.Time { return next }}
			if !next.After(now) || !before.LastHour().End.Equal(c.LastHour().End) || !after.LastHour().End.After(c.LastHour().End) {
				t.Errorf("the next hour is closed at %s, behind that until %s", next.UTC(), c.LastHour().End.UTC())
			}
			w := allocation.Window{Start: ledgertest.ParseTime(t, tc.from), End: now}
			hours := c.ClosedHours(w)
			if len(hours) != tc.hours || !c.Closed(w).End.Equal(hours[len(hours)-1].End) {
				t.Errorf("%d hours are closed, want %d", len(hours), tc.hours)
			}
			var runs []int
			for _, run := range c.Runs(hours) {
				runs = append(runs, len(run))
			}
			if !slices.Equal(runs, tc.runs) {
				t.Errorf("runs of %v hours, want %v", runs, tc.runs)
			}
		})
	}
}
