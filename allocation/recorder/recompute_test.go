package recorder_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

// recompute recomputes a window and returns how far it was told to be last.
func recompute(t *testing.T, r *ledgertest.Rig, w allocation.Window) (last recorder.Progress) {
	t.Helper()
	if err := r.Recompute(t.Context(), w, func(p recorder.Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	return last
}

// generations are those of what is kept of a kind, by start.
func generations(t *testing.T, r *ledgertest.Rig, k ledger.Kind) map[string]int {
	t.Helper()
	list, err := r.History.List(t.Context(), k, allocation.Window{})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for i := range list {
		of[list[i].Window.Start.UTC().Format("02T15:04")] = list[i].Generation
	}
	return of
}

// TestRecompute replaces the hours of a window, and the days they roll up to, by what the source returns now. Counters do not
// change.
func TestRecompute(t *testing.T) {
	r := ledgertest.Live(t, "2026-03-04T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.Rules = allocation.OldestRules })
	before := ledgertest.CountersText(r.Accrued())
	r.Model.Change(func(m *ledgertest.Model) {
		m.Rules, m.Rate = 0, func(c, hour int) float64 { return ledgertest.DefaultRate(c, hour) * 2 }
	})
	w := ledgertest.Between(t, "2026-03-02T20:00", "2026-03-03T12:00")
	if diff := cmp.Diff(recorder.Progress{Hours: 16, Kept: 16, Replaced: 16}, recompute(t, r, w)); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ from, to string }{{"2026-03-02T20:00", "2026-03-03T00:00"}, {"2026-03-03T00:00", "2026-03-03T12:00"}} {
		part := ledgertest.Between(t, tt.from, tt.to)
		ledgertest.Same(t, tt.from, ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: part, Stored: true})...), ledgertest.Sums(t, r.Exactly(part)))
	}
	hours, days := generations(t, r, ledger.Hours), generations(t, r, ledger.Days)
	for at, want := range map[string]int{"02T19:00": 1, "02T20:00": 2, "03T11:00": 2, "03T12:00": 1} {
		if hours[at] != want {
			t.Errorf("the hour of %s is of generation %d, want %d", at, hours[at], want)
		}
	}
	if diff := cmp.Diff(map[string]int{"01T00:00": 1, "02T00:00": 2, "03T00:00": 2}, days); diff != "" {
		t.Errorf("generations of days (-want +got):\n%s", diff)
	}
	for range 2 {
		if diff := cmp.Diff(before, ledgertest.CountersText(r.Accrued())); diff != "" {
			t.Errorf("counters changed (-before +after):\n%s", diff)
		}
		r.StopAndRestart(t)
		r.Start(t)
	}
}

// TestRecomputeLeavesWhatIsGone keeps hours of which the source has less by now.
func TestRecomputeLeavesWhatIsGone(t *testing.T) {
	w := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-04T06:00")
	third := ledgertest.ParseTime(t, "2026-03-04T02:00")
	for _, tt := range []struct {
		name   string
		change func(m *ledgertest.Model)
		left   int // hours that stay as they were
	}{
		{"all is there", func(*ledgertest.Model) {}, 0},
		{"nothing before an hour", func(m *ledgertest.Model) { m.From = third }, 2},
		{"part of an hour", func(m *ledgertest.Model) { m.From = third.Add(10 * time.Minute) }, 3},
		{"nothing at all", func(m *ledgertest.Model) { m.From = w.End }, 6},
		{"the source says that something is missing", func(m *ledgertest.Model) {
			m.Incomplete = func(h allocation.Window) bool { return h.Start.Equal(third) }
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
			day := ledgertest.Between(t, "2026-03-04T00:00", "2026-03-05T00:00")
			if err := r.Fill(t.Context(), day, 1, nil); err != nil {
				t.Fatal(err)
			}
			want := ledgertest.Sums(t, r.Exactly(day))
			r.Model.Change(tt.change)
			if diff := cmp.Diff(recorder.Progress{Hours: 6, Kept: 6, Replaced: 6 - tt.left, Left: tt.left}, recompute(t, r, w)); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
			ledgertest.Same(t, "the day", ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: day, Stored: true})...), want)
		})
	}
}

// TestMixedRules checks that an answer over hours of older and of current rules says so once, and that one with hours of the oldest
// rules, alone or not, says that their error bounds are means.
func TestMixedRules(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-06T12:30", ledgertest.Options{})
	fill := func(from, to string) {
		t.Helper()
		if err := r.Fill(t.Context(), ledgertest.Between(t, from, to), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.Model.Change(func(m *ledgertest.Model) { m.Rules = allocation.OldestRules })
	fill("2026-03-02T00:00", "2026-03-04T12:00")
	r.Model.Change(func(m *ledgertest.Model) { m.Rules = 0 })
	fill("2026-03-04T00:00", "2026-03-05T12:00")
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name, from, to string
		step           time.Duration
		stored         bool
		want           string // in the warning, "" for none
		both           bool
	}{
		{"older only", "2026-03-02T00:00", "2026-03-04T00:00", day, true, "--from=2026-03-02T00:00:00Z --to=2026-03-04T00:00:00Z ", false},
		{"a day of both", "2026-03-04T00:00", "2026-03-05T00:00", day, true, "--from=2026-03-04T00:00:00Z --to=2026-03-05T00:00:00Z ", false},
		{"days of both", "2026-03-03T00:00", "2026-03-06T00:00", day, true, "--from=2026-03-03T00:00:00Z --to=2026-03-05T00:00:00Z ", true},
		{"hours of both", "2026-03-04T06:00", "2026-03-04T18:00", 0, true, "--from=2026-03-04T06:00:00Z --to=2026-03-04T12:00:00Z ", true},
		{"hours of both, in sets", "2026-03-04T06:00", "2026-03-04T18:00", 2 * time.Hour, true, "--from=2026-03-04T06:00:00Z --to=2026-03-04T12:00:00Z ", true},
		{"current only", "2026-03-05T00:00", "2026-03-06T00:00", time.Hour, true, "", false},
		{"older, and computed now", "2026-03-03T00:00", "2026-03-04T01:30", 0, false, "--from=2026-03-03T00:00:00Z --to=2026-03-04T01:00:00Z ", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{false, tt.stored} {
				q := allocation.Query{Window: ledgertest.Between(t, tt.from, tt.to), Step: tt.step, Stored: tt.stored, Stream: stream}
				var warnings []string
				for _, s := range r.Ask(t, q) {
					warnings = append(warnings, slices.DeleteFunc(slices.Clone(s.Warnings), func(text string) bool { return !strings.Contains(text, "older rules") })...)
				}
				switch {
				case tt.want == "" && len(warnings) > 0, tt.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], "backfill --recompute "+tt.want)):
					t.Errorf("stream %t: warnings %q, want one with %q", stream, warnings, tt.want)
				case tt.want != "" && (!strings.Contains(warnings[0], "error bounds are means") || strings.Contains(warnings[0], "may differ") != tt.both):
					t.Errorf("stream %t: it says %q", stream, warnings[0])
				}
			}
		})
	}
}

// TestDaysFollowTheirHours has the last hour of a day computed again after the day was rolled up, where the source has nothing of another
// hour of it: the day is rolled up again.
func TestDaysFollowTheirHours(t *testing.T) {
	var lacking sync.Map
	last := ledgertest.Between(t, "2026-03-02T23:00", "2026-03-03T00:00")
	lacking.Store(last.Start.Unix(), true)
	r := ledgertest.Live(t, "2026-03-03T00:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) {
		r.Model.Without = func(w allocation.Window) bool { return w.Start.Equal(ledgertest.ParseTime(t, "2026-03-02T10:00")) }
		r.Model.Incomplete = func(w allocation.Window) bool { _, ok := lacking.Load(w.Start.Unix()); return ok }
		r.Model.Rate = func(c, hour int) float64 {
			if _, ok := lacking.Load(int64(hour) * 3600); ok {
				return ledgertest.DefaultRate(c, hour) / 2
			}
			return ledgertest.DefaultRate(c, hour)
		}
	})
	day := allocation.Query{Window: ledgertest.Between(t, "2026-03-02T00:00", "2026-03-03T00:00"), Stored: true}
	before := ledgertest.Sums(t, r.Ask(t, day)...)
	hour := ledgertest.Sums(t, r.Ask(t, allocation.Query{Window: last, Stored: true})...)
	lacking.Clear()
	r.Pass(90 * time.Minute)
	want := ledgertest.Sums(t, r.Exactly(last))
	for name := range want {
		want[name] += before[name] - hour[name]
	}
	ledgertest.Same(t, "the day", ledgertest.Sums(t, r.Ask(t, day)...), want)
	if diff := cmp.Diff(2, generations(t, r, ledger.Days)["02T00:00"]); diff != "" {
		t.Errorf("the day was rolled up so often (-want +got):\n%s", diff)
	}
}
