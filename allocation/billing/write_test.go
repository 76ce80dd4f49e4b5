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
		keep := func(to *[]billing.Line) func(*billing.Line) error {
			return func(l *billing.Line) error {
				line := *l
				item := *l.Item
				line.Item = &item
				*to = append(*to, line)
				return nil
			}
		}
		if err := d.Each(keep(&want)); err != nil {
			return err
		}
		file, err := billing.WriteDay(d)
		if err != nil {
			return err
		}
		again, err := billing.WriteDay(d)
		if err != nil || !bytes.Equal(file, again) {
			t.Errorf("the day of %v gives other bytes a second time: %v", d.Start, err)
		}
		if err := billing.ReadDay(t.Context(), file, "bill", keep(&got)); err != nil {
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
