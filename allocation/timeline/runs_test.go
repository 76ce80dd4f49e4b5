package timeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// scrape is the scrape interval in milliseconds.
const scrape = 30_000

// sampling returns the sampling of a window of two hours.
func sampling(exact bool) timeline.Sampling {
	s := timeline.Sampling{Start: 0, End: 120 * minute, Step: minute, Lookback: timeline.Lookback, Interval: scrape}
	if exact {
		s.Step = 0
	}
	return s
}

// shown returns reports of values, given as first sample in minutes, last sample in minutes, and value. Values that are times
// are in minutes too.
func shown(unit float64, v ...float64) (out timeline.Steps) {
	for i := 0; i+2 < len(v); i += 3 {
		out = append(out, timeline.Step{From: int64(v[i]*minute) - 1, To: int64(v[i+1] * minute), V: v[i+2] * unit})
	}
	return out
}

// sights are when samples show that an object runs (1) or that it does not (0), reports are times that were reported then.
func sights(v ...float64) timeline.Steps  { return shown(scrape, v...) }
func reports(v ...float64) timeline.Steps { return shown(60, v...) }

// TestExactRuns checks the sentences of SEMANTICS §2 about exact mode, and about gaps. Times are in minutes, scrapes are half
// a minute apart; the newest one is at 60 unless a case says otherwise.
func TestExactRuns(t *testing.T) {
	type presence = timeline.Presence
	for _, tt := range []struct {
		name    string
		p       presence
		absent  timeline.Intervals
		newest  float64
		want    timeline.Intervals
		bridged timeline.Intervals
	}{
		{name: "never", p: presence{Seen: sights(0, 60, 0)}},
		{name: "a run starts at its reported start", p: presence{Seen: sights(10.5, 60, 1), Started: reports(10.5, 60, 10.25)}, want: intervals(10.25, 65)},
		{name: "the start is told after an outage", p: presence{Seen: sights(10.5, 60, 1), Started: reports(15, 60, 10.25)}, want: intervals(10.25, 65)},
		{name: "the start is told by another target, just before the first sample", p: presence{Seen: sights(10.5, 10.5, 1, 11, 60, 0), Started: reports(10.4, 10.4, 10.1)}, want: intervals(10.1, 10.75)},
		{name: "the one that is told last before the first sample", p: presence{Seen: sights(10.5, 10.5, 1, 11, 60, 0), Started: reports(10.1, 10.1, 10.05, 10.4, 10.4, 10.3)}, want: intervals(10.3, 10.75)},
		{name: "not what is told earlier than a scrape before the first sample", p: presence{Seen: sights(10.5, 10.5, 1, 11, 60, 0), Started: reports(9.9, 9.9, 9.5)}, want: intervals(10.25, 10.75)},
		{name: "nor the start of the run before", p: presence{Seen: sights(9, 9.5, 1, 10, 10, 0, 10.5, 10.5, 1, 11, 60, 0), Started: reports(9.1, 10.1, 8.9)}, want: intervals(8.9, 9.75, 10.25, 10.75)},
		{name: "start and end are told after the end", p: presence{Seen: sights(10.5, 12, 1, 40, 50, 0), Started: reports(40, 50, 10.25), Ended: reports(40, 50, 12.25)}, want: intervals(10.25, 12.25)},
		{
			name: "never before the end of the run before", p: presence{Seen: sights(5, 8, 1, 8.5, 10, 0, 10.5, 12, 1, 12.5, 50, 0), Started: reports(40, 50, 4.8)},
			want: intervals(4.75, 8.25, 10.25, 12.25),
		},
		{name: "else half a scrape interval before its first sample", p: presence{Seen: sights(10.5, 60, 1)}, want: intervals(10.25, 65)},
		{name: "the pod's start only bounds the start from below", p: presence{Seen: sights(10.5, 60, 1), Born: reports(10.5, 60, 3)}, want: intervals(10.25, 65)},
		{name: "which is half a scrape interval before, but the pod is younger", p: presence{Seen: sights(10.5, 60, 1), Born: reports(10.5, 60, 10.4)}, want: intervals(10.4, 65)},
		{
			name: "a restart between two samples that is told by its start alone", p: presence{Seen: sights(10.5, 60, 1), Started: reports(15, 60, 11)},
			want: intervals(10.25, 10.75, 11, 65),
		},
		{
			name: "a restart between two samples, both edges told", p: presence{Seen: sights(1, 60, 1), Started: reports(1, 20, 0.75, 20.5, 60, 20.25), Ended: reports(20.5, 60, 20.05)},
			want: intervals(0.75, 20.05, 20.25, 65),
		},
		{
			name: "a restart whose end is told with the new start: the status before was old, as of a node that is away",
			p:    presence{Seen: sights(1, 60, 1), Started: reports(1, 20, 0.75, 20.5, 60, 20.25), Ended: reports(20.5, 60, 17)}, want: intervals(0.75, 17, 20.25, 65),
		},
		{
			name: "but not where a window that ends there could not know it",
			p:    presence{Seen: sights(1, 60, 1), Started: reports(1, 20, 0.75, 20.5, 60, 20.25), Ended: reports(20.5, 60, 15)}, want: intervals(0.75, 20.125, 20.25, 65),
		},
		{
			name: "nor where it is the end of an earlier run",
			p:    presence{Seen: sights(19, 60, 1), Started: reports(19, 20, 18.75, 20.5, 60, 20.25), Ended: reports(20.5, 60, 17)}, want: intervals(18.75, 20.125, 20.25, 65),
		},
		{name: "a run ends at the first reported completion", p: presence{Seen: sights(10, 19.5, 1, 20, 60, 0), Completed: reports(20, 40, 19.75, 40.5, 60, 40.25)}, want: intervals(9.75, 19.75)},
		{name: "or termination", p: presence{Seen: sights(10, 19.5, 1, 20, 60, 0), Ended: reports(20, 60, 19.75)}, want: intervals(9.75, 19.75)},
		{name: "of what terminated before it is not its own", p: presence{Seen: sights(10, 20.5, 1, 21, 60, 0), Completed: reports(20.5, 30, 20.25)}, want: intervals(9.75, 20.75)},
		{name: "that is not before its own start", p: presence{Seen: sights(10, 10, 1, 10.5, 60, 0), Started: reports(10, 60, 9.9), Ended: reports(10, 60, 9.6)}, want: intervals(9.9, 10.25)},
		{name: "nor long before its last sample", p: presence{Seen: sights(10, 20, 1, 20.5, 60, 0), Ended: reports(12, 60, 12)}, want: intervals(9.75, 20.25)},
		{name: "a time of 0 or below is unknown", p: presence{Seen: sights(10, 20, 1, 20.5, 60, 0), Started: reports(10, 60, -1e6), Ended: reports(20.5, 60, -1e6)}, want: intervals(9.75, 20.25)},
		{name: "else halfway to the scrape that no longer shows it", p: presence{Seen: sights(10, 20, 1)}, want: intervals(9.75, 20.25)},
		{name: "also one sample", p: presence{Seen: sights(10, 10, 1)}, want: intervals(9.75, 10.25)},
		{name: "a deletion only caps the end", p: presence{Seen: sights(10, 20, 1), Deleted: reports(19, 20, 19.5)}, want: intervals(9.75, 19.5)},
		{name: "and not that of another object of the name", p: presence{Seen: sights(10, 20, 1, 20.5, 60, 1), Started: reports(10, 20, 9.9, 20.5, 60, 20.25), Deleted: reports(19, 20, 20.5)}, want: intervals(9.9, 20.125, 20.25, 65)},
		{name: "which its pod's start tells alone", p: presence{Seen: sights(10, 20, 1, 20.5, 60, 1), Born: reports(10, 20, 9, 20.5, 60, 20.2), Deleted: reports(19, 20, 20.5)}, want: intervals(9.75, 20.25, 20.25, 65)},
		{name: "though something told when the old one started, for a while", p: presence{Seen: sights(10, 60, 1), Started: reports(10, 11, 9.5), Born: reports(10, 20, 9, 20.5, 60, 20.2), Deleted: reports(19, 20, 20.1)}, want: intervals(9.5, 20.1, 20.2, 65)},
		{name: "and the new pod starts when the old one was to be gone", p: presence{Seen: sights(10, 60, 1), Born: reports(10, 20, 9, 20.5, 60, 20.1), Deleted: reports(19, 20, 20.1)}, want: intervals(9.75, 20.05, 20.1, 65)},
		{name: "what the newest scrape shows is open, for a lookback", p: presence{Seen: sights(10, 60, 1)}, want: intervals(9.75, 65)},
		{name: "up to the end of the window", p: presence{Seen: sights(10, 119.5, 1)}, newest: 119.5, want: intervals(9.75, 120)},
		{name: "what a newer scrape does not show is not", p: presence{Seen: sights(10, 119, 1)}, newest: 119.5, want: intervals(9.75, 119.25)},
		{name: "no scrape saw it, start and end are told", p: presence{Unseen: true, Seen: sights(11, 60, 0), Started: reports(11, 60, 10.55), Completed: reports(11, 60, 10.9)}, want: intervals(10.55, 10.9)},
		{name: "no sample at all but what is told", p: presence{Unseen: true, Started: reports(11, 60, 10.55), Ended: reports(11, 60, 10.9)}, want: intervals(10.55, 10.9)},
		{name: "no scrape saw it, no end is told", p: presence{Unseen: true, Seen: sights(11, 60, 0), Started: reports(11, 60, 10.55)}},
		{name: "no scrape saw the init container", p: presence{Seen: sights(11, 60, 0), Started: reports(11, 60, 10.55), Ended: reports(11, 60, 10.9)}},
		{
			name: "no scrape saw the second run", p: presence{Unseen: true, Seen: sights(5, 8, 1, 8.5, 60, 0), Started: reports(5, 8, 4.9, 12, 60, 11.6), Ended: reports(8.5, 11.5, 8.2, 12, 60, 11.8)},
			want: intervals(4.9, 8.2, 11.6, 11.8),
		},
		{name: "the pod's start alone, of one that ran once", p: presence{Unseen: true, Once: true, Seen: sights(11, 60, 0), Born: reports(11, 60, 10.55), Completed: reports(11, 60, 10.9)}, want: intervals(10.55, 10.9)},
		{name: "the pod's start alone, of one that may have run more often", p: presence{Unseen: true, Seen: sights(11, 60, 0), Born: reports(11, 60, 10.55), Completed: reports(11, 60, 10.9)}},
		{name: "the pod's start alone, and nothing terminated", p: presence{Unseen: true, Once: true, Seen: sights(11, 60, 0), Born: reports(11, 60, 10.55)}},
		{name: "crash loop: back-off is not running, starts told", p: presence{
			Seen:    sights(10, 10.5, 1, 11, 12, 0, 12.5, 12.5, 1, 13, 60, 0),
			Started: reports(10, 10.5, 9.8, 12.5, 12.5, 12.4), Ended: reports(11, 12.5, 10.7, 13, 60, 12.9),
		}, want: intervals(9.8, 10.7, 12.4, 12.9)},
		{name: "crash loop: back-off is not running, only the pod's start told", p: presence{
			Seen: sights(10, 10.5, 1, 11, 12, 0, 12.5, 12.5, 1, 13, 60, 0),
			Born: reports(10, 60, 9), Ended: reports(11, 12.5, 10.7, 13, 60, 12.9),
		}, want: intervals(9.75, 10.7, 12.25, 12.9)},
		{name: "a gap of five minutes is bridged", p: presence{Seen: sights(1, 10, 1, 15, 60, 1)}, want: intervals(0.75, 65)},
		{name: "a longer one is not", p: presence{Seen: sights(1, 10, 1, 15.5, 60, 1)}, want: intervals(0.75, 10.25, 15.25, 65)},
		{name: "nor one in which it was seen not to run", p: presence{Seen: sights(1, 10, 1, 12, 12, 0, 14, 60, 1)}, want: intervals(0.75, 11, 13.75, 65)},
		{name: "one with the same start on both sides is", p: presence{Seen: sights(1, 10, 1, 40, 60, 1), Started: reports(1, 10, 0.5, 40, 60, 0.5)}, want: intervals(0.5, 65), bridged: intervals(10, 40)},
		{
			name: "sights of two targets in turn are one run, whatever starts are told later", p: presence{Seen: sights(20.05, 20.9, 1, 20.98, 20.98, 1, 21.05, 21.5, 1, 23, 33, 1, 33.5, 60, 0), Started: reports(20.98, 20.98, 10, 23, 33, 22.3)},
			want: intervals(15.05, 21.9, 22.3, 33.25),
		},
		{name: "not by a start that is not known", p: presence{Seen: sights(1, 10, 1, 40, 60, 1), Started: reports(1, 10, -1, 40, 60, -1)}, want: intervals(0.75, 10.25, 39.75, 65)},
		{name: "not with another start", p: presence{Seen: sights(1, 10, 1, 40, 60, 1), Started: reports(1, 10, 0.5, 40, 60, 39)}, want: intervals(0.5, 10.25, 39, 65)},
		{name: "one in which nothing of the kind was seen is", p: presence{Seen: sights(1, 10, 1, 40, 60, 1)}, absent: intervals(10.5, 40), want: intervals(0.75, 65), bridged: intervals(10, 40)},
		{name: "not where it began before that", p: presence{Seen: sights(1, 10, 1, 40, 60, 1)}, absent: intervals(20, 40), want: intervals(0.75, 10.25, 39.75, 65)},
		{name: "an end in an outage: halfway", p: presence{Seen: sights(1, 10, 1, 40, 60, 0)}, absent: intervals(10.5, 40), want: intervals(0.75, 25)},
		{name: "an end in an outage that is told", p: presence{Seen: sights(1, 10, 1, 40, 60, 0), Ended: reports(40, 60, 27)}, absent: intervals(10.5, 40), want: intervals(0.75, 27)},
		{name: "an end in a time without data", p: presence{Seen: sights(1, 10, 1, 80, 90, 0)}, absent: intervals(10.5, 80), newest: 90, want: intervals(0.75, 10.25)},
		{name: "a start in an outage that is told", p: presence{Seen: sights(20, 60, 1), Started: reports(20, 60, 5)}, absent: intervals(-6, 20), want: intervals(5, 65), bridged: intervals(5, 20)},
		{name: "a start in a time without data: the first sight has its scrape interval", p: presence{Seen: sights(90, 100, 1), Started: reports(90, 100, 5)}, absent: intervals(-6, 90), newest: 100, want: intervals(89.5, 105)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := timeline.Watch{Absent: tt.absent, Down: tt.absent, Newest: 60 * minute}
			if tt.newest > 0 {
				w.Newest = int64(tt.newest * minute)
			}
			got := sampling(true).Runs(&tt.p, &w)
			if d := cmp.Diff(tt.want, got.Intervals(), nearly); d != "" {
				t.Errorf("runs: %s", d)
			}
			if d := cmp.Diff(tt.bridged, got.Bridged, nearly); d != "" {
				t.Errorf("bridged: %s", d)
			}
		})
	}
}

// nearly compares times up to the millisecond that sights begin before their first sample.
var nearly = cmp.Comparer(func(a, b int64) bool { return max(a-b, b-a) <= 1 })

// TestGridRuns checks runs on a grid: edges are those of cells, and gaps are bridged as in exact mode.
func TestGridRuns(t *testing.T) {
	cells := func(v ...float64) timeline.Steps {
		out := steps(v...)
		for i := range out {
			out[i].V *= scrape
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		seen    timeline.Steps
		started timeline.Steps // seconds
		absent  timeline.Intervals
		want    timeline.Intervals
		bridged timeline.Intervals
	}{
		{name: "never", seen: cells(0, 60, 0)},
		{name: "always", seen: cells(0, 60, 1), want: intervals(0, 60)},
		{name: "five minutes are bridged", seen: cells(0, 10, 1, 15, 30, 1), want: intervals(0, 30)},
		{name: "more are not", seen: cells(0, 10, 1, 16, 30, 1), want: intervals(0, 10, 16, 30)},
		{name: "an explicit 0 ends it", seen: cells(0, 10, 1, 10, 12, 0, 12, 30, 1), want: intervals(0, 10, 12, 30)},
		{name: "not the same start where it is not known", seen: cells(0, 10, 1, 40, 50, 1), started: steps(0, 10, -60, 40, 50, -60), want: intervals(0, 10, 40, 50)},
		{name: "the same start on both sides", seen: cells(0, 10, 1, 40, 50, 1), started: steps(0, 10, 30, 40, 50, 30), want: intervals(0, 50), bridged: intervals(10, 40)},
		{name: "another start", seen: cells(0, 10, 1, 40, 50, 1), started: steps(0, 10, 30, 40, 50, 2340), want: intervals(0, 10, 40, 50)},
		{name: "target down", seen: cells(0, 10, 1, 40, 50, 1), absent: intervals(10, 40), want: intervals(0, 50), bridged: intervals(10, 40)},
		{name: "target down for part of the gap", seen: cells(0, 10, 1, 40, 50, 1), absent: intervals(20, 40), want: intervals(0, 10, 40, 50)},
		{name: "target down at first", seen: cells(20, 50, 1), started: steps(20, 50, 300), absent: intervals(-6, 20), want: intervals(5, 50), bridged: intervals(5, 20)},
		{name: "no data at first", seen: cells(90, 100, 1), started: steps(90, 100, 300), absent: intervals(-6, 90), want: intervals(90, 100)},
		{name: "what is told between two points is not there", started: steps(20, 50, 300)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := sampling(false).Runs(&timeline.Presence{Seen: tt.seen, Started: tt.started, Unseen: true}, &timeline.Watch{Absent: tt.absent, Down: tt.absent})
			if d := cmp.Diff(tt.want, got.Intervals()); d != "" {
				t.Errorf("runs: %s", d)
			}
			if d := cmp.Diff(tt.bridged, got.Bridged); d != "" {
				t.Errorf("bridged: %s", d)
			}
		})
	}
}

// TestMostOfHiddenRuns checks how long, in minutes, a run can have been that no scrape saw and of which only the end is told. A run
// before it is seen from 1 to 20.
func TestMostOfHiddenRuns(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen timeline.Steps
		down timeline.Intervals
		want float64
	}{
		{"between two scrapes", sights(1, 20, 1, 20.5, 47.9, 0, 48.1, 60, 0), nil, 0.1},
		{"within an outage", sights(1, 20, 1, 20.5, 30, 0, 50, 60, 0), intervals(30, 50), 18},
		{"within an outage, and not running any more when that ended", sights(1, 20, 1, 20.5, 30, 0, 50, 60, 0), intervals(30, 48), 18},
		{"within an outage, and running again when that ended", sights(1, 20, 1, 20.5, 30, 0, 50, 60, 1), intervals(30, 50), 18},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const end = 48 * minute
			p := timeline.Presence{Seen: tt.seen, Ended: reports(20.5, 30, 20.1, 50, 60, 48)}
			runs := sampling(true).Runs(&p, &timeline.Watch{Down: tt.down, Newest: 60 * minute})
			for k := range runs.All {
				if runs.All[k].End.At != end {
					continue
				}
				most := runs.Most(k)
				if got := float64(end-most.From) / minute; got < tt.want-0.001 || got > tt.want+0.6 { // a scrape earlier, at most
					t.Errorf("%.2f minutes before the end, want %.2f", got, tt.want)
				}
				return
			}
			t.Errorf("no run ends at minute 48: %v", runs.All)
		})
	}
}

// TestPartsOfAway checks that two windows know the same of an object whose node was away as the window of both, wherever it is cut: each
// sees what was told up to 5 minutes beyond its ends.
func TestPartsOfAway(t *testing.T) {
	clip := func(s timeline.Steps, from, to float64) (out timeline.Steps) {
		for _, x := range s {
			if x.From, x.To = max(x.From, int64(from*minute)), min(x.To, int64(to*minute)); x.From < x.To {
				out = append(out, x)
			}
		}
		return out
	}
	for _, ended := range []float64{15, 15.5, 16, 17, 19.9, 20.1} {
		seen, started, end := sights(1, 60, 1), reports(1, 20, 0.75, 20.5, 60, 20.25), reports(20.5, 60, ended)
		charged := func(from, to float64) timeline.Intervals {
			s := timeline.Sampling{Start: int64((from - 5) * minute), End: int64((to + 5) * minute), Lookback: timeline.Lookback, Interval: scrape}
			p := timeline.Presence{Seen: clip(seen, from-5, to+5), Started: clip(started, from-5, to+5), Ended: clip(end, from-5, to+5), Unseen: true}
			runs := s.Runs(&p, &timeline.Watch{Newest: int64((to + 5) * minute)})
			return runs.Intervals().Clip(int64(from*minute), int64(to*minute))
		}
		whole := charged(6, 50).Length()
		for cut := 12.0; cut < 30; cut += 0.25 {
			if parts := charged(6, cut).Length() + charged(cut, 50).Length(); parts != whole {
				t.Errorf("the end is at %g: cut at %g, the parts have %g minutes, the whole has %g", ended, cut, float64(parts)/minute, float64(whole)/minute)
			}
		}
	}
}
