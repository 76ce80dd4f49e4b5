package billing_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
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

// TestLargeBillsInMemory keeps bills without a history: what fits is kept whole, what does not is refused, and leaves what there was.
func TestLargeBillsInMemory(t *testing.T) {
	lines, resources := soak.Of(20_000, 2_000_000), soak.Of(30, 2_800)
	hourly := func(i int, tags string) string {
		at := time.Date(2026, 10, 1, i/resources, 0, 0, 0, time.UTC)
		return fmt.Sprintf("payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,AWS,EC2,Usage,%s,%s,0.5,1,i-%d,%s\n",
			at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), i%resources, tags)
	}
	for _, c := range []struct {
		name    string
		row     func(i int) string
		total   float64
		warning string
	}{
		{"many lines", func(i int) string { return hourly(i, "") }, float64(lines) / 2, soak.Of("", "2000000 lines of bills are kept in memory")},
		{
			"every line has a tag of its own", func(i int) string { return hourly(i, fmt.Sprintf(`"{""run"":""%d""}"`, i)) }, 7,
			"or give --storage.path, which keeps bills on disk: nothing of this delivery counts, what was delivered before does",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const before = 7
			dir, budget := t.TempDir(), memory.New(int64(soak.Of(8, 800))<<20)
			n := billing.NewIntake(billing.NewMemory(budget.Open("read fewer bills")), log.NewNopLogger(), billing.IntakeOptions{Now: now})
			n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucketOf(t, dir), Where: "bills"}}}, time.UTC)
			put(t, dir, "october/1.csv", header+row("01", "i-1", "7"), 1)
			if got := total(t, look(t, n)); got != before {
				t.Fatalf("the total is %v, want %v", got, before)
			}
			drawn := budget.Stats().Used
			putRows(t, dir, &rows{of: lines, row: c.row})
			book := look(t, n)
			if got := total(t, book); got != c.total {
				t.Errorf("the total is %v, want %v", got, c.total)
			}
			if got := strings.Join(book.Warnings(), "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
				t.Errorf("the warnings are %q, want %q", got, c.warning)
			}
			if c.total == before && budget.Stats().Used != drawn {
				t.Errorf("%d bytes are drawn, want %d as before", budget.Stats().Used, drawn)
			}
			var heap runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&heap)
			t.Logf("%d MB are drawn, the heap has %d MB", budget.Stats().Used>>20, heap.HeapAlloc>>20)
			if most := uint64(budget.Stats().Used) + 100<<20; soak.On() && heap.HeapAlloc > most {
				t.Errorf("the heap has %d MB, want at most %d", heap.HeapAlloc>>20, most>>20)
			}
			runtime.KeepAlive(book)
		})
	}
}

// putRows replaces the bill of October.
func putRows(t *testing.T, dir string, r *rows) {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "october/1.csv", string(text), 2)
}
