package encode_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/notices"
)

// TestMissingSetsAreOneWarning joins the warnings of seventy consecutive hours without data.
func TestMissingSetsAreOneWarning(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var sets []*allocation.Set
	for i := range 70 {
		s := allocation.NewSet(allocation.Window{Start: start.Add(time.Duration(i) * time.Hour), End: start.Add(time.Duration(i+1) * time.Hour)}, allocation.NewDict())
		s.Warnings = []string{notices.HoleWarning(s.Window, "it is gone")}
		sets = append(sets, s)
	}
	o := encode.Options{Warnings: []string{"the first"}}
	want := []string{"no costs from 2026-03-01T00:00:00Z to 2026-03-03T22:00:00Z: it is gone", "the first"}
	if diff := cmp.Diff(want, o.AllWarnings(sets)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
