package ledger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/notices"
)

// TestStream asks for hours that would take too much memory together.
func TestStream(t *testing.T) {
	for _, stored := range []bool{true, false} {
		t.Run(fmt.Sprintf("stored=%v", stored), func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Memory: memory.New(400_000)}})
			w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-04T12:00")
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			want := ledgertest.Sums(t, r.Exactly(w))
			q := allocation.Query{Window: w, Step: time.Hour, Stored: stored}
			if _, err := ledgertest.Collect(t.Context(), r.Ledger, q); !errors.Is(err, allocation.ErrTooMuch) {
				t.Errorf("all at once: %v", err)
			}
			q.Stream = true
			r.Model.Asked()
			ledgertest.Same(t, "as they come", ledgertest.Sums(t, r.Ask(t, q)...), want)
			if asked := r.Model.Asked(); len(asked) > 0 {
				t.Errorf("%v were computed", asked)
			}
			for range 2 { // once it was damaged, and once it was gone
				if r.Damage(t, "sets_hourly/cluster=a")+r.Damage(t, "allocations_hourly") == 0 {
					t.Fatal("nothing was damaged")
				}
				r.Restart(t)
				ledgertest.Same(t, "damaged", ledgertest.Sums(t, r.Ask(t, q)...), want)
			}
			read := 0
			r.History.Fail = func(what string) error {
				if read++; what == "read" && read%4 == 0 {
					return fs.ErrNotExist // somebody replaced it
				}
				return nil
			}
			ledgertest.Same(t, "replaced meanwhile", ledgertest.Sums(t, r.Ask(t, q)...), want)
		})
	}
}

// TestStreamOfComputedSets asks for a window of which only a part is kept: the rest is computed some sets at a time.
func TestStreamOfComputedSets(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Memory: memory.New(400_000)}})
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-04T12:00")
	kept := allocation.Window{Start: w.Start, End: w.Start.Add(20 * time.Hour)}
	if err := r.Fill(t.Context(), kept, 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Model.Asked()
	q := allocation.Query{Window: w, Step: time.Hour, Stream: true}
	ledgertest.Same(t, "as they come", ledgertest.Sums(t, r.Ask(t, q)...), ledgertest.Sums(t, r.Exactly(w)))
	if asked := r.Model.Asked(); len(asked) != 2 {
		t.Errorf("the 16 hours that are not kept were computed in %d runs: %v", len(asked), asked)
	}
}

// TestStreamIsReadAsItIsTaken counts how many sets are read of a stream from which only the first is taken.
func TestStreamIsReadAsItIsTaken(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Memory: memory.New(400_000)}})
	w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T00:00")
	if err := r.Fill(t.Context(), w, 1, nil); err != nil {
		t.Fatal(err)
	}
	r.Restart(t)
	reads := 0
	r.History.Fail = func(what string) error {
		if what == "read" {
			reads++
		}
		return nil
	}
	for s, err := range r.Sets(t.Context(), allocation.Query{Window: w, Step: time.Hour, Stored: true, Stream: true}) {
		if err != nil || s.Len() == 0 {
			t.Fatal(err)
		}
		break
	}
	r.History.Lock()
	defer r.History.Unlock()
	if reads == 0 || reads > 3 {
		t.Errorf("%d of the 6 or more readings were made for the first set", reads)
	}
}

// TestKeptAnswerOfChangedFiles asks again for a cached answer, and once more after its files have changed.
func TestKeptAnswerOfChangedFiles(t *testing.T) {
	for _, stream := range []bool{true, false} {
		r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
		w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-05T00:00")
		if err := r.Fill(t.Context(), w, 1, nil); err != nil {
			t.Fatal(err)
		}
		r.Restart(t)
		var changed error
		reads := 0
		r.History.Sound = func() error { return changed }
		r.History.Fail = func(what string) error {
			if what == "read" {
				reads++
			}
			return nil
		}
		q := allocation.Query{Window: w, Step: time.Hour, Stored: true, Stream: stream}
		want := ledgertest.Sums(t, r.Ask(t, q)...)
		first := reads
		ledgertest.Same(t, "again", ledgertest.Sums(t, r.Ask(t, q)...), want)
		if reads != first || first == 0 {
			t.Errorf("stream=%v: %d readings for the first time, %d when it is asked again", stream, first, reads-first)
		}
		changed = errors.New("somebody cut a file")
		ledgertest.Same(t, "changed", ledgertest.Sums(t, r.Ask(t, q)...), want)
		if reads != 2*first {
			t.Errorf("stream=%v: %d readings where files have changed, want %d", stream, reads-first, first)
		}
	}
}

// TestStreamOfFailingHistory lets the history fail once some sets were yielded.
func TestStreamOfFailingHistory(t *testing.T) {
	for name, tc := range map[string]struct {
		reads    int // that go well
		readOnly bool
		nothing  bool // of the source by then
		from     string
	}{
		"at once":             {0, false, false, ""},
		"later":               {2, false, false, ""},
		"after empty sets":    {0, false, false, "2026-03-03T05:00"},
		"a reader":            {2, true, false, ""},
		"the source has none": {2, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{Memory: memory.New(400_000)}})
			if tc.from != "" {
				r.Model.From = ledgertest.ParseTime(t, tc.from)
			}
			w := ledgertest.Between(t, "2026-03-03T00:00", "2026-03-04T12:00")
			if err := r.Fill(t.Context(), w, 1, nil); err != nil {
				t.Fatal(err)
			}
			r.Opts.Ledger.ReadOnly = tc.readOnly
			r.Restart(t)
			q := allocation.Query{Window: w, Step: time.Hour, Stored: true, Stream: true}
			want := r.Ask(t, q)
			reads := 0
			r.History.Fail = func(what string) error {
				if what == "read" {
					reads++
				}
				if what != "read" || reads <= tc.reads {
					return nil
				}
				if tc.nothing {
					r.Model.Lock()
					defer r.Model.Unlock()
					r.Model.Err = allocation.ErrNoData
				}
				return errors.New("the disk is gone")
			}
			if tc.readOnly {
				if sets, err := ledgertest.Collect(t.Context(), r.Ledger, q); !errors.Is(err, allocation.ErrUpstream) {
					t.Errorf("%d sets, %v", len(sets), err)
				}
				return
			}
			r.Model.Asked()
			sets := r.Ask(t, q)
			for _, asked := range r.Model.Queries {
				if n := asked.Window.Duration(); n > 8*time.Hour {
					t.Errorf("%s were computed at once, all of which is in memory then", n)
				}
			}
			warned := slices.IndexFunc(sets, func(s *allocation.Set) bool {
				return strings.Contains(strings.Join(s.Warnings, ""), "the disk is gone")
			})
			if warned < 0 || warned == 0 != (tc.reads == 0) {
				t.Fatalf("the first set that was warned of is %d", warned)
			}
			if tc.nothing {
				for _, s := range sets[warned:] {
					if s.Len() > 0 || !s.Incomplete {
						t.Errorf("%v has %d rows", s.Window, s.Len())
					}
				}
				sets, want = sets[:warned], want[:warned]
			}
			ledgertest.Same(t, "in place of the history", ledgertest.Sums(t, sets...), ledgertest.Sums(t, want...))
		})
	}
}

// TestStreamOfNothing is an error, not sets of nothing.
func TestStreamOfNothing(t *testing.T) {
	r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
	r.Model.Err = allocation.ErrNoData
	q := allocation.Query{Window: ledgertest.Between(t, "2026-03-03T00:00", "2026-03-04T00:00"), Step: time.Hour, Stored: true, Stream: true}
	if sets, err := ledgertest.Collect(t.Context(), r.Ledger, q); !errors.Is(err, allocation.ErrNoData) || len(sets) > 0 {
		t.Errorf("%d sets, %v", len(sets), err)
	}
}

// TestStreamHolesWithoutHistory asks for hours of which the first lie before the source has data: with the history or
// without it the same is told of as missing, also where the hours that are computed at once have something.
func TestStreamHolesWithoutHistory(t *testing.T) {
	for name, w := range map[string]allocation.Window{
		"some hours of the first that are computed":   ledgertest.Between(t, "2026-03-03T20:00", "2026-03-04T10:00"),
		"all of the first and some of those after it": ledgertest.Between(t, "2026-03-03T10:00", "2026-03-04T10:00"),
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream=%v", name, stream), func(t *testing.T) {
				r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{})
				r.Model.From = ledgertest.ParseTime(t, "2026-03-04T00:30")
				q := allocation.Query{Window: w, Step: time.Hour, Stored: true, Stream: stream}
				missing := func() []string {
					var all []string
					for _, s := range r.Ask(t, q) {
						if s.Empty() != s.Incomplete {
							t.Errorf("%v: empty %v, incomplete %v", s.Window, s.Empty(), s.Incomplete)
						}
						all = append(all, s.Warnings...)
					}
					return slices.DeleteFunc(notices.JoinWarnings(all), func(text string) bool { return !strings.Contains(text, "no costs from ") })
				}
				want := missing()
				if len(want) != 1 || !strings.Contains(want[0], " to 2026-03-04T00:00:00Z: ") {
					t.Fatalf("with the history: %q", want)
				}
				r.Restart(t)
				r.History.Fail = func(string) error { return errors.New("the disk is gone") }
				if diff := cmp.Diff(want, missing()); diff != "" {
					t.Errorf("-with the history +without\n%s", diff)
				}
			})
		}
	}
}

// TestStreamErrorsWithoutHistory name the window that was asked for, not the part of it that is computed at once.
func TestStreamErrorsWithoutHistory(t *testing.T) {
	for _, tc := range []struct {
		name     string
		readOnly bool
		source   error
		want     error
	}{
		{"nothing", false, allocation.ErrNoData, allocation.ErrNoData},
		{"the source fails, too", false, allocation.ErrUpstream, allocation.ErrUpstream},
		{"a reader", true, nil, allocation.ErrUpstream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ledgertest.NewRig(t, "2026-03-05T12:30", ledgertest.Options{Ledger: ledger.Options{ReadOnly: tc.readOnly}})
			r.Model.Err = tc.source
			r.History.Fail = func(string) error { return errors.New("the disk is gone") }
			q := allocation.Query{Window: ledgertest.Between(t, "2026-03-01T00:00", "2026-03-03T00:00"), Step: time.Hour, Stored: true, Stream: true}
			sets, err := ledgertest.Collect(t.Context(), r.Ledger, q)
			if len(sets) > 0 || !errors.Is(err, tc.want) {
				t.Fatalf("%d sets, %v", len(sets), err)
			}
			if text := err.Error(); !strings.Contains(text, "answer 2026-03-01T00:00:00Z to 2026-03-03T00:00:00Z") || strings.Contains(text, "02T") {
				t.Errorf("%q does not name the window, or others than the first hours of it", text)
			}
		})
	}
}
