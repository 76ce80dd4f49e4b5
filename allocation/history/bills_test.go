package history_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
)

const billHeader = "BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,ResourceId,Tags\n"

// billRows are rows of a bill of October 2026, one for each cost.
func billRows(costs ...float64) string {
	var b strings.Builder
	b.WriteString(billHeader)
	for i, cost := range costs {
		fmt.Fprintf(&b, "payer/%%,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,sub,Usage,2026-10-%02dT00:00:00Z,2026-10-%02dT12:00:00Z,%s,i-%d,\"{\"\"n\"\":\"\"%d\"\"}\"\n",
			i%28+1, i%28+1, strconv.FormatFloat(cost, 'g', -1, 64), i, i)
	}
	return b.String()
}

// putBill writes a file of a bill, with a time that grows with n.
func putBill(t testing.TB, dir, name, text string, n int) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2026, 11, 2, 0, n, 0, 0, time.UTC)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, written, written)); err != nil {
		t.Fatal(err)
	}
}

// billIntake takes in the bill aws from a directory.
func billIntake(t testing.TB, k billing.Keeper, dir string) *billing.Intake {
	t.Helper()
	n, err := newBillIntake(k, dir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newBillIntake(k billing.Keeper, dir string) (*billing.Intake, error) {
	files, err := filesystem.NewBucket(dir)
	n := billing.NewIntake(k, log.NewNopLogger(), billing.IntakeOptions{Now: func() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) }})
	n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws/é", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: files, Where: dir}}}, time.UTC)
	return n, err
}

var october = allocation.Window{Start: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}

// billTotal is the sum of a book's lines.
func billTotal(ctx context.Context, b *billing.Book) (sum float64, err error) {
	err = b.Read(ctx, october, func(l *billing.Line) error { sum += l.Cost; return nil })
	return sum, err
}

// looked is the total after another look.
func looked(t testing.TB, n *billing.Intake) (float64, *billing.Book) {
	t.Helper()
	if err := n.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := n.Book(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum, err := billTotal(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return sum, b
}

// filesBelow are the files of a directory whose names match.
func filesBelow(t testing.TB, dir, end string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, end) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBillsKept(t *testing.T) {
	s, dir := directory(t, history.Options{Keep: time.Nanosecond})
	from := t.TempDir()
	putBill(t, from, "oct/1.csv", billRows(1, 2, 3), 0)
	n := billIntake(t, s.Bills(), from)
	if got, _ := looked(t, n); got != 6 {
		t.Errorf("the total is %v, want 6", got)
	}
	putBill(t, from, "oct/1.csv", billRows(1, 2, 30), 1)
	if got, _ := looked(t, n); got != 33 {
		t.Errorf("the total after another delivery is %v, want 33", got)
	}
	if _, err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(filesBelow(t, filepath.Join(dir, "bills_daily"), ".parquet")); got != 3 {
		t.Errorf("%d files of lines are there after cleaning, want 3", got)
	}
	if got, err := s.Unreferenced(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("nothing refers to %q, %v", got, err)
	}

	// Another process reads what is kept, and takes nothing in again.
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	reader := billing.NewIntake(s.Bills(), log.NewNopLogger(), billing.IntakeOptions{})
	reader.Set([]billing.Source{{Bill: billing.Bill{Name: "aws/é", Rates: billing.Rates{Currency: "USD"}}}}, time.FixedZone("+05:30", 19800))
	if got, b := looked(t, reader); got != 33 || len(b.Statements()) != 1 || b.Statements()[0].Account != "payer/%" {
		t.Errorf("a reader has %v of %d statements, want 33 of 1", got, len(b.Statements()))
	}
	if n, err := s.Bills().Retain(t.Context(), october.Start); n != 0 || err != nil {
		t.Errorf("%d statements are too old, %v, want 0", n, err)
	}
	if n, err := s.Bills().Retain(t.Context(), october.End); n != 1 || err != nil {
		t.Errorf("%d statements are too old, %v, want 1", n, err)
	}
}

// TestBillFoldersKept checks that what counts of folders without manifests is the same after another process started, and once it was cleaned.
func TestBillFoldersKept(t *testing.T) {
	s, dir := directory(t, history.Options{Keep: time.Nanosecond})
	from := t.TempDir()
	for i, costs := range [][]float64{{1, 2, 4}, {8}, {16, 32}} { // each restates the days that it has
		putBill(t, from, fmt.Sprintf("2026/10/%02d/1.csv", i+1), billRows(costs...), i)
	}
	const want = 16 + 32 + 4
	if got, _ := looked(t, billIntake(t, s.Bills(), from)); got != want {
		t.Errorf("the total is %v, want %v", got, want)
	}
	if _, err := s.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := history.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := history.New(d, history.Options{})
	n := billIntake(t, again.Bills(), t.TempDir())
	n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws/é", Rates: billing.Rates{Currency: "USD"}}}}, time.FixedZone("+05:30", 19800))
	if got, b := looked(t, n); got != want || len(b.Brought()) != 3 {
		t.Errorf("after a restart the total of %d deliveries is %v, want %v of 3", len(b.Brought()), got, want)
	}
	if got, err := again.Unreferenced(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("nothing refers to %q, %v", got, err)
	}
}

func TestBillsDamage(t *testing.T) {
	change := func(t *testing.T, name string, f func([]byte) []byte) {
		t.Helper()
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, f(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flip := func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	}
	for _, c := range []struct {
		name, end string
		seen      bool // before the file is read
		damage    func(*testing.T, string)
	}{
		{"a manifest", ".g1.json", true, func(t *testing.T, name string) { change(t, name, flip) }},
		{"an empty manifest", ".g1.json", true, func(t *testing.T, name string) { change(t, name, func([]byte) []byte { return nil }) }},
		{"a file is missing", ".parquet", true, func(t *testing.T, name string) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file is cut", ".parquet", true, func(t *testing.T, name string) {
			change(t, name, func(data []byte) []byte { return data[:len(data)-1] })
		}},
		{"a bit of a file", ".parquet", false, func(t *testing.T, name string) { change(t, name, flip) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir := directory(t, history.Options{Keep: time.Nanosecond})
			from := t.TempDir()
			putBill(t, from, "oct/1.csv", billRows(1, 2, 3), 0)
			if got, _ := looked(t, billIntake(t, s.Bills(), from)); got != 6 {
				t.Fatalf("the total is %v, want 6", got)
			}
			c.damage(t, filesBelow(t, dir, c.end)[0])
			d, err := history.OpenDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			s = history.New(d, history.Options{Keep: time.Nanosecond}) // as another process, which has read nothing yet
			list, damaged, err := s.Bills().List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !c.seen {
				for i := range list {
					err := s.Bills().Verify(t.Context(), &list[i])
					if corrupt, ok := errors.AsType[*history.CorruptError](err); ok {
						damaged = append(damaged, corrupt)
					}
				}
			}
			if len(damaged) != 1 || !strings.Contains(damaged[0].Error(), "is damaged") || !strings.Contains(damaged[0].Error(), "read again from the bill's own files") {
				t.Errorf("the damage is %v, want one with a remedy", damaged)
			}
			s = history.New(d, history.Options{Keep: time.Nanosecond})
			n := billIntake(t, s.Bills(), from)
			if !c.seen { // reading finds it, and the next look mends it
				b, err := n.Book(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := billTotal(t.Context(), b); err == nil {
					t.Error("reading a damaged file succeeds")
				}
			}
			if got, b := looked(t, n); got != 6 || len(b.Warnings()) > 0 {
				t.Errorf("the total is %v with the warnings %q after another look, want 6 with none", got, b.Warnings())
			}
			if _, err := s.Clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, damaged, err := s.Bills().List(t.Context()); err != nil || len(damaged) > 0 {
				t.Errorf("%v is damaged, %v", damaged, err)
			}
		})
	}
}

// failingBackend is a backend whose writes fail from the n-th on.
type failingBackend struct {
	history.Backend
	mu   sync.Mutex
	left int
}

var errFull = errors.New("no space left")

func (b *failingBackend) Put(ctx context.Context, name string, data []byte) error {
	b.mu.Lock()
	b.left--
	left := b.left
	b.mu.Unlock()
	if left < 0 {
		return errFull
	}
	return b.Backend.Put(ctx, name, data)
}

// TestBillsPartly lets every write of taking in a delivery fail: what was there before stays, and the next look succeeds.
func TestBillsPartly(t *testing.T) {
	for writes := range 5 {
		t.Run(strconv.Itoa(writes), func(t *testing.T) {
			dir, from := t.TempDir(), t.TempDir()
			d, err := history.OpenDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			b := &failingBackend{Backend: d, left: 100}
			s := history.New(b, history.Options{})
			putBill(t, from, "oct/1.csv", billRows(1, 2, 3), 0)
			n := billIntake(t, s.Bills(), from)
			if got, _ := looked(t, n); got != 6 {
				t.Fatalf("the total is %v, want 6", got)
			}
			putBill(t, from, "oct/1.csv", billRows(1, 2, 30), 1)
			b.left = writes
			want := 6.0
			if writes == 4 { // all but the record of the delivery
				want = 33
			}
			got, book := looked(t, n)
			if got != want || len(book.Warnings()) != 1 || !strings.Contains(book.Warnings()[0], errFull.Error()) {
				t.Errorf("the total is %v with the warnings %q, want %v with one that names the failure", got, book.Warnings(), want)
			}
			b.left = 100
			if got, book := looked(t, n); got != 33 || len(book.Warnings()) > 0 {
				t.Errorf("the total is %v with the warnings %q, want 33 with none", got, book.Warnings())
			}
		})
	}
}

// failingBucket is a bucket whose reads fail.
type failingBucket struct {
	objstore.Bucket
	err error
}

func (b *failingBucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Bucket.Get(ctx, name)
}

func (b *failingBucket) Iter(ctx context.Context, dir string, f func(string) error, o ...objstore.IterOption) error {
	if b.err != nil && strings.Contains(b.err.Error(), "list") {
		return b.err
	}
	return b.Bucket.Iter(ctx, dir, f, o...)
}

func TestBillsBucketFails(t *testing.T) {
	for _, why := range []string{"cannot list", "cannot read"} {
		t.Run(why, func(t *testing.T) {
			s, _ := directory(t, history.Options{})
			from := t.TempDir()
			putBill(t, from, "oct/1.csv", billRows(1, 2, 3), 0)
			files, err := filesystem.NewBucket(from)
			if err != nil {
				t.Fatal(err)
			}
			b := &failingBucket{Bucket: files}
			n := billIntake(t, s.Bills(), from)
			n.Set([]billing.Source{{Bill: billing.Bill{Name: "aws/é", Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: b, Where: "bucket"}}}, time.UTC)
			if got, _ := looked(t, n); got != 6 {
				t.Fatalf("the total is %v, want 6", got)
			}
			putBill(t, from, "oct/1.csv", billRows(1, 2, 30), 1)
			b.err = errors.New(why)
			if got, book := looked(t, n); got != 6 || !slices.ContainsFunc(book.Warnings(), func(w string) bool { return strings.Contains(w, why) }) {
				t.Errorf("the total is %v with the warnings %q, want 6 with one that says %s", got, book.Warnings(), why)
			}
			b.err = nil
			if got, book := looked(t, n); got != 33 || len(book.Warnings()) > 0 {
				t.Errorf("the total is %v with the warnings %q, want 33 with none", got, book.Warnings())
			}
		})
	}
}
