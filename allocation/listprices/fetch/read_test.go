package fetch_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/listprices/fetch"
)

// generated is how large AWS's files are.
const generated = 300 << 20

// BenchmarkPricesAWS reads a file as large as AWS's, and reports the most memory that is in use meanwhile.
func BenchmarkPricesAWS(b *testing.B) {
	b.SetBytes(generated)
	b.ReportAllocs()
	for b.Loop() {
		rows, err := fetch.ReadAWS(generatedOffers(generated))
		if err != nil || len(rows) != 100 {
			b.Fatal(len(rows), err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-sys")
}

// TestAWSAllocations reads a large file with as few allocations as a small one: lines share memory.
func TestAWSAllocations(t *testing.T) {
	count := func(bytes int) float64 {
		return testing.AllocsPerRun(1, func() {
			if rows, err := fetch.ReadAWS(generatedOffers(bytes)); err != nil || len(rows) != 100 {
				t.Fatal(len(rows), err)
			}
		})
	}
	small, large := count(1<<20), count(8<<20)
	if perLine := (large - small) / (7 << 20 / 700); perLine > 2 {
		t.Errorf("%g allocations a line", perLine)
	}
}

// valid checks rows that a reader accepted: they are a table, which can be written and read again.
func valid(t *testing.T, rows []listprices.Row, err error) {
	t.Helper()
	if err != nil || len(rows) == 0 {
		return
	}
	table, err := listprices.New("rows", rows)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := listprices.Write(&b, nil, table.Rows()); err != nil {
		t.Fatal(err)
	}
	if again, err := listprices.Read("rows", &b); err != nil || again.Len() != table.Len() {
		t.Errorf("written and read again: %v", err)
	}
}

func FuzzReadAWS(f *testing.F) {
	f.Add(someMachines)
	f.Add(offerHead)
	f.Add(`"a","b""c",d` + "\n\"\"\n,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := fetch.ReadAWS(strings.NewReader(text))
		valid(t, rows, err)
	})
}

func FuzzReadAzure(f *testing.F) {
	f.Add(azureMachines)
	f.Add(`{"Items":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := fetch.ReadAzure([]byte(text))
		valid(t, rows, err)
	})
}

func FuzzReadGoogle(f *testing.F) {
	f.Add(googleSKUs)
	f.Add(`{"skus":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := fetch.ReadGoogle([]byte(text))
		valid(t, rows, err)
	})
}
