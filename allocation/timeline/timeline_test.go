package timeline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/timeline"
)

// TestBounds regenerates the table of the Kubecost Allocation API.
func TestBounds(t *testing.T) {
	durations := []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	for _, row := range []struct {
		r    time.Duration
		want [5][2]float64
	}{
		{time.Minute, [5][2]float64{{-1, 2}, {.80, 1}, {.98, 1}, {1, 1}, {1, 1}}},
		{2 * time.Minute, [5][2]float64{{-1, 4}, {.80, 1.20}, {.97, 1}, {1, 1}, {1, 1}}},
		{5 * time.Minute, [5][2]float64{{-1, 10}, {-1, 1}, {.92, 1}, {1, 1}, {1, 1}}},
		{10 * time.Minute, [5][2]float64{{-1, 20}, {-1, 2}, {.83, 1}, {.99, 1}, {1, 1}}},
		{30 * time.Minute, [5][2]float64{{-1, 60}, {-1, 6}, {.50, 1}, {.98, 1}, {1, 1}}},
		{time.Hour, [5][2]float64{{-1, 120}, {-1, 12}, {-1, 1}, {.96, 1}, {.99, 1}}},
	} {
		for i, d := range durations {
			lower, upper := timeline.Bounds(d, row.r)
			if lower != row.want[i][0] || upper != row.want[i][1] {
				t.Errorf("Bounds(%s, %s) = %v, %v, want %v", d, row.r, lower, upper, row.want[i])
			}
		}
	}
	if lower, upper := timeline.Bounds(0, time.Minute); !math.IsNaN(lower) || !math.IsNaN(upper) {
		t.Errorf("Bounds(0, 1m) = %v, %v, want NaN", lower, upper)
	}
}

// TestSimulation counts pods of known duration at random phases on a grid: all stay inside the documented bounds, and the
// mean is the true duration.
func TestSimulation(t *testing.T) {
	const seed, pods = 7, 1000
	rng := rand.New(rand.NewPCG(seed, 0))
	minute := int64(60_000)
	for _, r := range []int64{1, 2, 5, 10, 30, 60} {
		for _, d := range []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
			s := timeline.Sampling{Start: 0, End: 9 * 24 * 60 * minute, Step: r * minute, Lookback: timeline.Lookback, Interval: 15_000}
			lower, upper := timeline.Bounds(d, time.Duration(r)*time.Minute)
			sum := 0.0
			for range pods {
				from := 20*60*minute + rng.Int64N(60*minute)
				counted := countedTime(s, from, from+d.Milliseconds())
				sum += counted
				ratio := math.Floor(counted/float64(d.Milliseconds())*100+0.5) / 100
				if ratio < max(0, lower) || ratio > upper {
					t.Errorf("%s at %dm: counted %v of the truth, outside of %v and %v", d, r, ratio, lower, upper)
				}
			}
			mean := sum / pods / float64(d.Milliseconds())
			if tolerance := 6 * float64(r) * float64(time.Minute) / float64(d) / math.Sqrt(pods); math.Abs(mean-1) > tolerance+0.05 {
				t.Errorf("%s at %dm: counted %v of the truth on average", d, r, mean)
			}
		}
	}
}

// countedTime is how long a pod that ran from and to is counted; it is scraped every 15 s and gets a staleness marker. The
// first scrape after its start and its end are what the grid can see.
func countedTime(s timeline.Sampling, from, to int64) float64 {
	p := &timeline.Points{}
	first := (from + s.Interval - 1) / s.Interval * s.Interval
	n := (to - first + s.Interval - 1) / s.Interval
	p.AppendRun(first, s.Interval, int(n), 1)
	p.Append(first+n*s.Interval, stale)
	runs := s.Runs(&timeline.Presence{Seen: s.Sights(p)}, &timeline.Watch{})
	return float64(runs.Intervals().Length())
}

func TestPointsAppend(t *testing.T) {
	p := &timeline.Points{}
	p.Append(10, 1)
	p.Append(10, 2) // not later: ignored
	p.AppendRun(5, 5, 4, 3)
	ts, vs := p.Extend(2)
	copy(ts, []int64{30, 40})
	copy(vs, []float64{4, 5})
	p.AppendRun(50, 10, 0, 9)
	p.AppendRun(1, 0, 1, 9) // not later: ignored
	var got [][2]float64
	for at, v := range p.All() {
		got = append(got, [2]float64{float64(at), v})
	}
	want := [][2]float64{{10, 1}, {15, 3}, {20, 3}, {30, 4}, {40, 5}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p.Reset(); p.Len() != 0 || p.First() != 0 || p.Last() != 0 || p.Interval() != 0 {
		t.Error("reset leaves samples")
	}
}

const minute = 60_000

// line makes points of one value every interval in [from, to) minutes, and a staleness marker at to.
func line(v float64, from, to float64, interval int64) *timeline.Points {
	p := &timeline.Points{}
	at := int64(from * minute)
	for ; at < int64(to*minute); at += interval {
		p.Append(at, v)
	}
	p.Append(int64(to*minute), stale)
	return p
}

func steps(v ...float64) (s timeline.Steps) {
	for i := 0; i+2 < len(v); i += 3 {
		s = append(s, timeline.Step{From: int64(v[i] * minute), To: int64(v[i+1] * minute), V: v[i+2]})
	}
	return s
}

func intervals(v ...float64) (s timeline.Intervals) {
	for i := 0; i+1 < len(v); i += 2 {
		s = append(s, timeline.Interval{From: int64(v[i] * minute), To: int64(v[i+1] * minute)})
	}
	return s
}

func TestExactSteps(t *testing.T) {
	s := timeline.Sampling{Start: 0, End: 120 * minute, Lookback: timeline.Lookback, Interval: 30_000}
	p := line(1, 1, 10, 30_000)
	p.Append(20*minute, 2)
	p.Append(20*minute+30_000, 2)
	p.Append(40*minute, math.Inf(1))
	want := steps(1, 10, 1, 20, 21, 2)
	if d := cmp.Diff(want, s.Steps(p)); d != "" {
		t.Error(d)
	}
}

// TestGapsWithoutMarkers checks how long a sample is seen on the grid that no sample follows for a while.
func TestGapsWithoutMarkers(t *testing.T) {
	every := func(from, to, distance float64) *timeline.Points {
		p := &timeline.Points{}
		for at := from; at < to; at += distance {
			p.Append(int64(at*minute), 1)
		}
		return p
	}
	for _, tt := range []struct {
		name string
		p    *timeline.Points
		want timeline.Steps
	}{
		{"a marker", concat(line(1, 1, 10, minute), every(30, 40, 1)), steps(0, 9, 1, 29, 40, 1)},
		{"none: two scrape intervals", concat(every(1, 10, 1), every(30, 40, 1)), steps(0, 10, 1, 29, 40, 1)},
		{"none, for less than the lookback", concat(every(1, 10, 1), every(13, 20, 1)), steps(0, 10, 1, 12, 20, 1)},
		{"a marker that is not of the next scrape", concat(every(1, 10, 1), line(1, 13, 13, minute), every(30, 40, 1)), steps(0, 10, 1, 29, 40, 1)},
		{"a scrape missed", concat(every(1, 10, 1), every(11, 20, 1)), steps(0, 20, 1)},
		{"scraped more rarely than others", every(2, 40, 2), steps(1, 41, 1)},
		{"hardly seen", concat(every(1, 2, 1), every(6, 8, 1)), steps(0, 2, 1, 5, 8, 1)},
		{"ever more rarely", concat(every(1, 10, 1), every(12, 20, 4)), steps(0, 10, 1, 11, 13, 1, 15, 17, 1)},
	} {
		s := timeline.Sampling{Start: 0, End: 60 * minute, Step: minute, Lookback: timeline.Lookback, Interval: minute}
		if d := cmp.Diff(tt.want, s.Steps(tt.p)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// concat puts samples one after the other.
func concat(parts ...*timeline.Points) *timeline.Points {
	out := &timeline.Points{}
	for _, p := range parts {
		for at, v := range p.All() {
			out.Append(at, v)
		}
	}
	return out
}

func TestCells(t *testing.T) {
	grid := timeline.Sampling{Start: 0, End: 10 * minute, Step: minute, Lookback: timeline.Lookback, Interval: minute}
	exact := grid
	exact.Step = 0
	reset := &timeline.Points{}
	for i, v := range []float64{100, 160, 20, 80} {
		reset.Append(int64(i+1)*minute, v)
	}
	reset.Append(5*minute, stale)
	for _, tt := range []struct {
		name string
		got  []timeline.Cell
		want []timeline.Cell
	}{
		{"grid counter", grid.Counter(nil, reset), []timeline.Cell{{From: timeline.Unborn, To: minute, Amount: 100}, {From: minute, To: 2 * minute, Amount: 60}, {From: 2 * minute, To: 3 * minute, Amount: 20}, {From: 3 * minute, To: 4 * minute, Amount: 60}}},
		{"exact counter", exact.Counter(nil, reset), []timeline.Cell{{From: timeline.Unborn, To: minute, Amount: 100}, {From: minute, To: 2 * minute, Amount: 60}, {From: 2 * minute, To: 3 * minute, Amount: 20}, {From: 3 * minute, To: 4 * minute, Amount: 60}}},
		{"grid gauge", grid.Gauge(nil, reset), []timeline.Cell{{From: 0, To: minute, Amount: 6000}, {From: minute, To: 2 * minute, Amount: 9600}, {From: 2 * minute, To: 3 * minute, Amount: 1200}, {From: 3 * minute, To: 4 * minute, Amount: 4800}}},
		{"exact gauge", exact.Gauge(nil, reset), []timeline.Cell{{From: 0, To: minute, Amount: 6000}, {From: minute, To: 2 * minute, Amount: 9600}, {From: 2 * minute, To: 3 * minute, Amount: 1200}, {From: 3 * minute, To: 4 * minute, Amount: 4800}}},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestStepsArithmetic(t *testing.T) {
	a, b := steps(0, 10, 1, 20, 30, 5), steps(5, 25, 3)
	for _, tt := range []struct {
		name      string
		got, want timeline.Steps
	}{
		{"overlay", timeline.Overlay(a, b), steps(0, 10, 1, 10, 20, 3, 20, 30, 5)},
		{"overlay nothing", timeline.Overlay(nil, b), b},
		{"overlay by nothing", timeline.Overlay(a, nil), a},
		{"max", timeline.Max(a, b), steps(0, 5, 1, 5, 20, 3, 20, 30, 5)},
		{"max of later ones", timeline.Max(steps(0, 5, 1), steps(5, 9, 1)), steps(0, 9, 1)},
		{"reach over gaps that are not too long", steps(0, 5, 1, 8, 10, 1, 20, 30, 5).Reach(5 * minute), steps(-5, 15, 1, 15, 35, 5)},
		{"reach into gaps that are too long", steps(0, 5, 1, 20, 30, 5).Reach(5 * minute), steps(-5, 10, 1, 15, 35, 5)},
		{"reach over a gap that ends late", steps(0, 5, 1, 13, 30, 5).Reach(5 * minute), steps(-5, 10, 1, 10, 35, 5)},
		{"mask", timeline.Mask(timeline.Intervals{{From: 1 * minute, To: 2 * minute}, {From: 4 * minute, To: 5 * minute}}), steps(1, 2, 1, 4, 5, 1)},
		{"within", timeline.Within(a, steps(5, 15, 1, 15, 25, 0)), steps(5, 10, 1)},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	for _, tt := range []struct {
		at float64
		v  float64
		ok bool
	}{{-1, 0, false}, {0, 0, false}, {0.5, 1, true}, {10, 1, true}, {15, 0, false}, {20.5, 5, true}, {31, 0, false}} {
		v, ok := a.At(int64(tt.at * minute))
		if value := a.Value(int64(tt.at * minute)); v != tt.v || ok != tt.ok || value != tt.v {
			t.Errorf("at %v: %v %v, value %v; want %v %v", tt.at, v, ok, value, tt.v, tt.ok)
		}
	}
	for _, tt := range []struct {
		from, to int64
		want     bool
	}{{1, 1, true}, {1, 10, true}, {21, 29, true}, {9, 11, false}, {1, 21, false}, {30, 31, false}} {
		if got := a.Cover(timeline.Intervals{{From: tt.from * minute, To: tt.to * minute}}); got != tt.want {
			t.Errorf("cover %d to %d: %t", tt.from, tt.to, got)
		}
	}
}

func TestIntervals(t *testing.T) {
	u := timeline.Union(intervals(5, 9, 0, 2, 1, 3, 9, 10))
	if d := cmp.Diff(intervals(0, 3, 5, 10), u); d != "" {
		t.Errorf("union: %s", d)
	}
	if d := cmp.Diff(intervals(-1, 0, 3, 5, 10, 11), timeline.Complement(u, -minute, 11*minute)); d != "" {
		t.Errorf("complement: %s", d)
	}
	if d := cmp.Diff(intervals(0, 4, 20, 30), intervals(20, 21, 0, 1, 3, 4, 25, 30).Gathered(minute, 2)); d != "" {
		t.Errorf("gathered: %s", d)
	}
	if d := cmp.Diff(intervals(2, 3, 5, 6), u.Clip(2*minute, 6*minute)); d != "" {
		t.Errorf("clip: %s", d)
	}
	if u.Length() != 8*minute {
		t.Errorf("length %d", u.Length())
	}
}

// TestStretches checks that a series that comes in stretches is sampled like a series that comes whole.
func TestStretches(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	s := timeline.Sampling{Start: 0, End: 6 * 60 * minute, Step: minute, Lookback: timeline.Lookback, Interval: 30_000}
	for i := range 100 {
		ts, vs := randomSeries(rng, 0, s.End, 30_000)
		if len(ts) < 3 {
			continue
		}
		cut, how := 1+rng.IntN(len(ts)-2), layout(i%3)
		first, second := points(ts[:cut], vs[:cut], how), points(ts[cut:], vs[cut:], how)
		first.MarkContinued()
		whole, parts := s.Steps(points(ts, vs, how)), timeline.Max(s.Steps(first), s.Steps(second))
		// A sample may be held from one stretch into the next: only there may hits be missing.
		for at := s.Start + minute; at <= s.End; at += minute {
			w, okW := whole.At(at)
			g, okG := parts.At(at)
			held := at > ts[cut-1] && at < ts[cut]
			if !held && (okW != okG || w != g) {
				t.Fatalf("series %d cut at %d: at %d got %v %v, want %v %v", i, ts[cut], at, g, okG, w, okW)
			}
		}
	}
}

func TestCut(t *testing.T) {
	p := &timeline.Points{}
	p.Append(1, 1)
	ts, vs := p.Extend(3)
	copy(ts, []int64{2, 3, 4})
	copy(vs, []float64{2, 3, 4})
	p.Cut(2)
	if p.Len() != 2 || p.Last() != 2 {
		t.Errorf("%d samples up to %d, want 2 up to 2", p.Len(), p.Last())
	}
}

func TestJoined(t *testing.T) {
	all := timeline.Intervals{{0, 10}, {20, 30}, {31, 40}, {60, 70}, {71, 80}}
	for most, want := range map[int]timeline.Intervals{
		9: all,
		5: all,
		3: {{0, 10}, {20, 40}, {60, 80}},
		2: {{0, 40}, {60, 80}},
		1: {{0, 80}},
	} {
		if got := all.Joined(most); !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, want %v", most, got, want)
		}
	}
}
