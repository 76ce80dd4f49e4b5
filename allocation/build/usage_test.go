package build_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/signals"
	"github.com/promcost/promcost/allocation/timeline"
)

// counterFrom are the samples of a counter that rises by rate a second from 0 at start, every 30 s in [first, last]
// seconds of the window, without a staleness marker.
func counterFrom(start, first, last, rate float64) *timeline.Points {
	p := &timeline.Points{}
	for at := first; at <= last; at += 30 {
		p.Append(clusterStart.UnixMilli()+int64(at*1000), (at-start)*rate)
	}
	return p
}

// TestUsageEdges checks that no usage is lost or invented where series begin and end: for a container that restarts between two points
// of the grid, and for one whose usage was last seen before the window.
func TestUsageEdges(t *testing.T) {
	for _, tt := range []struct {
		name    string
		series  map[string]*timeline.Points // by cgroup; "" and "-" have none
		running *timeline.Points            // all the time, where nil
		started *timeline.Points            // at first and after an hour, where nil
		want    float64                     // core-hours
		slack   float64
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
			name:   "last seen before the window: held for an hour",
			series: map[string]*timeline.Points{"a": counterFrom(-300, -290, -20, 0.5)},
			want:   0.5, slack: 0.01,
		},
		{
			name:    "ended and started again, no ids",
			series:  map[string]*timeline.Points{"": join(counterFrom(-300, -290, 3590, 0.5), counterFrom(4800, 4830, 7200, 2))},
			running: join(minutes(1, -5, 61), minutes(0, 61, 80), minutes(1, 81, 121)),
			started: join(minutes(float64(clusterStart.Unix()-300), -5, 60), minutes(float64(clusterStart.Unix()+4800), 81, 121)),
			want:    (3600*0.5 + 2400*2) / 3600, slack: 0.003,
		},
		{
			name:    "the same in two stretches",
			series:  map[string]*timeline.Points{"": counterFrom(-300, -290, 3590, 0.5), "-": counterFrom(4800, 4830, 7200, 2)},
			running: join(minutes(1, -5, 61), minutes(0, 61, 80), minutes(1, 81, 121)),
			started: join(minutes(float64(clusterStart.Unix()-300), -5, 60), minutes(float64(clusterStart.Unix()+4800), 81, 121)),
			want:    (3600*0.5 + 2400*2) / 3600, slack: 0.003,
		},
		{
			name:    "no ids, and more used than before when seen again",
			series:  map[string]*timeline.Points{"": join(counterFrom(-300, -290, 3590, 0.01), counterFrom(4800, 5100, 7200, 2))},
			running: join(minutes(1, -5, 61), minutes(0, 61, 80), minutes(1, 81, 121)),
			started: join(minutes(float64(clusterStart.Unix()-300), -5, 60), minutes(float64(clusterStart.Unix()+4800), 81, 121)),
			want:    (3600*0.01 + 2400*2) / 3600, slack: 0.001,
		},
		{
			name:   "no ids: not seen for a while, started again meanwhile",
			series: map[string]*timeline.Points{"": join(counterFrom(-300, -290, 3000, 0.5), counterFrom(3610, 4200, 7200, 2))},
			want:   (3610*0.5 + 3590*2) / 3600, slack: 0.003,
		},
		{
			name:   "no ids: not seen for a while, but the same",
			series: map[string]*timeline.Points{"": join(counterFrom(-300, -290, 600, 0.5), counterFrom(-300, 1800, 7200, 0.5))},
			want:   1, slack: 0.003,
			started: minutes(float64(clusterStart.Unix()-300), -5, 121),
		},
		{
			name:    "not seen for a while, runs again before its usage is seen, nobody says when it started",
			series:  map[string]*timeline.Points{"a": join(counterFrom(-1e6, -290, 3000, 0.5), counterFrom(-1e6, 4200, 7200, 0.5))},
			running: join(minutes(1, -5, 51), minutes(0, 51, 69), minutes(1, 69, 121)),
			started: &timeline.Points{},
			want:    0.5 * (3000 + 3060) / 3600, slack: 0.01,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.running == nil {
				tt.running = minutes(1, -5, 121)
			}
			if tt.started == nil {
				tt.started = join(minutes(float64(clusterStart.Unix()-300), -5, 60), minutes(float64(clusterStart.Unix()+3610), 61, 121))
			}
			in := usageOf(t, tt.series, tt.running, tt.started, false)
			if math.Abs(in-tt.want) > tt.slack*tt.want {
				t.Errorf("%v core-hours used, want %v", in, tt.want)
			}
			if bySource := usageOf(t, tt.series, tt.running, tt.started, true); bySource != in {
				t.Errorf("%v core-hours used where the source tells series apart itself, %v where their key does", bySource, in)
			}
		})
	}
}

// usageOf is the core-hours that a container used, by its series. bySource says that the source identifies the series, and their keys
// have no cgroup.
func usageOf(t *testing.T, series map[string]*timeline.Points, running, started *timeline.Points, bySource bool) float64 {
	t.Helper()
	q := allocation.Query{Window: allocation.Window{Start: clusterStart, End: clusterStart.Add(2 * time.Hour)}, Resolution: time.Minute}
	b, err := build.NewBuilder(t.Context(), q, 30*time.Second, flat{cpu: 1}, symbols, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := feed{t: t, b: b}
	f.add(signals.Series{Signal: signals.ContainerRunning}, "c/ns/p/uid/main/", running)
	f.add(signals.Series{Signal: signals.ContainerStarted}, "c/ns/p/uid/main", started)
	if err := b.Resolve(); err != nil {
		t.Fatal(err)
	}
	use := signals.Series{Signal: signals.ContainerUse, Unmarked: true}
	for _, id := range []string{"", "-", "a", "b", "z"} {
		if p := series[id]; p != nil {
			id = strings.Trim(id, "-")
			if p.SetSeries(0); bySource {
				p.SetSeries(timeline.SeriesID(id))
				id = ""
			}
			f.add(use, "c/ns/p/uid/main//"+id, p)
		}
	}
	if again, err := b.Finalize(); err != nil || len(again) > 0 {
		t.Fatalf("Finalize: %v, %v", again, err)
	}
	sets, err := b.Sets()
	if err != nil {
		t.Fatal(err)
	}
	return sets[0].Value(allocation.UsageHours.Of(allocation.CPU), 0)
}

// TestUnknownUsage counts the time and the requests with unknown usage. Usage that was seen before in the same run is held; usage that
// was never seen is unknown.
func TestUnknownUsage(t *testing.T) {
	const key = "c/ns/p/uid/main//"
	for _, exact := range []bool{false, true} {
		for _, tt := range []struct {
			name         string
			usage        *timeline.Points // of memory
			ram, cpu     float64          // seconds
			cpuRequested float64          // core-hours
		}{
			{"seen all the time", minutes(1<<30, 1, 121), 0, 7200, 2},
			{"not seen any more after half of it", minutes(1<<30, 1, 61), 0, 7200, 2},
			{"not seen before half of it", minutes(1<<30, 61, 121), 3600 - 60, 7200, 2},
			{"never seen", nil, 7200, 7200, 2},
		} {
			t.Run(tt.name, func(t *testing.T) {
				usage := map[string]*timeline.Points{}
				if tt.usage != nil {
					usage[key] = tt.usage
				}
				set := buildCase(t, exact, nil, caseSignals(), usage)
				for c, want := range map[allocation.Column]float64{
					allocation.UnknownSeconds.Of(allocation.RAM):      tt.ram,
					allocation.UnknownRequestHours.Of(allocation.RAM): 0, // none is requested
					allocation.UnknownSeconds.Of(allocation.CPU):      tt.cpu,
					allocation.UnknownRequestHours.Of(allocation.CPU): tt.cpuRequested,
					allocation.UnknownSeconds.Of(allocation.GPU):      0, // it has none
				} {
					if got := set.Value(c, 0); math.Abs(got-want) > 61*min(1, want) {
						t.Errorf("exact %t: %s is %v, want %v", exact, c, got, want)
					}
				}
				if known := fields.UsageKnown(set, allocation.RAM, 0); known != (tt.usage != nil) || fields.UsageKnown(set, allocation.CPU, 0) {
					t.Errorf("exact %t: usage of memory is known: %t, of CPU: %t", exact, known, fields.UsageKnown(set, allocation.CPU, 0))
				}
			})
		}
	}
}
