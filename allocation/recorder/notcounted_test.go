package recorder_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

// TestUncounted has counters of a month that miss hours: their number is reported, with one warning. Hours before the first
// data do not count.
func TestUncounted(t *testing.T) {
	const warning = "msg=\"The counters of this month lack hours"
	logged := &bytes.Buffer{}
	told := func(want int, text string) {
		t.Helper()
		if n := strings.Count(logged.String(), text); n != want {
			t.Errorf("%d times %s, want %d: %s", n, text, want, logged)
		}
	}
	logging := func(r *ledgertest.Rig) {
		r.Log = logged
		r.Restart(t)
	}
	r := ledgertest.Live(t, "2026-03-01T08:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) {
		r.Model.From = ledgertest.ParseTime(t, "2026-03-01T03:00")
		r.Model.Without = func(w allocation.Window) bool { return w.Start.Equal(ledgertest.ParseTime(t, "2026-03-01T05:00")) }
		logging(r)
	})
	if s := r.Store(); s.NotCounted != 1 || s.Missing != 0 || r.Accrued() == nil {
		t.Errorf("a writer: %+v", s)
	}
	told(1, warning+" that the source has nothing of")
	r.Pass(3 * time.Hour)
	told(1, warning)
	told(1, "month=2026-03 hours=1 first=2026-03-01T05:00:00Z")

	r.Opts.Ledger.ReadOnly = true
	r.StopAndRestart(t)
	logging(r)
	r.Start(t)
	if s := r.Store(); s.NotCounted != 1 || s.Hours != 7 || s.Bytes == 0 || r.Accrued() == nil {
		t.Errorf("a reader: %+v", s)
	}
	told(1, warning+" that the history does not have")

	r.Stop()
	r.Remove(t, "sets_counted") // as backfills leave it
	r.Restart(t)
	logging(r)
	r.Start(t)
	if s := r.Store(); s.NotCounted != 11 || r.Accrued() != nil {
		t.Errorf("a reader of what was backfilled: %+v", s)
	}
	told(1, "There are no counters of this month, for the history lacks hours of it")

	sets := r.Ask(t, allocation.Query{Window: ledgertest.Between(t, "2026-03-01T00:00", "2026-03-01T06:00"), Step: 6 * time.Hour, Stored: true})
	if got := strings.Join(sets[0].Warnings, "\n"); !strings.Contains(got, "the history has nothing of that time") || strings.Contains(got, "the source") {
		t.Errorf("a reader warns %s", got)
	}
}
