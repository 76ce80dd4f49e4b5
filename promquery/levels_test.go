package promquery_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/passes"
)

// withLevels is a projection of everything, with levels of usage.
func withLevels() *allocation.Projection {
	all := allocation.Everything()
	all.WithoutAssets, all.Levels = false, true
	return all
}

// TestLevels computes levels of usage: they cover the time in which usage is known, their mean is that of the usage, and they are the same however the window
// is divided into sets. Nothing else changes by them.
func TestLevels(t *testing.T) {
	c, db := demoBlocks(t)
	for _, resolution := range grids() {
		q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-6 * time.Hour), End: c.End()}, Resolution: resolution}
		plain := compute(t, db, q)[0]
		q.Only = withLevels()
		whole := compute(t, db, q)[0]
		if err := passes.Check(whole); err != nil {
			t.Fatal(err)
		}
		if plain.HasLevels() {
			t.Error("levels were computed though nobody asked for them")
		}
		rows := 0
		for row := range whole.Len() {
			for _, r := range allocation.LevelResources {
				if plain.Value(allocation.UsageHours.Of(r), row) != whole.Value(allocation.UsageHours.Of(r), row) {
					t.Fatalf("row %d: usage of %s is %v with levels, and %v without", row, r, whole.Value(allocation.UsageHours.Of(r), row), plain.Value(allocation.UsageHours.Of(r), row))
				}
				low, high, known := 0.0, 0.0, whole.Value(allocation.RunningSeconds, row)-whole.Value(allocation.UnknownSeconds.Of(r), row)
				for _, l := range whole.Levels(r, row) {
					hours := float64(l.Millis) / 3600e3
					known -= hours * 3600
					low, high = low+hours*l.Bucket.Upper()/math.Exp2(0.125), high+hours*l.Bucket.Upper()
				}
				if used := whole.Value(allocation.UsageHours.Of(r), row); used < low*(1-1e-6) || used > high*(1+1e-6) {
					t.Errorf("%s: usage of %s is %v, by levels from %v to %v", whole.Name(row), r, used, low, high)
				}
				if math.Abs(known) > 1e-6 {
					t.Errorf("%s: %v s with known usage of %s have no level", whole.Name(row), known, r)
				}
				if high > 0 {
					rows++
				}
			}
		}
		if rows < 100 {
			t.Errorf("only %d rows and resources have levels", rows)
		}
		q.Step = time.Hour
		joined, err := passes.Merge(q.Window, compute(t, db, q))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(levelsByName(whole), levelsByName(joined)); diff != "" {
			t.Errorf("at %s, six hours differ from their sum (-whole +sum):\n%s", resolution, diff)
		}
	}
}

// levelsByName are the levels of the rows that have any.
func levelsByName(s *allocation.Set) map[string][2][]allocation.Level {
	out := map[string][2][]allocation.Level{}
	for row := range s.Len() {
		if cpu, ram := s.Levels(allocation.CPU, row), s.Levels(allocation.RAM, row); len(cpu)+len(ram) > 0 {
			out[s.Name(row)+"/"+s.Text(allocation.PodUID, row)] = [2][]allocation.Level{cpu, ram}
		}
	}
	return out
}
