package billing_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/promcost/promcost/allocation/billing"
)

// sampleFile is the FOCUS sample.
func sampleFile(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/focus_sample.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDaysReadBack(t *testing.T) {
	days := 0
	err := billing.Days(bytes.NewReader(sampleFile(t)), time.FixedZone("+05:30", 19800), func(d *billing.Day) error {
		days++
		var want, got []billing.Line
		if err := d.Each(keepLines(&want)); err != nil {
			return err
		}
		for i := 1; i < len(want); i++ {
			if cmp.Equal(want[i].Item, want[i-1].Item) && want[i].Start.Before(want[i-1].Start) {
				t.Errorf("the day of %v: a line from %v comes after one from %v", d.Start, want[i].Start, want[i-1].Start)
			}
		}
		file, err := billing.WriteDay(d)
		if err != nil {
			return err
		}
		again, err := billing.WriteDay(d)
		if err != nil || !bytes.Equal(file, again) {
			t.Errorf("the day of %v gives other bytes a second time: %v", d.Start, err)
		}
		if err := billing.ReadDay(t.Context(), file, "bill", keepLines(&got)); err != nil {
			return err
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("the day of %v: %s", d.Start, diff)
		}
		return nil
	})
	if err != nil || days < 30 {
		t.Errorf("%d days: %v", days, err)
	}
}

// TestOldDaysAreRead reads a day of the sample that the last version wrote whose pages promcost encoded itself. The file is never written
// again.
func TestOldDaysAreRead(t *testing.T) {
	file, err := os.ReadFile("testdata/day.v1own")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []billing.Line
	n := 0
	err = billing.Days(bytes.NewReader(sampleFile(t)), time.UTC, func(d *billing.Day) error {
		if n++; n == 3 {
			return d.Each(keepLines(&want))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := billing.ReadDay(t.Context(), file, "bill", keepLines(&got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" || len(got) == 0 {
		t.Errorf("%d lines: -want +got\n%s", len(got), diff)
	}
}
