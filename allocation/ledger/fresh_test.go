package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
)

// TestFresh begins beside a source that has data since some minutes ago: questions can be answered, and the time before its first
// data is neither missing nor an error.
func TestFresh(t *testing.T) {
	logged := &bytes.Buffer{}
	r := live(t, "2026-03-10T08:30", ledger.Options{Backfill: 3 * 24 * time.Hour}, func(r *rig) {
		r.model.from = at(t, "2026-03-10T08:10")
		r.Ledger = ledger.NewKeeping(r.model, r.keeper, log.NewLogfmtLogger(log.NewSyncWriter(logged)), r.opts)
	})
	check := func(when string) {
		t.Helper()
		if err := r.Ready(); err != nil {
			t.Errorf("%s: not ready: %v", when, err)
		}
		if s := r.Store(); s.Missing != 0 || r.Behind() != nil {
			t.Errorf("%s: %+v, behind: %v", when, s, r.Behind())
		}
		if strings.Contains(logged.String(), "level=error") {
			t.Errorf("%s: errors are logged: %s", when, logged)
		}
	}
	check("before there is a closed hour")
	if !strings.Contains(logged.String(), "no data of the last closed hour yet") {
		t.Errorf("nothing says what is waited for: %s", logged)
	}
	for range 12 {
		r.pass(time.Hour)
		check("after some hours")
	}
	if set, _, err := r.Latest(); err != nil || set.Len() == 0 || len(r.kept(t, ledger.Hours)) < 12 {
		t.Errorf("latest %v, %v", set, err)
	}
	r.model.without = nothingFrom(at(t, "2026-03-10T22:00"))
	r.pass(5 * time.Hour)
	if !strings.Contains(logged.String(), "level=error") || r.Behind() == nil || r.Ready() != nil {
		t.Errorf("where data end: ready %v, behind %v: %s", r.Ready(), r.Behind(), logged)
	}
}

// nothingFrom is hours without data from t on.
func nothingFrom(t time.Time) func(allocation.Window) bool {
	return func(w allocation.Window) bool { return !w.Start.Before(t) }
}

// TestReadyOfASourceThatFails holds that a source which does not answer, or not in whole, is told of as the reason.
func TestReadyOfASourceThatFails(t *testing.T) {
	for name, err := range map[string]error{
		"it refuses": errRefused, "it answers in part": fmt.Errorf("%w: %w: connection refused by a store", allocation.ErrNoData, allocation.ErrUpstream),
	} {
		r := live(t, "2026-03-10T08:30", ledger.Options{Backfill: -1}, func(r *rig) { r.model.err = err })
		if why := r.Ready(); why == nil || !strings.Contains(why.Error(), "connection refused") {
			t.Errorf("%s: ready says %v", name, why)
		}
		r.model.err = nil
		r.pass(20 * time.Minute)
		if err := r.Ready(); err != nil {
			t.Errorf("%s: once it answers: %v", name, err)
		}
	}
}

// since is a model that fails for time before from.
type since struct {
	*model
	from time.Time
}

func (s since) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	if q.Window.Start.Before(s.from) {
		return nil, errRefused
	}
	return s.model.Compute(ctx, q)
}

// TestBeginning begins beside a source that says when its data begin: the hours before are not missing, nor lacking in counters, even
// before the source was asked for them. Where it cannot say they are.
func TestBeginning(t *testing.T) {
	for name, tc := range map[string]struct {
		begin   string // "" where the source cannot say
		missing int    // while the hours before the last one cannot be computed
	}{
		"it says when":                       {"2026-03-10T05:00", 2},
		"it says when, within an hour":       {"2026-03-10T04:20", 3},
		"it has data since before the month": {"2026-02-01T00:00", 9*24 + 7},
		"it has none but of the last hour":   {"2026-03-10T07:00", 0},
		"it cannot say":                      {"", 9*24 + 7},
	} {
		t.Run(name, func(t *testing.T) {
			last := at(t, "2026-03-10T07:00")
			r := live(t, "2026-03-10T08:30", ledger.Options{
				Backfill: -1,
				Begin: func(_ context.Context, w allocation.Window) (time.Time, error) {
					if tc.begin == "" {
						return time.Time{}, errRefused
					}
					return at(t, tc.begin), nil
				},
			}, func(r *rig) {
				r.Ledger = ledger.NewKeeping(since{r.model, last}, r.keeper, log.NewNopLogger(), r.opts)
			})
			if s := r.Store(); s.Missing != tc.missing || s.Uncounted != tc.missing+1 {
				t.Errorf("%d hours are missing, want %d, counters lack %d, want one more", s.Missing, tc.missing, s.Uncounted)
			}
			if err := r.Behind(); (err != nil) != (tc.missing > 0) {
				t.Errorf("behind: %v", err)
			}
		})
	}
}

// TestMonthsWithoutData asks for months of which the source and the history have days: the source is not asked for every day of
// them where it says when its data begin, and the answer is the same.
func TestMonthsWithoutData(t *testing.T) {
	first := at(t, "2026-03-08T05:00")
	q := allocation.Query{Window: between(t, "2025-10-01T00:00", "2026-03-10T00:00"), Step: 24 * time.Hour, Stored: true}
	var answers [2][]*allocation.Set
	var computed [2]int
	for i, begin := range []time.Time{{}, first} {
		r := newRig(t, "2026-03-10T08:30", ledger.Options{Begin: func(context.Context, allocation.Window) (time.Time, error) { return begin, nil }})
		r.model.from = first
		answers[i], computed[i] = r.ask(t, q), len(r.model.asked())
	}
	if computed[1] > 4 || computed[0] < 150 {
		t.Errorf("the source is asked %d times, and %d times where it says when its data begin", computed[0], computed[1])
	}
	for i, want := range answers[0] {
		got := answers[1][i]
		if diff := cmp.Diff(sums(t, want), sums(t, got)); diff != "" || got.Incomplete != want.Incomplete || !slices.Equal(got.Warnings, want.Warnings) {
			t.Fatalf("%v: %s, warnings %q, want %q", want.Window, diff, got.Warnings, want.Warnings)
		}
	}
}
