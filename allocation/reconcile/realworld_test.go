package reconcile_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/history"
	realledger "github.com/promcost/promcost/allocation/ledger"
	"github.com/promcost/promcost/allocation/ledger/ledgertest"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/promquery"
	"github.com/promcost/promcost/promquery/blocks"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// newRealWorld is a world in which all is real but the cluster: samples in blocks, the engine, a ledger that keeps hours and days
// in a history, and bills in files that are taken in by the same history. Its days are around a change of clocks.
func newRealWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	zone, err := time.LoadLocation([]string{"Europe/Berlin", "UTC", "Asia/Kolkata"}[seed%3])
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 3, 30, 6, 0, 0, 0, zone)
	begin := time.Date(2026, 3, 28, 0, 0, 0, 0, zone)
	w := &world{zone: zone, window: allocation.Window{Start: begin, End: time.Date(2026, 3, 30, 0, 0, 0, 0, zone)}}
	now := func() time.Time { return end.AddDate(0, 0, 3) }
	store := history.New(history.NewBucket(objstore.NewInMemBucket(), history.BucketOptions{}), history.Options{})
	kept := ledgertest.New(engineOf(t, democluster.Config{
		End: end, Duration: end.Sub(begin) + 2*time.Hour, Nodes: 4, Pods: 40, ScrapeInterval: 5 * time.Minute, Seed: int64(seed + 1),
	}), ledgertest.History{Store: store}, log.NewNopLogger(), ledgertest.Options{Ledger: realledger.Options{Now: now, Zone: zone, Resolution: allocation.AutoResolution}})
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := kept.Fill(t.Context(), allocation.Window{Start: begin, End: end}, 2, nil); err != nil {
		t.Fatal(err)
	}
	w.ledger = kept.Ledger
	w.set = func(of allocation.Window) (*allocation.Set, error) {
		for set, err := range kept.Sets(t.Context(), allocation.Query{Window: of, Stored: true, Resolution: allocation.AutoResolution}) {
			if errors.Is(err, allocation.ErrNoData) {
				return allocation.NewSet(of, allocation.NewDict()), nil
			}
			return set, err
		}
		return nil, errors.New("no set")
	}
	bills := newIntakeOf(t, store.Bills(), w.deliver(t, rand.New(rand.NewPCG(seed, 22))), zone, now)
	if w.book, err = bills.Book(t.Context()); err != nil {
		t.Fatal(err)
	}
	if texts := w.book.Warnings(); len(texts) > 0 {
		t.Fatal(texts)
	}
	w.r = reconcile.New(w.ledger, bills, reconcile.Options{Zone: zone, Now: now})
	return w
}

// engineOf computes from the blocks of a demo cluster.
func engineOf(t *testing.T, c democluster.Config) *promquery.Engine {
	t.Helper()
	_, dir := promtest.WriteDemo(t, democluster.New, c)
	db, err := blocks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return promquery.NewEngine(db, promquery.Config{Clusters: promquery.Clusters{Labels: []string{"cluster"}, Default: democluster.ClusterID}, Rates: pricing.Default()})
}

// newIntakeOf takes in the bills of a bucket: aws, which may spread tax, and vendor.
func newIntakeOf(t *testing.T, keeper billing.Keeper, files objstore.Bucket, zone *time.Location, now func() time.Time) *billing.Intake {
	t.Helper()
	rates := billing.Rates{Currency: "USD", Always: map[string]float64{"EUR": 1.08}}
	n := billing.NewIntake(keeper, log.NewNopLogger(), billing.IntakeOptions{Now: now})
	n.Set([]billing.Source{
		{Bill: billing.Bill{Name: "aws", Rates: rates, Settle: time.Hour, Include: []billing.Category{billing.Tax}, Restating: billing.Replaces}, Files: &billing.Files{Bucket: objstore.NewPrefixedBucket(files, "aws"), Where: "aws"}},
		{Bill: billing.Bill{Name: "vendor", Rates: rates, Settle: time.Hour, Restating: billing.Replaces}, Files: &billing.Files{Bucket: objstore.NewPrefixedBucket(files, "vendor"), Where: "vendor"}},
	}, zone)
	if err := n.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// settled is a bucket whose files were written long ago, one after the other by their names.
type settled struct{ objstore.Bucket }

// Attributes implements objstore.BucketReader.
func (b settled) Attributes(ctx context.Context, name string) (objstore.ObjectAttributes, error) {
	a, err := b.Bucket.Attributes(ctx, name)
	a.LastModified = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	if strings.Contains(name, "/2/") {
		a.LastModified = a.LastModified.Add(time.Hour)
	}
	return a, err
}

// deliver writes random bills of the world's assets: a first delivery that a second one restates.
func (w *world) deliver(t *testing.T, rng *rand.Rand) objstore.Bucket {
	t.Helper()
	files := settled{objstore.NewInMemBucket()}
	resources := w.resources(t, rng)
	for _, delivery := range []string{"1", "2"} {
		b := &biller{rng: rng, window: allocation.Window{
			Start: time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC),
		}}
		for _, r := range resources {
			if r.item.Bill == "vendor" || rng.IntN(6) > 0 { // else it is not billed
				b.charge(r, []time.Duration{time.Hour, 24 * time.Hour}[rng.IntN(2)])
			}
		}
		by := map[string][]billing.Line{}
		for _, l := range b.lines {
			by[l.Bill] = append(by[l.Bill], l)
		}
		for bill, lines := range by {
			if err := files.Upload(t.Context(), bill+"/"+delivery+"/part.csv", bytes.NewReader(focusFile(t, lines))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// resources are what a provider charges for the assets that the world has, and other things.
func (w *world) resources(t *testing.T, rng *rand.Rand) (list []resource) {
	t.Helper()
	day, err := w.set(w.window)
	if err != nil {
		t.Fatal(err)
	}
	add := func(item billing.Item, id string, with ...func(*billing.Item)) {
		item.Resource.ID = id
		for _, f := range with {
			f(&item)
		}
		list = append(list, resource{item, rng.Float64()})
	}
	usd, eur := account("aws", "AWS", "payer", "222", "USD"), account("aws", "AWS", "payer", "333", "EUR")
	tagged := func(name, value string) func(*billing.Item) {
		return func(i *billing.Item) { i.Tags = append(i.Tags, billing.Tag{Name: name, Value: value}) }
	}
	used := func(i *billing.Item) { i.Commitment = billing.Commitment{ID: "plan", Status: "Used"} }
	unused := func(i *billing.Item) { i.Commitment = billing.Commitment{ID: "plan", Status: "Unused"} }
	category := func(c billing.Category) func(*billing.Item) { return func(i *billing.Item) { i.Charge.Category = c } }
	for i := range day.Nodes {
		_, id := allocation.ParseProviderID(day.Nodes[i].ProviderID)
		of := []billing.Item{usd, eur}[rng.IntN(2)]
		add(of, id)
		add(of, id, used)
		add(of, "arn:aws:ec2:eu-1:222:instance/"+id, func(i *billing.Item) { i.Charge.ConsumedUnit, i.Charge.Meter = "GB", "DataTransfer-Out" })
		add(of, "vol-root-"+id, tagged("instance", id))
	}
	for i := range day.Disks {
		if d := &day.Disks[i]; !d.Local {
			add(eur, d.ProviderID)
		}
	}
	for i := range day.Balancers {
		add(usd, day.Balancers[i].IP)
	}
	add(usd, "arn:aws:eks:eu-1:222:cluster/"+democluster.ClusterID)
	add(usd, "arn:aws:s3:::bucket", tagged("kubernetes_namespace", "shop"))
	add(eur, "arn:aws:rds:eu-1:333:db:orders")
	add(usd, "arn:aws:savingsplans::222:savingsplan/1", unused)
	add(usd, "", category(billing.Tax))
	add(eur, "", category(billing.Credit))
	add(account("vendor", "Vendor", "v", "", "EUR"), "seats")
	return list
}

// focusFile writes lines as FOCUS.
func focusFile(t *testing.T, lines []billing.Line) []byte {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	records := [][]string{strings.Split("BillingAccountId,BillingPeriodStart,BillingPeriodEnd,BillingCurrency,SubAccountId,ProviderName,ChargeCategory,ChargeClass,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,BilledCost,ResourceId,CommitmentDiscountId,CommitmentDiscountStatus,ConsumedUnit,SkuMeter,Tags", ",")}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for i := range lines {
		l := &lines[i]
		tags := map[string]string{}
		for _, tag := range l.Tags {
			tags[tag.Name] = tag.Value
		}
		text, err := json.Marshal(tags)
		if err != nil {
			t.Fatal(err)
		}
		a, cost := &l.Account, format(l.Costs[billing.Effective])
		records = append(records, []string{
			a.ID, at(a.PeriodStart), at(a.PeriodEnd), a.Currency, a.SubID, a.Provider, l.Charge.Category.String(), l.Charge.Class, at(l.Start), at(l.End), cost, cost,
			l.Resource.ID, l.Commitment.ID, l.Commitment.Status, l.Charge.ConsumedUnit, l.Charge.Meter, string(text),
		})
	}
	if err := w.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sumsOf are the amounts of sets that add up: those of one window are the same whatever its parts are.
func sumsOf(sets []*allocation.Set) map[string]float64 {
	out := map[string]float64{}
	for _, s := range sets {
		for name, v := range amounts(s) {
			out[name] += v
		}
	}
	for name := range out {
		for c := range allocation.NumColumns {
			// Bounds are wider near the ends of windows, and maxima do not add up.
			if (c.Maximum() || c == allocation.LeastSeconds || c == allocation.MostSeconds) && strings.HasSuffix(name, " "+c.String()) {
				delete(out, name)
			}
		}
	}
	return out
}

// TestRealWorlds verifies the laws on real paths.
func TestRealWorlds(t *testing.T) {
	t.Parallel()
	for seed := range soak.Of[uint64](1, 12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newRealWorld(t, seed)
			w.checkPieces(t)
			w.checkRows(t, "kept", allocation.Query{Window: w.window, Borders: []time.Time{w.window.Start.AddDate(0, 0, 1)}, Stored: true, Resolution: allocation.AutoResolution})
			w.checkRows(t, "computed", allocation.Query{Window: w.window, Borders: []time.Time{w.window.Start.Add(31*time.Hour + 29*time.Minute)}, Resolution: allocation.AutoResolution})
			w.checkLines(t, "kept")
		})
	}
}

// checkPieces verifies that kept days, kept hours, computed windows of any step, and windows with odd edges have the same
// sums and the same shares, for every column, asset and cost outside of clusters.
func (w *world) checkPieces(t *testing.T) {
	t.Helper()
	ask := func(q allocation.Query) map[string]float64 {
		if q.Window.End.IsZero() {
			q.Window = w.window
		}
		q.Bills, q.Resolution = everything, allocation.AutoResolution
		return sumsOf(w.sets(t, q))
	}
	odd := w.window.Start.Add(31*time.Hour + 17*time.Minute + 13*time.Second)
	whole := ask(allocation.Query{Borders: []time.Time{w.window.Start.AddDate(0, 0, 1)}, Stored: true})
	for name, q := range map[string]allocation.Query{
		"kept hours":              {Step: time.Hour, Stored: true},
		"one kept set":            {Stored: true},
		"computed":                {},
		"computed in hours":       {Step: time.Hour},
		"computed in 7h":          {Step: 7 * time.Hour},
		"computed with odd edges": {Borders: []time.Time{w.window.Start.Add(13*time.Hour + 29*time.Minute), odd}},
	} {
		compareAmounts(t, name, whole, ask(q))
	}
	windows := map[string]float64{}
	for _, of := range []allocation.Window{{Start: w.window.Start, End: odd}, {Start: odd, End: w.window.End}} {
		for name, v := range ask(allocation.Query{Window: of}) {
			windows[name] += v
		}
	}
	compareAmounts(t, "windows with odd edges", whole, windows)
}
