package recorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/metering"
	"github.com/promcost/promcost/allocation/recorder"
)

// cappedCounters are the counters of containers and when they began, to the last bit.
func cappedCounters(a *metering.Accrued) string {
	if a == nil {
		return "none"
	}
	i := slices.IndexFunc(a.Metering().Subjects(), func(s metering.Subject) bool { return s.Name == "container" })
	s := a.Metering().Subjects()[i]
	totals := a.Totals(&s)
	var b strings.Builder
	fmt.Fprintln(&b, a.Capped(&s))
	for i := range totals.Len() {
		fmt.Fprintln(&b, strings.Join(totals.Labels(i), " "), totals.Cost(i), totals.Created(i).Format(time.RFC3339))
	}
	return b.String()
}

// TestMembershipSurvivesRestarts has more containers than may have series. Which containers have one follows from the
// history, so a restarted process, a replica that only reads and the counters of an instant agree.
func TestMembershipSurvivesRestarts(t *testing.T) {
	m, err := metering.New(metering.Options{Enabled: []string{"container", "pod"}, MaxSeries: 100})
	if err != nil {
		t.Fatal(err)
	}
	o := ledgertest.Options{Recorder: recorder.Options{Backfill: -1, Metering: func() *metering.Metering { return m }}}
	r := ledgertest.Live(t, "2026-03-02T05:30", o, func(r *ledgertest.Rig) {
		r.Model.Rate = func(container, hour int) float64 { // they come, go and change ranks
			return float64((container*7+hour*3)%11) / 7
		}
		r.Model.Extra = 12
	})
	before := cappedCounters(r.Accrued())
	if !strings.HasPrefix(before, "true\n") || !strings.Contains(before, allocation.OtherName) {
		t.Fatalf("nothing is folded: %s", before)
	}
	at, err := r.AccruedAt(t.Context(), ledgertest.ParseTime(t, "2026-03-02T05:30"))
	if err != nil || cappedCounters(at) != before {
		t.Errorf("counters at an instant: %v, %s", err, cmp.Diff(before, cappedCounters(at)))
	}
	for _, readOnly := range []bool{false, true} {
		r.Opts.Ledger.ReadOnly = readOnly
		r.StopAndRestart(t)
		r.Start(t)
		if diff := cmp.Diff(before, cappedCounters(r.Accrued())); diff != "" {
			t.Errorf("read only %v: -before +after:\n%s", readOnly, diff)
		}
	}
}
