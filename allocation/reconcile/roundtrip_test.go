package reconcile_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/memory"
	"github.com/promcost/promcost/allocation/passes"
	"github.com/promcost/promcost/allocation/reconcile"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// export writes sets as `promcost history export --format=focus --no-share-tenancy` does.
func export(t *testing.T, sets []*allocation.Set, version string) []byte {
	t.Helper()
	var b bytes.Buffer
	f, err := encode.NewFOCUS(&b, version, "USD")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		whole, err := passes.Apply([]*allocation.Set{s}, passes.Options{Idle: true, IdleByNode: true, SplitIdle: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(whole[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBack is what reconciles the world with a bill in a file.
func (w *world) readBack(t *testing.T, file []byte) *reconcile.Reconciler {
	t.Helper()
	bucket := settled{objstore.NewInMemBucket()}
	if err := bucket.Upload(t.Context(), "own.csv", bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return w.window.End.AddDate(0, 0, 2) }
	intake := billing.NewIntake(billing.NewMemory((*memory.Account)(nil)), log.NewNopLogger(), billing.IntakeOptions{Now: now})
	intake.Set([]billing.Source{{
		Bill:  billing.Bill{Name: "own", Settle: time.Hour, Rates: billing.Rates{Currency: "USD"}},
		Files: &billing.Files{Bucket: bucket, Where: "bills"},
	}}, w.zone)
	if err := intake.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	book, err := intake.Book(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if texts := book.Warnings(); len(texts) > 0 {
		t.Fatal(texts)
	}
	return reconcile.New(w.ledger, intake, reconcile.Options{Zone: w.zone, Now: now})
}

// assetCosts are the costs of nodes, volumes and load balancers, with adjustments.
func assetCosts(sets []*allocation.Set) map[string]float64 {
	costs := map[string]float64{}
	for _, s := range sets {
		at := s.Window.Start.String()
		for i := range s.Nodes {
			n := &s.Nodes[i]
			sum := n.TotalCost()
			for _, v := range n.Adjustment {
				sum += v
			}
			costs[fmt.Sprint(at, " node ", n.Cluster, n.Name, n.ProviderID)] += sum
		}
		for i := range s.Disks {
			if d := &s.Disks[i]; !d.Local {
				costs[fmt.Sprint(at, " volume ", d.Cluster, d.Name, d.ProviderID)] += d.Cost + d.Adjustment
			}
		}
		for i := range s.Balancers {
			l := &s.Balancers[i]
			costs[fmt.Sprint(at, " balancer ", l.Cluster, l.Namespace, l.Service)] += l.Cost + l.Adjustment
		}
	}
	return costs
}

// TestRoundTrip exports reconciled days in FOCUS, reads them as a bill, and verifies that this leaves every node, volume and
// load balancer at its cost.
func TestRoundTrip(t *testing.T) {
	for seed := range soak.Of[uint64](12, 200) {
		w := newWorld(t, seed)
		days := allocation.Query{Window: w.window, Borders: []time.Time{}, Bills: allocation.Billed{Adjustments: true}}
		for at := w.window.Start.AddDate(0, 0, 1); at.Before(w.window.End); at = at.AddDate(0, 0, 1) {
			days.Borders = append(days.Borders, at)
		}
		billed := w.sets(t, days)
		version := encode.FOCUSVersions()[seed%2]
		w.r = w.readBack(t, export(t, billed, version))
		compareAmounts(t, fmt.Sprintf("seed %d, FOCUS %s", seed, version), assetCosts(billed), assetCosts(w.sets(t, days)))
		if t.Failed() {
			return
		}
	}
}

// listLines are lines that charge each asset of a day its list cost.
func listLines(s *allocation.Set) []billing.Line {
	b := &biller{}
	add := func(item billing.Item, id string, cost float64, with ...func(*billing.Item)) {
		item.Resource.ID = id
		for _, f := range with {
			f(&item)
		}
		b.add(item, s.Window, cost)
	}
	of := account("own", "Kubernetes", "payer", "", "USD")
	anyNode := map[string]string{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		anyNode[n.Cluster] = n.ProviderID
		add(of, n.ProviderID, n.TotalCost())
	}
	for i := range s.Disks {
		switch d := &s.Disks[i]; {
		case !d.Local:
			add(of, d.ProviderID, d.Cost)
		case d.Cluster == "east":
			_, instance := allocation.ParseProviderID(d.ProviderID)
			add(of, "vol-root-"+instance, d.Cost, func(i *billing.Item) { i.Tags = []billing.Tag{{Name: "instance", Value: instance}} })
		case d.Cluster == "north":
			add(of, "//compute.googleapis.com/projects/project-n/zones/zone-1/disks/"+d.Name, d.Cost)
		default:
			add(of, "/subscriptions/s-1/resourcegroups/rg/providers/microsoft.compute/disks/"+d.Name+"_OsDisk_1_ab", d.Cost)
		}
	}
	for i := range s.Balancers {
		l := &s.Balancers[i]
		add(of, allocation.OwnID(l.Cluster, allocation.LoadBalancerAsset, l.Namespace+"/"+l.Service), l.Cost)
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		add(of, anyNode[n.Cluster], n.TotalCost(), func(i *billing.Item) { i.Charge.ConsumedUnit, i.Charge.Description = "GiB", "egress" })
	}
	for i := range s.Management {
		m := &s.Management[i]
		add(of, m.Cluster, m.Cost, func(i *billing.Item) { i.Service.Name = "Managed Kubernetes" })
	}
	return b.lines
}

// TestListPricesChangeNothing verifies that a bill that charges list prices changes no amount of any row or asset.
func TestListPricesChangeNothing(t *testing.T) {
	for seed := range soak.Of[uint64](6, 100) {
		w := newWorld(t, seed)
		var lines []billing.Line
		for day := w.window.Start; day.Before(w.window.End); day = day.AddDate(0, 0, 1) {
			s, err := w.set(allocation.Window{Start: day, End: day.AddDate(0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, listLines(s)...)
		}
		now := w.window.End.AddDate(0, 0, 2)
		bills := []billing.Bill{{Name: "own", Settle: time.Hour, Rates: billing.Rates{Currency: "USD"}}}
		w.r = reconcile.New(w.ledger, books{billing.FromLines(billing.Options{Bills: bills, Zone: w.zone, Now: now}, lines)}, reconcile.Options{Zone: w.zone, Now: func() time.Time { return now }})
		windows := []allocation.Window{w.window, {Start: w.window.Start.Add(7 * slot), End: w.window.End.Add(-31 * slot)}}
		for _, window := range windows {
			list, err := w.set(window)
			if err != nil {
				t.Fatal(err)
			}
			compareAmounts(t, fmt.Sprintf("seed %d from %s", seed, window.Start), amounts(list), amounts(w.merged(t, window, 0)))
		}
		sets := w.sets(t, allocation.Query{Window: w.window, Bills: everything})
		if len(sets[0].Cloud) > 0 || len(sets[0].External) > 0 {
			t.Errorf("seed %d: %d lines match nothing, the first %+v", seed, len(sets[0].Cloud)+len(sets[0].External), sets[0].Cloud)
		}
	}
}
