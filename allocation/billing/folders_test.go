package billing_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/klauspost/compress/gzip"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
)

// sku are the columns of the files of TestFolders.
const sku = "BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ProviderName,ChargeCategory,ChargeClass,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,BilledCost,ResourceId,SkuId,ChargeDescription\n"

// charged is a row of such a file, of October 2026: of a day, or of the month for day 0.
func charged(category, class string, day int, resource string, cost float64) string {
	start, end := time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, day+1, 0, 0, 0, 0, time.UTC)
	if day == 0 {
		start, end = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	}
	return fmt.Sprintf("payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,AWS,%s,%s,%s,%s,%v,%v,%s,sku,\n",
		category, class, start.Format(time.RFC3339), end.Format(time.RFC3339), cost, cost, resource)
}

// usage are rows of usage of a day, of 1 each.
func usage(day int, resources ...string) string {
	var text strings.Builder
	for _, r := range resources {
		text.WriteString(charged("Usage", "", day, r, 1))
	}
	return text.String()
}

// described is a row of usage of a day, of 1, without an SKU: its description says what is charged.
func described(day int, resource, description string) string {
	return strings.ReplaceAll(charged("Usage", "", day, resource, 1), ",sku,", ",,"+description)
}

// describedCredit is a row of a credit of 2, without an SKU.
func describedCredit(description string) string {
	return strings.ReplaceAll(charged("Credit", "", 1, "", -2), ",sku,", ",,"+description)
}

// TestFolders takes in folders without manifests, one after the other, and checks what counts of all of them.
func TestFolders(t *testing.T) {
	ten := []string{"i-0", "i-1", "i-2", "i-3", "i-4", "i-5", "i-6", "i-7", "i-8", "i-9"}
	tax := charged("Tax", "", 0, "", 31)
	for _, tt := range []struct {
		name      string
		restating billing.Restating
		folders   []string // the text of each, the oldest first
		want      float64
		warnings  string // a part of them, "" for none
	}{
		{"day folders", 0, []string{usage(1, ten...), usage(2, ten...), usage(3, ten...)}, 30, ""},
		{"day folders that repeat the tax of the month", 0, []string{usage(1, ten...) + tax, usage(2, ten...) + tax, usage(3, ten...) + tax}, 61, ""},
		{"day folders with the tax of each", 0, []string{usage(1, ten...) + charged("Tax", "", 1, "", 2), usage(2, ten...) + charged("Tax", "", 2, "", 3)}, 25, ""},
		{"a day with late lines of other resources", 0, []string{usage(1, ten...), usage(2, ten...) + usage(1, "late-1", "late-2")}, 22, ""},
		{"a day with late lines of the same resources", 0, []string{usage(1, ten...), usage(2, ten...) + charged("Usage", "", 1, "i-0", 5)}, 25, "both charge 1 resources from 2026-10-01 to 2026-10-01, 1.00 and 5.00, and both count: set deliveries: replace"},
		{"the month so far, anew each day", 0, []string{usage(1, ten...), usage(1, ten...) + usage(2, ten...), usage(1, ten...) + usage(2, ten...) + usage(3, ten...)}, 30, ""},
		{"a day restated at other costs", 0, []string{usage(1, ten...) + usage(2, ten...), strings.ReplaceAll(usage(2, ten...), ",1,1,", ",3,3,")}, 40, ""},
		{"a day restated with eight of ten lines", 0, []string{usage(1, ten...), usage(1, ten[2:]...)}, 8, ""},
		{"seven of ten lines of a day", 0, []string{usage(1, ten...), usage(1, ten[3:]...)}, 17, "both charge 7 resources"},
		{"a correction", 0, []string{usage(1, ten...), charged("Usage", "Correction", 1, "i-0", -1)}, 9, ""},
		{"a correction stays over a restated day", 0, []string{usage(1, ten...) + charged("Usage", "Correction", 1, "i-0", -1), usage(1, ten...)}, 9, ""},
		{"a correction that is delivered again", 0, []string{usage(1, ten...) + charged("Usage", "Correction", 1, "i-0", -1), usage(1, ten...) + charged("Usage", "Correction", 1, "i-0", -1)}, 9, ""},
		{"two equal credits, then one of them", 0, []string{usage(1, ten...) + charged("Credit", "", 1, "", -2) + charged("Credit", "", 1, "", -2), charged("Credit", "", 1, "", -2)}, 6, ""},
		{"a tax of another amount", 0, []string{usage(1, ten...) + tax, charged("Tax", "", 0, "", 62)}, 103, "both charge 1 resources from 2026-10-01 to 2026-10-31, 31.00 and 62.00"},
		{"accounts side by side", 0, []string{usage(1, ""), strings.ReplaceAll(usage(1, ""), ",sub,", ",sub-2,")}, 2, ""},
		{"services side by side", 0, []string{described(1, "i-0", "compute"), described(1, "i-0", "network")}, 2, "both charge 1 resources"},
		{"teams side by side, without resources", 0, []string{described(1, "", "compute"), described(1, "", "network"), described(1, "", "storage")}, 3, "both charge 1 resources"},
		{"a day without resources and SKUs restated", 0, []string{described(1, "", "compute"), strings.ReplaceAll(described(1, "", "compute"), ",1,1,", ",3,3,")}, 3, ""},
		{"a day restated in another case", 0, []string{usage(1, "/Subscriptions/A/x"), usage(1, "/subscriptions/a/X")}, 1, ""},
		{"credits of equal amounts", 0, []string{usage(1, ten...) + describedCredit("one"), usage(2, ten...) + describedCredit("two")}, 16, ""},
		{"adds", billing.Adds, []string{usage(1, ten...) + tax, usage(1, ten...) + tax}, 82, ""},
		{"replaces", billing.Replaces, []string{usage(1, ten...) + tax, usage(2, ten...)}, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			n := billing.NewIntake(billing.NewMemory((*memory.Account)(nil)), log.NewNopLogger(), billing.IntakeOptions{Now: now})
			n.Set([]billing.Source{{
				Bill:  billing.Bill{Name: "aws", Restating: tt.restating, Rates: billing.Rates{Currency: "USD"}},
				Files: &billing.Files{Bucket: bucketOf(t, dir), Where: "bills"},
			}}, time.UTC)
			for i, text := range tt.folders {
				put(t, dir, fmt.Sprintf("2026/10/%02d/focus.csv", i+1), sku+text, i)
				if i%2 == 0 {
					look(t, n) // some looks find one new folder, others several
				}
			}
			b := look(t, n)
			if got := total(t, b); got < tt.want-1e-9 || got > tt.want+1e-9 {
				t.Errorf("the total is %v, want %v", got, tt.want)
			}
			sum := 0.0
			for _, s := range b.Statements() {
				for _, x := range s.Totals {
					sum += x.Costs[billing.Effective]
				}
			}
			if sum < tt.want-1e-9 || sum > tt.want+1e-9 || len(b.Statements()) != 1 {
				t.Errorf("%d statements have totals of %v, want one of %v", len(b.Statements()), sum, tt.want)
			}
			if got := strings.Join(b.Warnings(), "\n"); !strings.Contains(got, tt.warnings) || tt.warnings == "" && got != "" {
				t.Errorf("the warnings are %q, want %q", got, tt.warnings)
			}
		})
	}
}

// readingKeeper counts how often statements are read.
type readingKeeper struct {
	billing.Keeper
	reads int
}

// Read implements billing.Keeper.
func (k *readingKeeper) Read(ctx context.Context, s *billing.Statement, w allocation.Window, f func(*billing.Line) error) error {
	k.reads++
	return k.Keeper.Read(ctx, s, w, f)
}

// TestFoldersAreComparedOnce checks that a look that finds nothing new reads no lines again.
func TestFoldersAreComparedOnce(t *testing.T) {
	dir, k := t.TempDir(), &readingKeeper{Keeper: billing.NewMemory((*memory.Account)(nil))}
	n := billing.NewIntake(k, log.NewNopLogger(), billing.IntakeOptions{Now: now})
	n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucketOf(t, dir), Where: "bills"}}}, time.UTC)
	put(t, dir, "a/1.csv", sku+usage(1, "i-1")+usage(2, "i-1"), 0)
	put(t, dir, "b/1.csv", sku+usage(2, "i-1"), 1)
	warnings := look(t, n).Warnings()
	reads := k.reads
	if again := look(t, n).Warnings(); reads == 0 || k.reads != reads || !slices.Equal(again, warnings) {
		t.Errorf("%d reads at first, %d more at a look that finds nothing new; the warnings are %q, then %q", reads, k.reads-reads, warnings, again)
	}
	put(t, dir, "b/1.csv", sku+usage(2, "i-2"), 2)
	if got := total(t, look(t, n)); got != 3 || k.reads == reads {
		t.Errorf("the total of folders of which one changed is %v, want 3", got)
	}
}

// TestFoldersAndManifests checks that a manifest's delivery takes the place of older folders, and that newer folders stand beside it.
func TestFoldersAndManifests(t *testing.T) {
	dir := t.TempDir()
	n := newIntake(bucketOf(t, dir))
	want := func(what string, cost float64) {
		t.Helper()
		if got := total(t, look(t, n)); got != cost {
			t.Errorf("%s: the total is %v, want %v", what, got, cost)
		}
	}
	put(t, dir, "a/1.csv", header+row("01", "i-1", "1"), 0)
	put(t, dir, "b/1.csv", header+row("02", "i-1", "2"), 1)
	want("two folders", 3)
	put(t, dir, "m/1.csv", header+row("01", "i-1", "4")+row("02", "i-1", "4"), 2)
	put(t, dir, "m/manifest.json", `{"dataFiles":["m/1.csv"]}`, 3)
	want("a manifest", 8)
	put(t, dir, "c/1.csv", header+row("03", "i-1", "16"), 4)
	want("a newer folder", 24)
	put(t, dir, "d/1.csv", header+row("01", "i-1", "5"), 5)
	want("a folder that restates a day", 25)
}

// TestFoldersOfOlderVersions checks that what versions kept that had one delivery of each billing period counts until its folder is read again.
func TestFoldersOfOlderVersions(t *testing.T) {
	of := func(folder, delivery string, hour int) billing.Statement {
		s := billing.Statement{Key: billing.Key{Bill: "aws", Account: "payer", Start: at(t, "2026-10-01T00"), Folder: folder}, Delivery: delivery, Delivered: at(t, "2026-11-01T00").Add(time.Duration(hour) * time.Hour)}
		s.Lines, s.Totals = 1, []billing.Total{{Currency: "USD", Lines: 1, Costs: billing.Costs{1}}}
		return s
	}
	for _, tt := range []struct {
		name string
		kept []billing.Statement
		want float64
	}{
		{"alone", []billing.Statement{of("", "a/", 1)}, 1},
		{"beside another folder", []billing.Statement{of("", "a/", 1), of("b/", "b/", 2)}, 2},
		{"read again", []billing.Statement{of("", "a/", 1), of("a/", "a/", 1)}, 1},
		{"older than a manifest", []billing.Statement{of("a/", "a/", 1), of("b/", "b/", 2), of("", "m/manifest.json", 3)}, 1},
		{"newer than a manifest", []billing.Statement{of("a/", "a/", 1), of("", "m/manifest.json", 2), of("b/", "b/", 3)}, 2},
	} {
		list, err := billing.Stand(t.Context(), tt.kept)
		if err != nil || len(list) != 1 || len(list[0].Totals) != 1 || list[0].Totals[0].Costs[billing.Effective] != tt.want {
			t.Errorf("%s: %+v, %v, want a cost of %v", tt.name, list, err, tt.want)
		}
	}
}

// TestFilesNamedTwice checks that a file that a manifest names twice counts once, and that two files of one content count with a warning.
func TestFilesNamedTwice(t *testing.T) {
	dir := t.TempDir()
	n := newIntake(bucketOf(t, dir))
	put(t, dir, "x=1/1 .csv", header+row("01", "i-1", "1"), 0)
	put(t, dir, "x=1/manifest.json", `{"dataFiles":["https://bucket.example/x%3D1/1%20.csv?versionId=2","s3://bucket/prefix/x=1/1 .csv","x=1/1 .csv","/x=1/1 .csv"],"blobs":[{"blobName":"x=1/1 .csv"}]}`, 1)
	b := look(t, n)
	if got := total(t, b); got != 1 || len(b.Warnings()) > 0 {
		t.Errorf("a file that is named five times costs %v, want 1: %q", got, b.Warnings())
	}
	put(t, dir, "y/1.csv", header+row("02", "i-1", "3"), 2)
	put(t, dir, "y/copy of 1.csv", header+row("02", "i-1", "3"), 2)
	put(t, dir, "y/2.csv", header+row("02", "i-1", "4"), 2)
	b = look(t, n)
	if got, text := total(t, b), strings.Join(b.Warnings(), "\n"); got != 11 || text != "bill aws: files bills/y/1.csv and bills/y/copy of 1.csv have the same content: both count, 3.00 USD each: delete one if it is a copy" {
		t.Errorf("the total is %v with the warnings %q, want 11 and one of files of the same content", got, text)
	}
}

// TestHalfWritten checks that files that may still be written do not count, and that those without their end never do.
func TestHalfWritten(t *testing.T) {
	full := header + row("01", "i-1", "1") + row("02", "i-1", "2")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(full)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	other := header + row("03", "i-1", "10")
	for _, tt := range []struct {
		name, file, text string
		want             float64
		warning          string // a pattern; "" for none
	}{
		{"whole", "2.csv", full, 13, ""},
		{"without the last newline", "2.csv", strings.TrimSuffix(full, "\n"), 13, ""},
		{"cut within a line", "2.csv", full[:len(full)-30], 10, `file bills/a/2.csv: row 3: it has not as many columns as the header: the file may be cut: nothing of this file counts`},
		{"cut within quotes", "2.csv", header + row("01", "i-1", "1") + `"payer`, 10, `file bills/a/2.csv: row 3, .*nothing of this file counts`},
		{"cut within the names of columns", "2.csv", header[:40], 10, `file bills/a/2.csv: it is not FOCUS: .*nothing of this file counts`},
		{"empty", "2.csv", "", 10, `file bills/a/2.csv: it is empty.*nothing of this file counts`},
		{"cut gzip", "2.csv.gz", packed.String()[:packed.Len()-9], 10, `file bills/a/2.csv.gz: it ends too early or is damaged: unexpected EOF: nothing of this file counts`},
		{"the beginning of a gzip", "2.csv.gz", packed.String()[:5], 10, `file bills/a/2.csv.gz: it is no whole gzip.*nothing of this file counts`},
		{"the first byte of a gzip", "2.csv.gz", packed.String()[:1], 10, `file bills/a/2.csv.gz: it is not FOCUS: .*nothing of this file counts`},
		{"Parquet without its end", "2.parquet", "PAR1 and some more bytes", 10, `file bills/a/2.parquet: .*its end is .*: it may be cut: nothing of this file counts`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			clock := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			n := billing.NewIntake(billing.NewMemory((*memory.Account)(nil)), log.NewNopLogger(), billing.IntakeOptions{Now: func() time.Time { return clock }})
			n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucketOf(t, dir), Where: "bills"}}}, time.UTC)
			put(t, dir, "a/1.csv", other, 0)
			check := func(when string, want float64, warning string) {
				t.Helper()
				b := look(t, n)
				text := strings.Join(b.Warnings(), "\n")
				if got := total(t, b); got != want || warning == "" && text != "" || !regexp.MustCompile(warning).MatchString(text) {
					t.Errorf("%s: the total is %v with the warnings %q, want %v and %q", when, got, text, want, warning)
				}
			}
			const waits = "may still be written: what its folder had before counts, and this from the first look on at which it did not change for 2m0s"
			touch := func(at time.Time) {
				t.Helper()
				if err := os.Chtimes(filepath.Join(dir, "a", tt.file), at, at); err != nil {
					t.Fatal(err)
				}
			}
			check("before", 10, "")
			put(t, dir, "a/"+tt.file, tt.text, 0)
			touch(clock.Add(-time.Minute))
			check("a minute old", 10, waits)
			touch(clock.Add(time.Hour))
			check("of a clock that is ahead", 10, waits)
			clock = clock.Add(time.Minute)
			check("of a clock that is ahead, a minute later", 10, waits)
			clock = clock.Add(time.Minute)
			check("of a clock that is ahead, two minutes later", tt.want, tt.warning)
			clock = clock.Add(3 * time.Hour)
			check("later", tt.want, tt.warning)
		})
	}
}

// TestHalfOfANewFolder checks that of a folder that is new, files count that are whole, and the others later.
func TestHalfOfANewFolder(t *testing.T) {
	dir := t.TempDir()
	n := newIntake(bucketOf(t, dir))
	put(t, dir, "a/1.csv", header+row("01", "i-1", "1"), 0)
	put(t, dir, "a/2.csv", header+row("02", "i-1", "2"), 0)
	young := now().Add(-time.Second)
	if err := os.Chtimes(filepath.Join(dir, "a", "2.csv"), young, young); err != nil {
		t.Fatal(err)
	}
	b := look(t, n)
	if got, text := total(t, b), strings.Join(b.Warnings(), "\n"); got != 1 || text != "bill aws: file bills/a/2.csv may still be written: it counts from the first look on at which it did not change for 2m0s" {
		t.Errorf("the total is %v with the warnings %q, want 1 and one of the file that may still be written", got, text)
	}
	put(t, dir, "a/2.csv", header+row("02", "i-1", "2"), 1)
	if got := total(t, look(t, n)); got != 3 {
		t.Errorf("the total is %v, want 3", got)
	}
}
