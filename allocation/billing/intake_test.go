package billing_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
)

// header are the columns of the small files of tests.
const header = "BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ProviderName,ServiceName,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,BilledCost,ResourceId,Tags\n"

// row is a row of such a file, of account payer in October 2026.
func row(day, resource, cost string) string {
	return "payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,AWS,EC2,Usage,2026-10-" + day + "T00:00:00Z,2026-10-" + day + "T01:00:00Z," + cost + "," + cost + "," + resource + ",\n"
}

// bucketOf is a directory as a bucket.
func bucketOf(t testing.TB, dir string) objstore.Bucket {
	t.Helper()
	b, err := filesystem.NewBucket(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes a file, whose time is that many minutes after an instant.
func put(t testing.TB, dir, name, text string, minutes int) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2026, 11, 2, 0, minutes, 0, 0, time.UTC)
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
}

// now is the clock of tests.
func now() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// newIntake is an intake of one bill, aws, from a bucket into memory.
func newIntake(files objstore.BucketReader, sources ...billing.Source) *billing.Intake {
	n := billing.NewIntake(billing.NewMemory((*memory.Account)(nil)), log.NewNopLogger(), billing.IntakeOptions{Now: now})
	sources = append([]billing.Source{{Bill: billing.Bill{Name: "aws", Settle: billing.DefaultSettle, Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: files, Where: "bills"}}}, sources...)
	n.Set(sources, time.UTC)
	return n
}

// look looks for deliveries and returns the book.
func look(t testing.TB, n *billing.Intake) *billing.Book {
	t.Helper()
	if err := n.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := n.Book(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// always is longer than any bill.
var always = allocation.Window{Start: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}

// total is the cost of all lines.
func total(t testing.TB, b *billing.Book) (sum float64) {
	t.Helper()
	if err := b.Read(context.Background(), always, func(l *billing.Line) error { sum += l.Cost; return nil }); err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestDeliveries(t *testing.T) {
	type step struct {
		files    map[string]string // by name; the time is that of the step
		total    float64
		warnings []string
	}
	aws := func(files ...string) string {
		return `{"dataFiles":["s3://bucket/prefix/` + strings.Join(files, `","s3://bucket/prefix/`) + `"]}`
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"a folder", []step{
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1"), "a/2.csv": header + row("02", "i-1", "2")}, 3, nil},
			{map[string]string{"a/2.csv": header + row("02", "i-1", "5")}, 6, nil},
		}},
		{"a newer folder replaces the days that it covers anew", []step{
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1") + row("02", "i-1", "2")}, 3, nil},
			{map[string]string{"b/1.csv": header + row("01", "i-1", "10")}, 12, nil},
		}},
		{"AWS overwrites an export", []step{
			{map[string]string{
				"e/data/BILLING_PERIOD=2026-10/e-00001.csv":         header + row("01", "i-1", "1"),
				"e/data/BILLING_PERIOD=2026-10/e-00002.csv":         header + row("02", "i-1", "2"),
				"e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/e-00001.csv", "e/data/BILLING_PERIOD=2026-10/e-00002.csv"),
			}, 3, nil},
			{map[string]string{
				"e/data/BILLING_PERIOD=2026-10/e-00001.csv":         header + row("01", "i-1", "4"),
				"e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/e-00001.csv"),
			}, 4, nil},
		}},
		{"AWS makes new exports", []step{
			{map[string]string{
				"e/data/BILLING_PERIOD=2026-10/run1/e-00001.csv":         header + row("01", "i-1", "1"),
				"e/metadata/BILLING_PERIOD=2026-10/run1/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/run1/e-00001.csv"),
			}, 1, nil},
			{map[string]string{"e/data/BILLING_PERIOD=2026-10/run2/e-00001.csv": header + row("01", "i-1", "2")}, 1, nil},
			{map[string]string{"e/metadata/BILLING_PERIOD=2026-10/run2/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/run2/e-00001.csv")}, 2, nil},
		}},
		{"the manifest is missing", []step{
			{map[string]string{"e/data/BILLING_PERIOD=2026-10/e-00001.csv": header + row("01", "i-1", "1")}, 0, []string{"bill aws: files of bills/e/BILLING_PERIOD=2026-10 have no manifest: they count once the exporter has written it"}},
			{map[string]string{"e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/e-00001.csv")}, 1, nil},
		}},
		{"a file of the manifest is missing", []step{
			{
				map[string]string{"e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json": aws("e/data/BILLING_PERIOD=2026-10/e-00001.csv")},
				0,
				[]string{"bill aws: manifest bills/e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json: s3://bucket/prefix/e/data/BILLING_PERIOD=2026-10/e-00001.csv, which it names, is not there yet: what was delivered before still counts"},
			},
			{map[string]string{"e/data/BILLING_PERIOD=2026-10/e-00001.csv": header + row("01", "i-1", "1")}, 1, nil},
		}},
		{"half a manifest", []step{
			{
				map[string]string{"e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json": `{"dataFiles":["s3`, "e/data/BILLING_PERIOD=2026-10/e-00001.csv": header + row("01", "i-1", "1")},
				0,
				[]string{"bill aws: manifest bills/e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json: it is no whole JSON: unexpected end of JSON input: what was delivered before still counts"},
			},
		}},
		{"Azure's month folders", []step{
			{map[string]string{
				"x/focus/20261001-20261031/1111-aaaa/part_0_0001.csv": "\ufeff" + header + row("01", "i-1", "1"),
				"x/focus/20261001-20261031/1111-aaaa/manifest.json":   `{"manifestVersion":"2024-04-01","blobs":[{"blobName":"x/focus/20261001-20261031/1111-aaaa/part_0_0001.csv","byteCount":` + length("\ufeff"+header+row("01", "i-1", "1")) + `}]}`,
			}, 1, nil},
			{map[string]string{
				"x/focus/20261001-20261031/2222-bbbb/part_0_0001.csv": header,
				"x/focus/20261001-20261031/2222-bbbb/manifest.json":   `{"blobs":[{"blobName":"x/focus/20261001-20261031/2222-bbbb/part_0_0001.csv","byteCount":` + length(header+row("01", "i-1", "7")) + `}]}`,
			}, 1, []string{"bill aws: manifest bills/x/focus/20261001-20261031/2222-bbbb/manifest.json: x/focus/20261001-20261031/2222-bbbb/part_0_0001.csv has " + length(header) + " bytes, not " + length(header+row("01", "i-1", "7")) + ": what was delivered before still counts"}},
			{map[string]string{"x/focus/20261001-20261031/2222-bbbb/part_0_0001.csv": header + row("01", "i-1", "7")}, 7, nil},
		}},
		{"shards of a BigQuery extract", []step{
			{map[string]string{"2026-10/focus-000000000000.csv": header + row("01", "i-1", "1"), "2026-10/focus-000000000001.csv": header + row("01", "i-2", "2")}, 3, nil},
		}},
		{"a malformed file leaves what was delivered before", []step{
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1")}, 1, nil},
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1") + row("02", "i-1", "one")}, 1, []string{`bill aws: file bills/a/1.csv: row 3, column EffectiveCost: "one" is not a number: nothing of this delivery counts, what was delivered before does`}},
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1e308") + row("02", "i-1", "1e308")}, 1, []string{`bill aws: file bills/a/1.csv: row 2, column EffectiveCost: the amount is beyond 1e+30, which no bill comes to: sums of such amounts mean nothing: nothing of this delivery counts, what was delivered before does`}},
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1") + row("02", "i-1", "2")}, 3, nil},
		}},
		{"a truncated file", []step{
			{map[string]string{"a/1.csv": header + row("01", "i-1", "1") + row("02", "i-1", "1")[:60]}, 0, []string{"bill aws: file bills/a/1.csv: row 3: it has not as many columns as the header: the file may be cut: nothing of this delivery counts, what was delivered before does"}},
		}},
		{"other files", []step{
			{map[string]string{"a/readme.txt": "hello", "a/1.csv": header + row("01", "i-1", "1"), "a/metadata.json": "{}"}, 1, nil},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			n := newIntake(bucketOf(t, dir))
			for i, s := range c.steps {
				for name, text := range s.files {
					put(t, dir, name, text, i)
				}
				b := look(t, n)
				if got := total(t, b); got != s.total {
					t.Errorf("step %d: the total is %v, want %v", i, got, s.total)
				}
				if got, want := strings.Join(b.Warnings(), "\n"), strings.Join(s.warnings, "\n"); got != want {
					t.Errorf("step %d: the warnings are\n%s\nwant\n%s", i, got, want)
				}
			}
		})
	}
}

// length is how many bytes a text has, as text.
func length(text string) string { return strconv.Itoa(len(text)) }

// TestDirectoriesAreNotNamed reads a bill of a directory in which much is wrong: neither warnings nor errors name the directory, which is
// nobody's business who reads costs.
func TestDirectoriesAreNotNamed(t *testing.T) {
	root := t.TempDir()
	n := func(dir string) *billing.Intake {
		return newIntake(bucketOf(t, t.TempDir()), billing.Source{
			Bill: billing.Bill{Name: "b", Settle: billing.DefaultSettle, Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucketOf(t, dir), Root: dir},
		})
	}
	dir := filepath.Join(root, "bills")
	put(t, dir, "a/good.csv", header+row("02", "i-1", "5"), 0)
	put(t, dir, "b/copy.csv", header+row("02", "i-1", "5"), 0)
	put(t, dir, "c/cut.csv", header+row("03", "i-1", "5")+"half", 0)
	put(t, dir, "d/damaged.parquet", "PAR1", 0)
	put(t, dir, "e/Manifest.json", "{", 0)
	put(t, dir, "f/huge.csv", header+row("04", "i-1", "1e308"), 0)
	if err := os.Symlink(filepath.Join(root, "nowhere"), filepath.Join(dir, "gone.csv")); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(root, "lost")
	if err := os.Mkdir(lost, 0o700); err != nil {
		t.Fatal(err)
	}
	vanished := n(lost)
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	for name, intake := range map[string]*billing.Intake{"wrong": n(dir), "empty": n(empty), "lost": vanished} {
		lookErr := intake.Look(t.Context())
		book, err := intake.Book(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := append(book.Warnings(), fmt.Sprint(lookErr))
		if len(said) < 2 && lookErr == nil {
			t.Errorf("%s: nothing is said", name)
		}
		for _, text := range said {
			if strings.Contains(text, root) {
				t.Errorf("%s: the directory is named: %s", name, text)
			}
		}
	}
}
