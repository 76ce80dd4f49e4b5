package promquery_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/timeline"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/remote"
)

// bounds is a source that refuses what it is not to be asked for.
type bounds struct {
	promquery.Source
	t        *testing.T
	from, to int64 // half-open
}

func (b bounds) Select(ctx context.Context, sels []promquery.Request, stats *promquery.Stats) iter.Seq2[promquery.Series, error] {
	return promquery.Pushed(stats, func(yield promquery.Yield) (promquery.Stats, error) {
		for _, sel := range sels {
			if sel.Start > sel.End || sel.Start < b.from || sel.End >= b.to {
				b.t.Errorf("asked for %s from %d to %d, outside of %d and %d", sel.Metric, sel.Start, sel.End, b.from, b.to)
			}
		}
		return promtest.Select(ctx, b.Source, sels, yield)
	})
}

// at is a cut that does not move.
func at(t int64) func(context.Context) (promquery.Cover, error) {
	return func(context.Context) (promquery.Cover, error) { return promquery.Cover{Until: t}, nil }
}

// joinCuts are instants in the window at which two sources are joined, among them some around what happens at that time.
func joinCuts(t *testing.T, c *democluster.Cluster, w allocation.Window) map[string]int64 {
	t.Helper()
	cuts := map[string]int64{
		"on the hour": w.Start.Add(2 * time.Hour).UnixMilli(), "between two scrapes": w.Start.Add(2*time.Hour + 7*time.Minute + 11*time.Second + 3*time.Millisecond).UnixMilli(),
		"just after the start": w.Start.Add(time.Second).UnixMilli(), "just before the end": w.End.Add(-time.Second).UnixMilli(),
		"before the window": w.Start.Add(-2 * time.Hour).UnixMilli(), "after the window": w.End.Add(time.Hour).UnixMilli(),
	}
	truth, started, ended := c.Truth(w.Start, w.End), false, false
	for i := range truth.Containers {
		x := &truth.Containers[i]
		if !started && x.Start.After(w.Start.Add(time.Hour)) && x.Start.Before(w.End.Add(-time.Hour)) {
			started = true
			cuts["10s before a container starts"] = x.Start.Add(-10 * time.Second).UnixMilli()
			cuts["40s after a container starts"] = x.Start.Add(40 * time.Second).UnixMilli()
		}
		if !ended && x.End.After(w.Start.Add(time.Hour)) && x.End.Before(w.End.Add(-time.Hour)) {
			ended = true
			cuts["10s before a container ends"] = x.End.Add(-10 * time.Second).UnixMilli()
			cuts["10s after a container ends"] = x.End.Add(10 * time.Second).UnixMilli()
			cuts["2m after a container ends"] = x.End.Add(2 * time.Minute).UnixMilli()
		}
	}
	if !started || !ended {
		t.Fatal("no container starts and ends inside the window")
	}
	return cuts
}

// TestJoin computes over blocks up to a cut and a real Prometheus from there: as over the blocks alone, wherever the cut is.
func TestJoin(t *testing.T) {
	t.Parallel()
	c, dir := demoDir(t)
	db, url := openBlocks(t, dir), promtest.Start(t, dir, promtest.Config{})
	w := allocation.Window{Start: c.End().Add(-5 * time.Hour), End: c.End()}
	cuts := joinCuts(t, c, w)
	for _, mode := range []remote.Mode{remote.ModeRemoteRead, remote.ModeQuery} {
		server, err := remote.New(remote.Config{URL: url, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for _, resolution := range append(grids(), 7*time.Minute, time.Hour) {
			if mode == remote.ModeQuery && (resolution == 0 || resolution == time.Hour) {
				continue // it has no staleness markers, so its ends are a scrape interval late; and it sees few of the reported ends
			}
			q := allocation.Query{Window: w, Resolution: resolution, Step: 2 * time.Hour}
			want := compute(t, db, q)
			for name, cut := range cuts {
				t.Run(fmt.Sprintf("%s/%s/%s", mode, allocation.ResolutionText(resolution), name), func(t *testing.T) {
					const slack = 20 * int64(time.Minute/time.Millisecond)
					old := bounds{db, t, 0, cut}
					recent := bounds{server, t, cut - slack - resolution.Milliseconds(), c.End().Add(24 * time.Hour).UnixMilli()}
					got := compute(t, promquery.Join(old, recent, at(cut)), q)
					if len(got) != len(want) {
						t.Fatalf("%d sets, want %d", len(got), len(want))
					}
					for i := range want {
						compareSets(t, got[i], want[i], crashing(mode == remote.ModeQuery)...)
					}
				})
			}
		}
	}
}

// TestJoinFixesTheCutOnce asks for the instant once a computation, and for another one in the next.
func TestJoinFixesTheCutOnce(t *testing.T) {
	c, db := demoBlocks(t)
	w := allocation.Window{Start: c.End().Add(-2 * time.Hour), End: c.End()}
	asked := 0
	src := promquery.Join(db, db, func(context.Context) (promquery.Cover, error) {
		asked++
		return promquery.Cover{Until: w.Start.Add(time.Duration(asked) * 11 * time.Minute).UnixMilli()}, nil
	})
	for n := 1; n <= 2; n++ {
		sets := compute(t, src, allocation.Query{Window: w, Resolution: time.Minute})
		if asked != n {
			t.Errorf("asked %d times after %d computations", asked, n)
		}
		cut := w.Start.Add(time.Duration(n) * 11 * time.Minute)
		sources := sets[0].Reading.Sources
		if len(sources) != 2 || !sources[0].Until.Equal(cut) || !sources[1].From.Equal(cut) || sources[0].Samples == 0 || sources[1].Samples == 0 {
			t.Errorf("computation %d read %+v, want two sources joined at %s", n, sources, cut)
		}
	}
}

// TestJoinWithoutACut fails as a source does.
func TestJoinWithoutACut(t *testing.T) {
	src := promquery.Join(failing{}, failing{}, func(context.Context) (promquery.Cover, error) { return promquery.Cover{}, errors.New("disk is gone") })
	w := allocation.Window{Start: time.Unix(0, 0), End: time.Unix(7200, 0)}
	_, err := promquery.NewEngine(src, config).Compute(t.Context(), allocation.Query{Window: w})
	if !errors.Is(err, allocation.ErrUpstream) || !strings.Contains(err.Error(), "disk is gone") {
		t.Errorf("got %v", err)
	}
	if _, err := promtest.Select(t.Context(), src, []promquery.Request{{}}, func(int, []promquery.Symbol, *timeline.Points) error { return nil }); err == nil {
		t.Error("Select answers")
	}
}

// TestJoinWithoutRecent answers from blocks if they have a part of the window, with a warning about the rest. It answers nothing
// else.
func TestJoinWithoutRecent(t *testing.T) {
	c, db := demoBlocks(t)
	cut := c.End().Add(-3 * time.Hour)
	for _, tt := range []struct {
		name       string
		ctx        context.Context
		start, end time.Time
		fails      bool
	}{
		{"most in blocks", t.Context(), cut.Add(-2 * time.Hour), cut.Add(time.Hour), false},
		{"long", t.Context(), cut.Add(-2 * time.Hour), cut.Add(3 * time.Hour), false},
		{"nothing in blocks", t.Context(), cut.Add(time.Minute), cut.Add(2 * time.Hour), true},
		{"in the background", promquery.Background(t.Context()), cut.Add(-2 * time.Hour), cut.Add(time.Hour), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := allocation.Query{Window: allocation.Window{Start: tt.start, End: tt.end}, Resolution: time.Minute}
			sets, err := promquery.NewEngine(promquery.Join(db, failing{errors.New("connection refused")}, at(cut.UnixMilli())), config).Compute(tt.ctx, q)
			if tt.fails {
				if !errors.Is(err, allocation.ErrUpstream) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("the newest samples are missing, from %s to %s: ", cut.UTC().Format(time.RFC3339), tt.end.UTC().Format(time.RFC3339))
			told := 0
			for _, w := range sets[0].Warnings {
				if strings.HasPrefix(w, want) {
					told++
				}
			}
			if told != 1 || sets[0].Len() == 0 {
				t.Errorf("%d rows; told %d times in %q", sets[0].Len(), told, sets[0].Warnings)
			}
		})
	}
}
