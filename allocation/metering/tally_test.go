package metering_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// capped is a metering of one subject with a limit of series.
func capped(t testing.TB, subject string, most int, labels ...string) *metering.Metering {
	t.Helper()
	m, err := metering.New(metering.Options{Enabled: []string{subject}, MaxSeries: most, LabelNames: labels})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// churn are the hours of a month in which namespaces of clusters come, go and come back, some at no cost.
func churn(rng *rand.Rand, hours, namespaces int) []*allocation.Set {
	sets := make([]*allocation.Set, hours)
	awake := make([]int, namespaces) // until which hour
	for h := range sets {
		start := time.Date(2026, 3, 1, h, 0, 0, 0, time.UTC)
		sets[h] = allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
		for n := range namespaces {
			if awake[n] < h-40 && rng.IntN(20) == 0 {
				awake[n] = h + rng.IntN(60)
			}
			if awake[n] < h {
				continue
			}
			cost := float64(rng.IntN(5) * (1 + n%7)) // whole numbers: their sums are exact
			values := map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): cost}
			if h > hours/2 && n%3 == 0 { // a further resource, that takes further series
				values[allocation.PVCost] = 1
			}
			sets[h].Append(familyRow(fmt.Sprint("c", n%3), fmt.Sprint("ns", n), "", "", values))
		}
	}
	return sets
}

// seriesOf are the values of families of one type, by labels.
func seriesOf(s *metering.Subject, kind metering.Type, totals *metering.Totals) map[string]float64 {
	series := map[string]float64{}
	for _, f := range familiesOf(s, kind) {
		f.Emit(totals, func(_ int, labels []string, v float64) { series[f.Name+"{"+strings.Join(labels, ",")+"}"] = v })
	}
	return series
}

// createdOf are when counters began, by their subject's labels.
func createdOf(totals *metering.Totals) map[string]time.Time {
	at := map[string]time.Time{}
	for i := range totals.Len() {
		at[strings.Join(totals.Labels(i), ",")] = totals.Created(i)
	}
	return at
}

// TestMembership holds the laws of __other__ over months of random churn, beneath and above the cap.
func TestMembership(t *testing.T) {
	for _, most := range []int{100, 200, 100_000} {
		for _, subject := range []string{"namespace", "pod"} {
			t.Run(fmt.Sprint(subject, most), func(t *testing.T) {
				seed := randomSeed()
				t.Logf("seed %d", seed)
				m := capped(t, subject, most)
				s := &m.Subjects()[0]
				l := &membershipLaws{subject: s, most: most, before: metering.NewAccrued(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), m)}
				hours := churn(rand.New(rand.NewPCG(seed, 1)), 300, 120)
				for _, hour := range hours {
					l.add(t, hour)
				}
				if l.before.Capped(s) != (most < 1000) {
					t.Errorf("capped: %v", l.before.Capped(s))
				}
				again := metering.NewAccrued(l.before.Window.Start, m).Add(hours[:77]...).Add(hours[77:]...)
				if diff := cmp.Diff(seriesOf(s, metering.Counter, l.before.Totals(s)), seriesOf(s, metering.Counter, again.Totals(s))); diff != "" {
					t.Errorf("who counts the same hours again gets something else:\n%s", diff)
				}
			})
		}
	}
}

// membershipLaws are held hour by hour.
type membershipLaws struct {
	subject *metering.Subject
	most    int
	before  *metering.Accrued
}

func (l *membershipLaws) add(t *testing.T, hour *allocation.Set) {
	t.Helper()
	s := l.subject
	now := l.before.Add(hour)
	whole := s.Totals(hour)
	gauges, _ := now.Fold(s, whole)
	was, is := seriesOf(s, metering.Counter, l.before.Totals(s)), seriesOf(s, metering.Counter, now.Totals(s))
	hourly := seriesOf(s, metering.Gauge, gauges)
	if n := len(is) + len(hourly); n > l.most {
		t.Fatalf("%s: %d series, at most %d are allowed", hour.Window.Start, n, l.most)
	}
	began, begins := createdOf(l.before.Totals(s)), createdOf(now.Totals(s))
	gained, cost := 0.0, 0.0
	for name, v := range is {
		old, ok := was[name]
		labels := name[strings.IndexByte(name, '{')+1 : strings.LastIndexByte(name, ',')]
		if ok && !begins[labels].Equal(began[labels]) {
			ok, old = false, 0 // it lost its place and has it again
		}
		if v < old || !ok && strings.Contains(name, allocation.OtherName) && begins[labels].Equal(time.Time{}) {
			t.Fatalf("%s: %s falls from %v to %v", hour.Window.Start, name, old, v)
		}
		if gauge := strings.Replace(name, "_cost_total", "_hourly_cost", 1); math.Abs(v-old-hourly[gauge]) > 1e-9 {
			t.Fatalf("%s: %s gains %v, its gauge is %v", hour.Window.Start, name, v-old, hourly[gauge])
		}
		gained += v - old
	}
	for i := range whole.Len() {
		cost += whole.Cost(i)
	}
	if gained != cost {
		t.Fatalf("%s: counters gain %v of %v", hour.Window.Start, gained, cost)
	}
	for name := range was {
		if _, ok := is[name]; !ok && (!l.before.Capped(s) && !now.Capped(s) || strings.Contains(name, allocation.OtherName)) {
			t.Fatalf("%s: %s is gone", hour.Window.Start, name)
		}
	}
	l.before = now
}

// monthStart is when the months of these tests begin.
func monthStart() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

// podHour is an hour of pods that cost as much as costs say.
func podHour(h int, costs map[string]float64) *allocation.Set {
	start := monthStart().Add(time.Duration(h) * time.Hour)
	set := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range costs {
			if !yield(name) {
				return
			}
		}
	}) {
		row := familyRow("c", "ns", "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): costs[name]})
		row.Text[allocation.Pod] = name
		set.Append(row)
	}
	return set
}

// TestPlacesAreKept follows one pod through a month that is full.
func TestPlacesAreKept(t *testing.T) {
	m := capped(t, "pod", 100)
	s := &m.Subjects()[0]
	a := metering.NewAccrued(monthStart(), m)
	many := map[string]float64{"one": 50}
	for i := range 40 {
		many[fmt.Sprintf("p%02d", i)] = float64(100 + i)
	}
	counter := func(a *metering.Accrued, pod string) (float64, bool) {
		v, ok := seriesOf(s, metering.Counter, a.Totals(s))["promcost_pod_cost_total{c,ns,__unallocated__,__unallocated__,__unallocated__,"+pod+",cpu}"]
		return v, ok
	}
	a = a.Add(podHour(0, map[string]float64{"one": 1})) // it was there before it became full
	for h := 1; h < 5; h++ {
		a = a.Add(podHour(h, many))
	}
	if v, ok := counter(a, "one"); !ok || v != 201 {
		t.Errorf("the cheapest of all, which came first, has %v %v", v, ok)
	}
	if _, ok := counter(a, "p00"); ok {
		t.Error("the cheapest newcomer has a place")
	}
	delete(many, "one")
	for h := 5; h < 28; h++ {
		a = a.Add(podHour(h, many))
	}
	if v, ok := counter(a, "one"); !ok || v != 201 {
		t.Errorf("after 23 hours without cost it has %v %v", v, ok)
	}
	a = a.Add(podHour(28, many), podHour(29, many))
	if _, ok := counter(a, "one"); ok {
		t.Error("after a day without cost it still has its place")
	}
	for name := range many { // room for it
		if name > "p05" {
			delete(many, name)
		}
	}
	for h := 30; h < 60; h++ {
		a = a.Add(podHour(h, many))
	}
	many["one"] = 7
	a = a.Add(podHour(60, many))
	if v, ok := counter(a, "one"); !ok || v != 7 {
		t.Errorf("when it comes back it has %v %v, want what it has cost since", v, ok)
	}
	for i := range a.Totals(s).Len() {
		if labels := a.Totals(s).Labels(i); labels[5] == "one" && !a.Totals(s).Created(i).Equal(monthStart().Add(60*time.Hour)) {
			t.Errorf("its counter began at %s", a.Totals(s).Created(i))
		}
	}
}

// TestFoldMakesRatiosFromSums folds all pods but one.
func TestFoldMakesRatiosFromSums(t *testing.T) {
	m := capped(t, "namespace", 100)
	s := &m.Subjects()[0]
	set := newFamilySet()
	usage, request, cost := allocation.UsageHours.Of(allocation.CPU), allocation.RequestHours.Of(allocation.CPU), allocation.Cost.Of(allocation.CPU)
	for i := range 100 {
		set.Append(familyRow("c", fmt.Sprintf("n%02d", i), "", "", map[allocation.Column]float64{usage: 1, request: 4, cost: float64(100 - i)}))
	}
	a := metering.NewAccrued(set.Window.Start, m).Add(set)
	folded, dropped := a.Fold(s, s.Totals(set))
	lines := familyLines(s, folded)
	if want := "namespace_efficiency_ratio{c,__other__,cpu} 0.25"; !slices.Contains(lines, want) || dropped == 0 {
		t.Errorf("%d series were dropped, and %q has no %q", dropped, lines, want)
	}
}

// TestCardinalityBomb counts a million values of a label, and has to do with little memory.
func TestCardinalityBomb(t *testing.T) {
	hours, perHour := soak.Of(10, 50), soak.Of(6_000, 20_000)
	m := capped(t, "label", 5000, "request_id")
	s := &m.Subjects()[0]
	a := metering.NewAccrued(monthStart(), m)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for h := range hours {
		start := monthStart().Add(time.Duration(h) * time.Hour)
		set := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
		for i := range perHour {
			row := familyRow("c", "ns", "", "", map[allocation.Column]float64{allocation.Cost.Of(allocation.CPU): 1})
			row.Labels = map[string]string{"request_id": fmt.Sprintf("%d-%d", h, i)}
			set.Append(row)
		}
		a = a.Add(set)
		gauges, dropped := a.Fold(s, s.Totals(set))
		if n := len(seriesOf(s, metering.Gauge, gauges)) + len(seriesOf(s, metering.Counter, a.Totals(s))); n > 5000 || dropped == 0 {
			t.Fatalf("hour %d: %d series, %d dropped", h, n, dropped)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); soak.On() && grown > 16<<20 {
		t.Errorf("%d MB are held", grown>>20)
	}
	runtime.KeepAlive(a)
}
