package billing_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// rows writes a bill row by row, as it is read.
type rows struct {
	left bytes.Buffer
	n    int
	of   int
	row  func(i int) string
}

// Read implements io.Reader.
func (r *rows) Read(p []byte) (int, error) {
	if r.n == 0 {
		r.left.WriteString(header)
	}
	for ; r.left.Len() < len(p) && r.n < r.of; r.n++ {
		r.left.WriteString(r.row(r.n))
	}
	if r.left.Len() == 0 {
		return 0, io.EOF
	}
	return r.left.Read(p)
}

// TestLargeBills reads bills whose size must not show in memory.
func TestLargeBills(t *testing.T) {
	for _, c := range []struct {
		name string
		of   int
		row  func(i int) string
	}{
		{"ten years in one file", soak.Of(40_000, 2_000_000), func(i int) string {
			day := time.Date(2016, 10, 1, i%3650, 0, 0, 0, time.UTC).AddDate(0, 0, i%3650)
			period := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
			return fmt.Sprintf("payer,%s,%s,USD,sub,AWS,EC2,Usage,%s,%s,1,1,i-%d,\n", period.Format(time.RFC3339), period.AddDate(0, 1, 0).Format(time.RFC3339),
				day.Format(time.RFC3339), day.Add(time.Hour).Format(time.RFC3339), i%50)
		}},
		{"every line has a tag of its own", soak.Of(60_000, 2_000_000), func(i int) string {
			return fmt.Sprintf("payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,AWS,EC2,Usage,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,1,1,i,\"{\"\"run\"\":\"\"%d\"\"}\"\n", i)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			lines, peak := 0, uint64(0)
			err := billing.Days(&rows{of: c.of, row: c.row}, time.UTC, func(d *billing.Day) error {
				if lines += d.Len(); lines%97 == 0 {
					runtime.ReadMemStats(&now)
					peak = max(peak, now.HeapInuse)
				}
				_, err := billing.WriteDay(d)
				return err
			})
			if err != nil || lines < c.of {
				t.Errorf("%d lines, %v, want at least %d", lines, err, c.of)
			}
			t.Logf("%d lines, the heap grew by at most %d MB", lines, (peak-min(peak, before.HeapInuse))>>20)
			if grown := peak - min(peak, before.HeapInuse); soak.On() && grown > 200<<20 {
				t.Errorf("the heap grew by %d MB, at most 200 are allowed", grown>>20)
			}
		})
	}
}
