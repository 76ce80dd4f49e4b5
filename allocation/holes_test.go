package allocation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
)

// TestJoinHoles joins what is missing of adjacent sets.
func TestJoinHoles(t *testing.T) {
	hole := func(from, to int, why string) string {
		return allocation.HoleWarning(allocation.Window{Start: testStart.Add(time.Duration(from) * time.Hour), End: testStart.Add(time.Duration(to) * time.Hour)}, why)
	}
	for name, tc := range map[string]struct{ in, want []string }{
		"none":          {nil, nil},
		"others":        {[]string{"b", "a", "b"}, []string{"a", "b"}},
		"adjacent":      {[]string{hole(1, 2, "x"), hole(0, 1, "x"), hole(2, 5, "x")}, []string{hole(0, 5, "x")}},
		"overlapping":   {[]string{hole(0, 3, "x"), hole(1, 2, "x"), hole(2, 4, "x")}, []string{hole(0, 4, "x")}},
		"apart":         {[]string{hole(0, 1, "x"), hole(2, 3, "x")}, []string{hole(0, 1, "x"), hole(2, 3, "x")}},
		"other reasons": {[]string{hole(0, 1, "x"), hole(1, 2, "y"), hole(2, 3, "x"), "z"}, []string{hole(0, 1, "x"), hole(1, 2, "y"), hole(2, 3, "x"), "z"}},
		"no times":      {[]string{"pod to node is missing: x", "2026-03-04T00:00:00Z to later is missing: x", "x is missing: y"}, []string{"2026-03-04T00:00:00Z to later is missing: x", "pod to node is missing: x", "x is missing: y"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allocation.JoinHoles(tc.in)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
