package billing_test

import (
	"bytes"
	"testing"

	"github.com/promcost/promcost/allocation/billing"
)

// FuzzReadCSV reads any bytes as CSV: an error, or lines that are sound.
func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(header + row("01", "i-1", "1")))
	f.Add([]byte("\ufeff" + header + row("01", "", "NULL")))
	f.Add([]byte(header + row("01", `"i`, "1")))
	f.Add(sampleFile(f)[:2000])
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = billing.ReadCSV(bytes.NewReader(data), sound(t))
	})
}

// FuzzReadParquet does so as Parquet.
func FuzzReadParquet(f *testing.F) {
	err := billing.Days(bytes.NewReader([]byte(header+row("01", "i-1", "1")+row("01", "i-2", "2"))), always.Start.Location(), func(d *billing.Day) error {
		file, err := billing.WriteDay(d)
		f.Add(file)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = billing.ReadParquet(data, sound(t))
	})
}

// sound checks that lines end after they start and have a known cost that is a number.
func sound(t *testing.T) func(*billing.Line) error {
	t.Helper()
	return func(l *billing.Line) error {
		if !l.Start.Before(l.End) || l.Known == [billing.NumCosts]bool{} {
			t.Errorf("a line is from %v to %v with known costs %v", l.Start, l.End, l.Known)
		}
		for _, v := range l.Costs {
			if v-v != 0 {
				t.Errorf("a cost is %v", v)
			}
		}
		return nil
	}
}
