package allocation_test

import (
	"testing"

	"github.com/promcost/promcost/allocation"
)

func TestNearest(t *testing.T) {
	names := []string{"aggregate", "window", "label", "pod", "id", "accumulate"}
	for name, want := range map[string]string{
		"aggregat": "aggregate", "AGGREGATE": "aggregate", "windwo": "window", "lable": "label", "labels": "label",
		"accumulat": "accumulate", "pods": "pod", "xyz": "", "i": "", "": "", "offset": "", "winter": "",
	} {
		if got := allocation.Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
