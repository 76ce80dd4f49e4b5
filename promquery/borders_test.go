package promquery_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
	"github.com/promcost/promcost/promquery/remote"
)

// down is an outage: a job that was not scraped, or all of them. Where the target is down Prometheus writes a staleness
// marker, where it is down itself, none.
type down struct {
	from, to time.Time
	job      string // "" for all
	marked   bool
}

func (d down) String() string {
	return fmt.Sprintf("%s to %s job=%q marked=%t", d.from.Format("15:04:05"), d.to.Format("15:04:05"), d.job, d.marked)
}

// seriesOf are all series of the blocks of dir.
func seriesOf(t *testing.T, dir string) (list []promtest.Series) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "wal"), 0o777); err != nil { // which is wanted, if empty
		t.Fatal(err)
	}
	db, err := tsdb.OpenDBReadOnly(dir, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	q, err := db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchNotEqual, "__name__", "")); set.Next(); {
		list = append(list, readAll(set.At()))
	}
	return list
}

func readAll(s storage.Series) (out promtest.Series) {
	s.Labels().Range(func(l labels.Label) { out.Labels = append(out.Labels, l.Name, l.Value) })
	for it := s.Iterator(nil); it.Next() == chunkenc.ValFloat; {
		at, v := it.At()
		out.Samples = append(out.Samples, promtest.Sample{T: at, V: v})
	}
	return out
}

// interrupted is series without what was not scraped in an outage.
func interrupted(list []promtest.Series, d down) []promtest.Series {
	from, to := d.from.UnixMilli(), d.to.UnixMilli()
	out := make([]promtest.Series, len(list))
	for i, s := range list {
		if out[i] = s; d.job != "" && !slices.Contains(s.Labels, d.job) {
			continue
		}
		out[i].Samples = nil
		for k, x := range s.Samples {
			switch {
			case x.T < from || x.T >= to:
				out[i].Samples = append(out[i].Samples, x)
			case d.marked && k > 0 && s.Samples[k-1].T < from:
				out[i].Samples = append(out[i].Samples, promtest.Stale(x.T))
			}
		}
	}
	return out
}

// outageAt is an outage of at most 50 minutes that is over at most four minutes after border, for so far an hour is looked
// beyond its end.
func outageAt(r *rand.Rand, border time.Time) down {
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
	d := down{from: border.Add(-seconds(50 * 60)), job: []string{"", "kube-state-metrics"}[r.IntN(2)], marked: r.IntN(2) == 0}
	d.to = border.Add(seconds(8*60) - 4*time.Minute)
	if d.to.Before(d.from) {
		d.from, d.to = d.to, d.from
	}
	return d
}

// TestOutagesAtBorders compares the costs of a window with the sum of its hours computed one by one, and stored hours with the
// same hours computed later, if there are no samples around the end of an hour.
func TestOutagesAtBorders(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	original := seriesOf(t, dir)
	for seed := range soak.Of[uint64](1, 3) {
		r := rand.New(rand.NewPCG(seed, 1))
		border := c.Start().Add(time.Duration(3+r.IntN(3)) * time.Hour)
		d := outageAt(r, border)
		broken := t.TempDir()
		promtest.WriteBlocks(t, broken, 2*time.Hour, interrupted(original, d)...)
		sources := map[string]promquery.Source{"blocks": openBlocks(t, broken)}
		if seed == 0 {
			sources["remote read"] = openRemote(t, broken, remote.ModeRemoteRead)
		}
		window := allocation.Window{Start: border.Add(-2 * time.Hour), End: border.Add(2 * time.Hour)}
		for name, src := range sources {
			for _, resolution := range grids() {
				t.Run(fmt.Sprintf("%d/%s/%s %s", seed, name, allocation.ResolutionText(resolution), d), func(t *testing.T) {
					now := func() time.Time { return c.End() }
					l := ledger.New(promquery.NewEngine(src, config), log.NewNopLogger(), ledger.Options{Now: now, Resolution: resolution, Grace: 10 * time.Minute})
					whole := only(t, l, allocation.Query{Window: window, Resolution: resolution})
					var hours []*allocation.Set
					for kept, err := range l.Hours(t.Context(), window, nil) {
						if err != nil {
							t.Fatal(err)
						}
						own := only(t, l, allocation.Query{Window: kept.Window, Resolution: resolution})
						compareSums(t, "the hour from "+kept.Window.Start.Format(time.TimeOnly), 1e-12, 1e-12, []*allocation.Set{own}, []*allocation.Set{kept})
						hours = append(hours, kept)
					}
					compareSums(t, "the window", 2e-4, 2e-3, []*allocation.Set{whole}, hours)
				})
			}
		}
	}
}

// only is the one set of a query.
func only(t *testing.T, l *ledger.Ledger, q allocation.Query) (set *allocation.Set) {
	t.Helper()
	for s, err := range l.Sets(t.Context(), q) {
		if err != nil || set != nil {
			t.Fatalf("not one set: %v", err)
		}
		set = s
	}
	return set
}

// compareSums compares the sums of sets. What a container used that came or went in a hole, and until when, is known best to
// a window that has both ends of the hole.
func compareSums(t *testing.T, what string, time, cost float64, got, want []*allocation.Set) {
	t.Helper()
	for col, most := range map[allocation.Column]float64{allocation.RunningSeconds: time, allocation.Cost.Of(allocation.CPU): cost, allocation.Cost.Of(allocation.RAM): cost} {
		var sums [2]float64
		for i, sets := range [][]*allocation.Set{got, want} {
			for _, s := range sets {
				sums[i] += sumOf(s, col)
			}
		}
		if math.Abs(sums[0]-sums[1]) > most*sums[1] || sums[1] == 0 {
			t.Errorf("%s: %s is %v, of the hours %v: %.1e", what, col, sums[0], sums[1], math.Abs(sums[0]-sums[1])/sums[1])
		}
	}
}
