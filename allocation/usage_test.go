package allocation_test

import (
	"math"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
)

// counterFrom are the samples of a counter that rises by rate a second from 0 at start, every 30 s in [first, last]
// seconds of the window, without a staleness marker.
func counterFrom(start, first, last, rate float64) *timeline.Points {
	p := &timeline.Points{}
	for at := first; at <= last; at += 30 {
		p.Append(plainStart.UnixMilli()+int64(at*1000), (at-start)*rate)
	}
	return p
}

// TestUsageEdges checks that usage is neither lost nor found where series begin and end: a container that starts again
// between two points of the grid, and one whose usage was last seen before the window.
func TestUsageEdges(t *testing.T) {
	for _, tt := range []struct {
		name   string
		series map[string]*timeline.Points // by cgroup
		want   float64                     // core-hours
		slack  float64
	}{
		{
			name:   "started again between two points of the grid",
			series: map[string]*timeline.Points{"a": counterFrom(0, 10, 3595, 0.5), "b": counterFrom(3610, 3630, 7200, 2)},
			want:   (3610*0.5 + 3590*2) / 3600, slack: 0.01,
		},
		{
			name:   "in any order",
			series: map[string]*timeline.Points{"z": counterFrom(0, 10, 3595, 0.5), "b": counterFrom(3610, 3630, 7200, 2)},
			want:   (3610*0.5 + 3590*2) / 3600, slack: 0.01,
		},
		{
			name:   "last seen before the window",
			series: map[string]*timeline.Points{"a": counterFrom(-300, -290, -20, 0.5)},
			want:   1, slack: 0.001,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := allocation.Query{Window: allocation.Window{Start: plainStart, End: plainStart.Add(2 * time.Hour)}, Resolution: time.Minute}
			b, err := allocation.NewBuilder(q, 30*time.Second, flat{cpu: 1})
			if err != nil {
				t.Fatal(err)
			}
			f := feed{t: t, b: b}
			f.add(allocation.Series{Signal: allocation.ContainerRunning}, "c/ns/p/uid/main/", minutes(1, -5, 121))
			f.add(allocation.Series{Signal: allocation.ContainerStarted}, "c/ns/p/uid/main", join(
				minutes(float64(plainStart.Unix()-300), -5, 60), minutes(float64(plainStart.Unix()+3610), 61, 121)))
			if err := b.Resolve(); err != nil {
				t.Fatal(err)
			}
			use := allocation.Series{Signal: allocation.ContainerUse, Unmarked: true}
			for _, id := range []string{"a", "b", "z"} {
				if p := tt.series[id]; p != nil {
					f.add(use, "c/ns/p/uid/main//"+id, p)
				}
			}
			if again, err := b.Settle(); err != nil || len(again) > 0 {
				t.Fatalf("settle: %v, %v", again, err)
			}
			sets, err := b.Sets()
			if err != nil {
				t.Fatal(err)
			}
			if got := sets[0].Value(allocation.UsageHours.Of(allocation.CPU), 0); math.Abs(got-tt.want) > tt.slack*tt.want {
				t.Errorf("%v core-hours used, want %v", got, tt.want)
			}
		})
	}
}
