package promquery_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/democluster"
)

// bucketError is how far what stands for a bucket is from what is in it: half a bucket.
const bucketError = 0.0443

// used is what a container uses of a resource in a stretch of time.
func used(x *democluster.UsedTruth, r allocation.Resource) float64 {
	if r == allocation.CPU {
		return x.Cores
	}
	return x.Bytes
}

// trueQuantile is a quantile of what a container used.
func trueQuantile(all []democluster.UsedTruth, r allocation.Resource, q float64) float64 {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b democluster.UsedTruth) int { return cmp.Compare(used(&a, r), used(&b, r)) })
	var total, sum time.Duration
	for i := range all {
		total += all[i].Length
	}
	for i := range all {
		if sum += all[i].Length; float64(sum) >= q*float64(total) {
			return used(&all[i], r)
		}
	}
	return used(&all[len(all)-1], r)
}

// TestTrueLevels compares quantiles of usage with those of the functions that the demo uses CPU and memory by. A scrape interval and the time of one scrape may be at another
// level at each change, so quantiles are looked for as far beside. What a request would be allocated by levels, scaled to the exact usage, is within 2.5 % of the integral of
// max(request, usage).
func TestTrueLevels(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-8 * time.Hour), End: c.End()}
	set := compute(t, db, allocation.Query{Window: w, Only: withLevels()})[0]
	rows := map[[2]string]int{}
	for row := range set.Len() {
		rows[[2]string{set.Text(allocation.PodUID, row), set.Text(allocation.Container, row)}] = row
	}
	compared := 0
	truth := c.Truth(w.Start, w.End)
	for i := range truth.Containers {
		x := &truth.Containers[i]
		row, ok := rows[[2]string{x.UID, x.Container}]
		if !ok || x.RunningSeconds < 3600 || x.Init {
			continue
		}
		for _, r := range allocation.LevelResources {
			levels := set.Levels(r, row)
			beside := float64(len(x.Used)+x.Restarts+2) * 75 / x.RunningSeconds
			for _, q := range []float64{0.25, 0.5, 0.9, 0.95} {
				got := allocation.Quantile(levels, q)
				low, high := trueQuantile(x.Used, r, max(0, q-beside)), trueQuantile(x.Used, r, min(1, q+beside))
				if got < low*(1-bucketError) || got > high*(1+bucketError) {
					t.Errorf("%s/%s: quantile %v of %s is %v, want %v to %v", x.Pod, x.Container, q, r, got, low, high)
				}
				compared++
			}
			for _, request := range []float64{0.5, 1, 1.5} {
				request *= trueQuantile(x.Used, r, 0.5)
				want, got, time, mean := 0.0, 0.0, 0.0, 0.0
				for _, l := range levels {
					mean += float64(l.Millis) / 3600e3 * l.Bucket.Middle()
				}
				exact := set.Value(allocation.UsageHours.Of(r), row) / mean
				for k := range x.Used {
					want += x.Used[k].Length.Hours() * max(request, used(&x.Used[k], r))
				}
				for _, l := range levels {
					hours := float64(l.Millis) / 3600e3
					got, time = got+hours*max(request, l.Bucket.Middle()*exact), time+hours
				}
				if want *= time * 3600 / x.RunningSeconds; math.Abs(got/want-1) > 0.025 { // of usage that stays in one bucket, all of it is off by half of one
					t.Errorf("%s/%s: a request of %v of %s is allocated %v, want %v", x.Pod, x.Container, request, r, got, want)
				}
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d quantiles were compared", compared)
	}
}
