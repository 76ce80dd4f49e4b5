package timeline_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestDoubts checks the lower and upper bound of how long an object ran that was seen from minute 30 to 90, for different
// further reports. Scrapes are a minute apart, and so are the points of the first grid; those of the other grid are 5 minutes
// apart. Times are in minutes.
func TestDoubts(t *testing.T) {
	type presence = timeline.Presence
	seen := func(v ...float64) timeline.Steps { return shown(60_000, v...) }
	counted := func(v ...float64) timeline.Steps { return shown(1, v...) }
	hour := seen(30, 90, 1)
	over := seen(30, 90, 1, 95, 120, 0)
	type bounds struct{ least, most float64 }
	for _, tt := range []struct {
		name         string
		p            presence
		down         timeline.Intervals
		fine, coarse bounds
	}{
		{"nothing is known: scrapes lie between the points", presence{Seen: hour}, nil, bounds{57, 62}, bounds{0, 66}},
		{"its start is the same", presence{Seen: hour, Started: reports(30, 90, 29.5)}, nil, bounds{58.5, 61.5}, bounds{58.5, 65.5}},
		{"its start changes", presence{Seen: hour, Started: reports(30, 60, 29.5, 60, 90, 59.5)}, nil, bounds{57, 62}, bounds{57, 66}},
		{"its node was away for 3 minutes before", presence{Seen: hour, Started: reports(30, 60, 29.5, 60, 90, 59.5), Ended: reports(60, 90, 56.5)}, nil, bounds{55.5, 62}, bounds{55.5, 66}},
		{"its restarts do not change", presence{Seen: hour, Restarts: counted(30, 90, 3)}, nil, bounds{57, 62}, bounds{53, 66}},
		{"its restarts change", presence{Seen: hour, Restarts: counted(30, 60, 3, 60, 90, 4)}, nil, bounds{54, 62}, bounds{46, 66}},
		{"another object of its name counts its own", presence{Seen: hour, Born: reports(30, 60, 29, 60, 90, 59), Restarts: counted(30, 90, 0)}, nil, bounds{54, 62}, bounds{46, 66}},
		{"all samples are of one series, which a restart would end", presence{Seen: hour, OneSeries: true}, nil, bounds{57, 62}, bounds{53, 66}},
		{"from minute 50 to 60 it is only supposed to run", presence{Seen: hour, Supposed: intervals(50, 60)}, nil, bounds{45, 62}, bounds{0, 66}},
		{"an outage hides a point", presence{Seen: over, Started: reports(30, 90, 29.5)}, intervals(90, 95), bounds{58.5, 66.5}, bounds{58.5, 70.5}},
	} {
		for name, want := range map[string]struct {
			step int64
			bounds
		}{"1m": {minute, tt.fine}, "5m": {5 * minute, tt.coarse}} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				s := timeline.Sampling{End: 120 * minute, Step: want.step, Lookback: timeline.Lookback, Interval: minute}
				runs := s.Runs(&tt.p, &timeline.Watch{Down: tt.down})
				got := bounds{}
				for k := range runs.All {
					got.least += float64(runs.Least(k).Length()) / minute
					most := runs.Most(k)
					got.most += float64(most.To-most.From) / minute
				}
				const slack = 0.1 // a reported time is of a whole second
				if d := max(got.least-want.least, want.least-got.least, got.most-want.most, want.most-got.most); d > slack {
					t.Errorf("%.2f, want %.2f", got, want.bounds)
				}
			})
		}
	}
}
