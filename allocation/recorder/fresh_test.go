package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

// TestFresh begins beside a source that has data since some minutes ago: questions can be answered, and the time before its first
// data is neither missing nor an error.
func TestFresh(t *testing.T) {
	logged := &bytes.Buffer{}
	r := ledgertest.Live(t, "2026-03-10T08:30", ledgertest.Options{Recorder: recorder.Options{Backfill: 3 * 24 * time.Hour}}, func(r *ledgertest.Rig) {
		r.Model.From = ledgertest.ParseTime(t, "2026-03-10T08:10")
		r.Log = logged
		r.Restart(t)
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
		r.Pass(time.Hour)
		check("after some hours")
	}
	if set, _, err := r.Latest(); err != nil || set.Len() == 0 || len(r.Kept(t, ledger.Hours)) < 12 {
		t.Errorf("latest %v, %v", set, err)
	}
	r.Model.Without = nothingFrom(ledgertest.ParseTime(t, "2026-03-10T22:00"))
	r.Pass(5 * time.Hour)
	if !strings.Contains(logged.String(), "level=error") || r.Behind() == nil || r.Ready() != nil {
		t.Errorf("where data end: ready %v, behind %v: %s", r.Ready(), r.Behind(), logged)
	}
}

// nothingFrom is hours without data from t on.
func nothingFrom(t time.Time) func(allocation.Window) bool {
	return func(w allocation.Window) bool { return !w.Start.Before(t) }
}

// TestReadyOfASourceThatFails checks that a source that does not answer, or not completely, is reported as the reason.
func TestReadyOfASourceThatFails(t *testing.T) {
	for name, err := range map[string]error{
		"it refuses": ledgertest.ErrRefused, "it answers in part": fmt.Errorf("%w: %w: connection refused by a store", allocation.ErrNoData, allocation.ErrUpstream),
	} {
		r := ledgertest.Live(t, "2026-03-10T08:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.Err = err })
		if why := r.Ready(); why == nil || !strings.Contains(why.Error(), "connection refused") {
			t.Errorf("%s: ready says %v", name, why)
		}
		r.Model.Err = nil
		r.Pass(20 * time.Minute)
		if err := r.Ready(); err != nil {
			t.Errorf("%s: once it answers: %v", name, err)
		}
	}
}

// since is a model that fails for time before from.
type since struct {
	*ledgertest.Model
	from time.Time
}

func (s since) Compute(ctx context.Context, q allocation.Query) ([]*allocation.Set, error) {
	if q.Window.Start.Before(s.from) {
		return nil, ledgertest.ErrRefused
	}
	return s.Model.Compute(ctx, q)
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
			last := ledgertest.ParseTime(t, "2026-03-10T07:00")
			r := ledgertest.Live(t, "2026-03-10T08:30", ledgertest.Options{Ledger: ledger.Options{Begin: func(_ context.Context, w allocation.Window) (time.Time, error) {
				if tc.begin == "" {
					return time.Time{}, ledgertest.ErrRefused
				}
				return ledgertest.ParseTime(t, tc.begin), nil
			}}, Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) {
				r.Recorded = r.Open(since{r.Model, last}, r.History)
			})
			if s := r.Store(); s.Missing != tc.missing || s.NotCounted != tc.missing+1 {
				t.Errorf("%d hours are missing, want %d, counters lack %d, want one more", s.Missing, tc.missing, s.NotCounted)
			}
			if err := r.Behind(); (err != nil) != (tc.missing > 0) {
				t.Errorf("behind: %v", err)
			}
		})
	}
}

// TestBeginningIsNotAskedAgain sees to it that a source which says when its data begin is asked once for the hours before, and again
// when it has older data than it said.
func TestBeginningIsNotAskedAgain(t *testing.T) {
	begin := ledgertest.ParseTime(t, "2026-03-10T05:00")
	var mu sync.Mutex
	r := ledgertest.Live(t, "2026-03-10T08:30", ledgertest.Options{Ledger: ledger.Options{Begin: func(context.Context, allocation.Window) (time.Time, error) {
		mu.Lock()
		defer mu.Unlock()
		return begin, nil
	}}, Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.From = begin })
	early := func() (list []string) {
		for _, asked := range r.Model.Asked() {
			if strings.Split(asked, " ")[0] < "10T05:00" {
				list = append(list, asked)
			}
		}
		return list
	}
	if len(early()) == 0 {
		t.Error("the source was not asked for the hours before its data")
	}
	for range 10 {
		r.Pass(time.Hour)
	}
	if asked := early(); len(asked) > 0 {
		t.Errorf("the source was asked again for %v", asked)
	}
	mu.Lock()
	begin = ledgertest.ParseTime(t, "2026-03-10T02:00")
	mu.Unlock()
	r.Model.Change(func(m *ledgertest.Model) { m.From = ledgertest.ParseTime(t, "2026-03-10T02:00") })
	for range 36 {
		r.Pass(time.Hour)
	}
	if kept := r.Kept(t, ledger.Hours); len(kept) == 0 || !strings.HasPrefix(kept[0], "10T02:00") {
		t.Errorf("older data that came are not kept: %v", kept)
	}
}

// TestSourceIsAskedAgain sees to it that older data come into the history where the source cannot say any more when they begin, and
// soon where it had none at first.
func TestSourceIsAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		said   string // what the source says at first; else it has no data
		passes []time.Duration
	}{
		"begin fails": {"2026-03-10T05:00", slices.Repeat([]time.Duration{time.Hour}, 12)}, // before the day is over, of which more is asked
		"no data":     {"", slices.Repeat([]time.Duration{10 * time.Minute}, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			said, failed := func(w allocation.Window) time.Time {
				if tc.said == "" {
					return w.End
				}
				return ledgertest.ParseTime(t, tc.said)
			}, false
			r := ledgertest.Live(t, "2026-03-10T08:30", ledgertest.Options{Ledger: ledger.Options{Begin: func(_ context.Context, w allocation.Window) (time.Time, error) {
				mu.Lock()
				defer mu.Unlock()
				if failed {
					return time.Time{}, errors.New("the source is away")
				}
				return said(w), nil
			}}, Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) {
				r.Model.From = said(allocation.Window{End: ledgertest.ParseTime(t, "2026-03-11T00:00")})
			})
			mu.Lock()
			failed = tc.said != ""
			mu.Unlock()
			r.Model.Change(func(m *ledgertest.Model) { m.From = ledgertest.ParseTime(t, "2026-03-10T02:00") })
			for _, d := range tc.passes {
				r.Pass(d)
			}
			if kept := r.Kept(t, ledger.Hours); len(kept) == 0 || !strings.HasPrefix(kept[0], "10T02:00") {
				t.Errorf("older data that came are not kept: %v", kept)
			}
		})
	}
}
