package recorder_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/recorder"
)

// TestBrokenLaws checks that an hour whose numbers do not add up is kept as incomplete, as is its day, and is computed again.
func TestBrokenLaws(t *testing.T) {
	at := ledgertest.ParseTime(t, "2026-03-03T05:00")
	broken := func(container, hour int) float64 {
		if int64(hour) == at.Unix()/3600 {
			return -1
		}
		return ledgertest.DefaultRate(container, hour)
	}
	r := ledgertest.Live(t, "2026-03-04T06:30", ledgertest.Options{Recorder: recorder.Options{Backfill: -1}}, func(r *ledgertest.Rig) { r.Model.Rate = broken })
	complete := func(k ledger.Kind) map[string]bool {
		t.Helper()
		list, err := r.History.List(t.Context(), k, ledgertest.Between(t, "2026-03-02T00:00", "2026-03-04T00:00"))
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]bool{}
		for i := range list {
			of[list[i].Window.Start.UTC().Format("02T15")] = list[i].Complete
		}
		return of
	}
	hours, days := complete(ledger.Hours), complete(ledger.Days)
	if whole, kept := hours["03T05"]; !kept || whole || !hours["03T04"] || !hours["03T06"] {
		t.Errorf("the hour is kept: %v, complete: %v; those beside it are complete: %v, %v", kept, whole, hours["03T04"], hours["03T06"])
	}
	if days["03T00"] || !days["02T00"] {
		t.Errorf("its day is complete: %v, the day before: %v", days["03T00"], days["02T00"])
	}
	r.Model.Change(func(m *ledgertest.Model) { m.Rate = ledgertest.DefaultRate })
	w := allocation.Window{Start: at, End: at.Add(time.Hour)}
	if last := recompute(t, r, w); last.Replaced != 1 || !complete(ledger.Hours)["03T05"] || !complete(ledger.Days)["03T00"] {
		t.Errorf("after it was computed again: %+v, complete: %v, its day: %v", last, complete(ledger.Hours)["03T05"], complete(ledger.Days)["03T00"])
	}
}
