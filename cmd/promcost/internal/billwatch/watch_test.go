package billwatch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billcheck"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/cmd/promcost/internal/billwatch"
	"github.com/promcost/promcost/collector"
)

// oneNode is a ledger of a cluster whose only node costs 24 a day.
type oneNode struct{}

func (oneNode) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			s := allocation.NewSet(w, allocation.NewDict())
			n := allocation.Node{Cluster: "prod", Name: "n1", ProviderID: "aws:///eu-west-1a/i-0123", InstanceType: "m5.large", Start: w.Start, End: w.End}
			n.Hours[allocation.CPU], n.Cost[allocation.CPU], n.Idle[allocation.CPU] = w.Duration().Hours(), w.Duration().Hours(), w.Duration().Hours()
			s.Nodes = append(s.Nodes, n)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// flaky is a bucket that fails when told.
type flaky struct {
	objstore.Bucket
	fails atomic.Bool
}

func (f *flaky) Iter(ctx context.Context, dir string, do func(string) error, o ...objstore.IterOption) error {
	if f.fails.Load() {
		return errors.New("no answer")
	}
	return f.Bucket.Iter(ctx, dir, do, o...)
}

func (f *flaky) IterWithAttributes(ctx context.Context, dir string, do func(objstore.IterObjectAttributes) error, o ...objstore.IterOption) error {
	if f.fails.Load() {
		return errors.New("no answer")
	}
	return f.Bucket.IterWithAttributes(ctx, dir, do, o...)
}

// rig is a bill in a directory, what takes it in, and a watch.
type rig struct {
	dir    string
	files  *flaky
	intake *billing.Intake
	watch  *billwatch.Watch
	now    time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{dir: t.TempDir(), now: time.Date(2026, 10, 5, 12, 0, 0, 0, time.UTC)}
	local, err := filesystem.NewBucket(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	r.files = &flaky{Bucket: local}
	now := func() time.Time { return r.now }
	r.intake = billing.NewIntake(billing.NewMemory((*memory.Account)(nil)), log.NewNopLogger(), billing.IntakeOptions{Now: now})
	r.configure()
	checker := billcheck.New(oneNode{}, r.intake, time.UTC, nil)
	r.watch = billwatch.New(billwatch.Options{Checker: func() *billcheck.Checker { return checker }, Zone: func() *time.Location { return time.UTC }, Now: now, Logger: log.NewNopLogger()})
	return r
}

// configure sets the bill, as reading the config file does.
func (r *rig) configure() {
	r.intake.Set([]billing.Source{bill("aws", r.files)}, time.UTC)
}

// bill is a source of a bill in a bucket.
func bill(name string, bucket objstore.Bucket) billing.Source {
	return billing.Source{Bill: billing.Bill{Name: name, Settle: 24 * time.Hour, Rates: billing.Rates{Currency: "USD"}}, Files: &billing.Files{Bucket: bucket, Where: "s3"}}
}

// deliver writes a file of the bill: on each day up to one, the node costs so much, and a bucket 3.
func (r *rig) deliver(t *testing.T, days int, node float64) {
	t.Helper()
	var b strings.Builder
	b.WriteString("BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ProviderName,ServiceName,ServiceCategory,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,BilledCost,ResourceId,Tags\n")
	for day := 1; day <= days; day++ {
		of := fmt.Sprintf("2026-10-%02dT00:00:00Z,2026-10-%02dT00:00:00Z", day, day+1)
		for _, line := range [...]string{
			fmt.Sprintf("EC2,Compute,Usage,%s,%v,%v,i-0123,", of, node, node),
			fmt.Sprintf("S3,Storage,Usage,%s,3,3,backups,", of),
		} {
			b.WriteString("payer,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,USD,prod,AWS," + line + "\n")
		}
	}
	next := filepath.Join(r.dir, "next")
	if err := os.WriteFile(next, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2026, 10, 5, 0, days, int(node), 0, time.UTC) // another time for each delivery
	if err := os.Chtimes(next, written, written); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(r.dir, "bill.csv")); err != nil {
		t.Fatal(err)
	}
}

// state looks at the bills, and returns the state as text: until when they reach, ratios, and costs of yesterday by service.
func (r *rig) state(t *testing.T) string {
	t.Helper()
	if err := r.watch.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return text(r.watch.State())
}

func text(s collector.BillState) string {
	var parts []string
	for _, x := range s.Reach {
		parts = append(parts, "until "+x.Until.Format(time.DateOnly))
	}
	for _, x := range s.Matched {
		parts = append(parts, fmt.Sprintf("matched %.2f", x.Ratio))
	}
	for _, x := range s.Nodes {
		parts = append(parts, fmt.Sprintf("%s %s %v", x.Cluster, x.InstanceType, x.Ratio))
	}
	for _, x := range s.Cloud {
		parts = append(parts, fmt.Sprintf("%s %s %s %v", x.Account, x.Service, x.Category, x.Cost))
	}
	return strings.Join(parts, ", ")
}

// TestWatch verifies what is known of bills, step by step.
func TestWatch(t *testing.T) {
	r := newRig(t)
	look := func(t *testing.T) {
		if err := r.intake.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		do   func(t *testing.T)
		want string
	}{
		{"no delivery", look, ""},
		{"all days that are over", func(t *testing.T) { r.deliver(t, 4, 12); look(t) }, "until 2026-10-04, matched 0.80, prod m5.large 2, prod EC2 Virtual Machine 12, prod S3 Other 3"},
		{"a day later, yesterday is not known yet", func(t *testing.T) { r.now = r.now.AddDate(0, 0, 1); look(t) }, "until 2026-10-05, matched 0.80, prod m5.large 2"},
		{"it is delivered", func(t *testing.T) { r.deliver(t, 5, 12); look(t) }, "until 2026-10-05, matched 0.80, prod m5.large 2, prod EC2 Virtual Machine 12, prod S3 Other 3"},
		{"the bucket fails", func(t *testing.T) { r.files.fails.Store(true); look(t) }, "until 2026-10-05, matched 0.80, prod m5.large 2, prod EC2 Virtual Machine 12, prod S3 Other 3"},
		{"it answers with a revised bill", func(t *testing.T) { r.files.fails.Store(false); r.deliver(t, 5, 24); look(t) }, "until 2026-10-05, matched 0.89, prod m5.large 1, prod EC2 Virtual Machine 24, prod S3 Other 3"},
		{"no bills are configured any more", func(t *testing.T) { r.watch.Checker = func() *billcheck.Checker { return nil } }, ""},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.do(t)
			if diff := cmp.Diff(step.want, r.state(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			book, err := r.intake.Book(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Join(book.Warnings(), "; ")
			if strings.Contains(told, "no answer: what was delivered before still counts") != r.files.fails.Load() {
				t.Errorf("warnings %q", told)
			}
		})
	}
}

// TestBillsThatReachFurther verifies that a vendor's bill of later days leaves what is known of the cloud provider's.
func TestBillsThatReachFurther(t *testing.T) {
	r := newRig(t)
	r.now = r.now.AddDate(0, 0, 2)
	r.deliver(t, 4, 12)
	dir := t.TempDir()
	local, err := filesystem.NewBucket(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := "BillingAccountId,BillingPeriodStart,BillingCurrency,ProviderName,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost\n" +
		"org,2026-10-01T00:00:00Z,USD,Clearview,Usage,2026-10-01T00:00:00Z,2026-10-07T00:00:00Z,6\n"
	file, written := filepath.Join(dir, "vendor.csv"), r.now.Add(-time.Hour)
	if err := errors.Join(os.WriteFile(file, []byte(lines), 0o600), os.Chtimes(file, written, written)); err != nil {
		t.Fatal(err)
	}
	r.intake.Set([]billing.Source{bill("aws", r.files), bill("vendor", local)}, time.UTC)
	if err := r.intake.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.state(t), "until 2026-10-05, until 2026-10-06, matched 0.00, matched 0.80, prod m5.large 2,   Other 1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNewDeliveries verifies that a new delivery is seen at the next interval, and at once when the configuration is read again.
func TestNewDeliveries(t *testing.T) {
	for _, tc := range []struct {
		name     string
		interval time.Duration
		after    func(*rig) // the delivery was written
		looks    int        // until it must be seen
	}{
		{"interval", time.Millisecond, func(*rig) {}, 2}, // the first may have begun before the delivery
		{"reload", time.Hour, (*rig).configure, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.deliver(t, 4, 12)
			ctx, cancel := context.WithCancel(t.Context())
			looked, ended := make(chan bool), make(chan bool)
			go func() {
				defer close(ended)
				r.intake.Run(ctx, func() time.Duration { // is called after each look
					select {
					case looked <- true:
					case <-ctx.Done():
					}
					return tc.interval
				})
			}()
			<-looked
			<-looked // newRig has set the bill
			if got := r.state(t); !strings.Contains(got, "prod m5.large 2") {
				t.Errorf("first: %s", got)
			}
			r.deliver(t, 4, 24)
			tc.after(r)
			for range tc.looks {
				<-looked
			}
			if got := r.state(t); !strings.Contains(got, "prod m5.large 1,") {
				t.Errorf("then: %s", got)
			}
			cancel()
			<-ended
		})
	}
}
