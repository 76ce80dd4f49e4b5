package allocation_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

func TestPeriodRound(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		period     allocation.Period
		zone       *time.Location
		start, end string // of the window
		want       string
	}{
		"none":                  {allocation.NoPeriod, nil, "2026-03-04T10:20:00Z", "2026-03-04T10:30:00Z", "2026-03-04T10:20:00Z,2026-03-04T10:30:00Z"},
		"all":                   {allocation.All, nil, "2026-03-04T10:20:00Z", "2026-03-04T10:30:00Z", "2026-03-04T10:20:00Z,2026-03-04T10:30:00Z"},
		"hour":                  {allocation.Hour, nil, "2026-03-04T10:20:00Z", "2026-03-04T10:30:00Z", "2026-03-04T10:00:00Z,2026-03-04T11:00:00Z"},
		"day":                   {allocation.Day, nil, "2026-03-04T10:20:00Z", "2026-03-05T00:00:01Z", "2026-03-04T00:00:00Z,2026-03-06T00:00:00Z"},
		"a whole day":           {allocation.Day, nil, "2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-04T00:00:00Z,2026-03-05T00:00:00Z"},
		"week from Sunday":      {allocation.Week, nil, "2026-03-04T10:20:00Z", "2026-03-04T10:30:00Z", "2026-03-01T00:00:00Z,2026-03-08T00:00:00Z"},
		"week on Saturday":      {allocation.Week, nil, "2026-03-07T23:59:00Z", "2026-03-08T00:00:00Z", "2026-03-01T00:00:00Z,2026-03-08T00:00:00Z"},
		"month":                 {allocation.Month, nil, "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z,2026-02-01T00:00:00Z"},
		"quarter":               {allocation.Quarter, nil, "2026-11-04T00:00:00Z", "2026-11-05T00:00:00Z", "2026-10-01T00:00:00Z,2027-01-01T00:00:00Z"},
		"day of 23 h":           {allocation.Day, berlin, "2026-03-29T10:00:00Z", "2026-03-29T11:00:00Z", "2026-03-28T23:00:00Z,2026-03-29T22:00:00Z"},
		"day of 25 h":           {allocation.Day, berlin, "2026-10-25T10:00:00Z", "2026-10-25T11:00:00Z", "2026-10-24T22:00:00Z,2026-10-25T23:00:00Z"},
		"hour that comes again": {allocation.Hour, berlin, "2026-10-25T01:30:00Z", "2026-10-25T01:40:00Z", "2026-10-25T01:00:00Z,2026-10-25T02:00:00Z"},
		"half hours":            {allocation.Hour, time.FixedZone("India", 19800), "2026-03-04T10:40:00Z", "2026-03-04T11:00:00Z", "2026-03-04T10:30:00Z,2026-03-04T11:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			start, _ := time.Parse(time.RFC3339, tc.start)
			end, _ := time.Parse(time.RFC3339, tc.end)
			w := tc.period.Round(allocation.Window{Start: start, End: end}, tc.zone)
			if got := w.Start.UTC().Format(time.RFC3339) + "," + w.End.UTC().Format(time.RFC3339); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
