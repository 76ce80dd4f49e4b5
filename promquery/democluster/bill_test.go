package democluster_test

import (
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// line is a line of a bill by the names of FOCUS' columns.
type line map[string]string

func (l line) cost(t *testing.T, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(l[column], 64)
	if err != nil {
		t.Fatalf("%s: %v", column, err)
	}
	return v
}

func (l line) tags(t *testing.T) map[string]string {
	t.Helper()
	var tags map[string]string
	if text := l["Tags"]; text != "" {
		if err := json.Unmarshal([]byte(text), &tags); err != nil {
			t.Fatal(err)
		}
	}
	return tags
}

// readBill reads the files below dir whose delivery's name ends so.
func readBill(t *testing.T, dir string) (lines []line) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".csv" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		records, err := csv.NewReader(f).ReadAll()
		if err != nil {
			return err
		}
		for _, r := range records[1:] {
			l := line{}
			for i, name := range records[0] {
				l[name] = r[i]
			}
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// writeBills writes the bills of a cluster and returns the lines of their last deliveries.
func writeBills(t *testing.T, c *democluster.Cluster) (dir string, lines []line) {
	t.Helper()
	dir = t.TempDir()
	if err := c.WriteBills(dir); err != nil {
		t.Fatal(err)
	}
	lines = readBill(t, filepath.Join(dir, democluster.ProviderBill, "delivery-2"))
	return dir, append(lines, readBill(t, filepath.Join(dir, democluster.VendorBill))...)
}

// assetOf finds the asset that a line names, as a reader of bills would: by ids and addresses in the truth.
func assetOf(t *testing.T, l line, tr *democluster.Truth) (kind, name string) {
	t.Helper()
	id := l["ResourceId"]
	if l["ChargeCategory"] != "Usage" || l["CommitmentDiscountStatus"] == "Unused" || id == "" {
		return "", ""
	}
	for _, n := range tr.Nodes {
		instance := n.ProviderID[strings.LastIndex(n.ProviderID, "/")+1:]
		switch {
		case id == instance && strings.Contains(l["SkuMeter"], "DataTransfer"):
			return "network", n.Cluster
		case id == instance:
			return "node", n.Name
		case l.tags(t)["node.k8s.amazonaws.com/instance_id"] == instance:
			return "localDisk", n.Name
		}
	}
	for _, v := range tr.Volumes {
		if id == v.ProviderID {
			return "volume", v.PersistentVolume
		}
	}
	for _, b := range tr.LoadBalancers {
		if l["ResourceName"] == b.IngressIP {
			return "loadBalancer", b.Namespace + "/" + b.Service
		}
	}
	if strings.HasSuffix(id, ":cluster/"+tr.ClusterManagement[0].Cluster) {
		return "clusterManagement", tr.ClusterManagement[0].Cluster
	}
	return "", ""
}

// billClusters are those on which the laws of bills are tested: within a month, over the end of one, and with few assets.
func billClusters() map[string]democluster.Config {
	return map[string]democluster.Config{
		"default":      {},
		"end of month": {Nodes: 4, Pods: 40, Duration: 96 * time.Hour, Seed: 3},
		"one day":      {Nodes: 5, Pods: 60, Duration: 40 * time.Hour, Seed: 2},
	}
}

// TestBillTruth compares the truth of bills with the files, matched here line by line and day by day.
func TestBillTruth(t *testing.T) {
	for name, cfg := range billClusters() {
		t.Run(name, func(t *testing.T) {
			c := plan(t, cfg)
			_, lines := writeBills(t, c)
			from, until := c.BillDays()
			whole := c.Truth(c.Start(), c.End())
			got := c.BillTruth(c.Start(), c.End())
			if !got.ChargedUntil.Equal(until) || until.Sub(from) < 24*time.Hour {
				t.Fatalf("days %s to %s, charged until %s", from, until, got.ChargedUntil)
			}
			matched := map[[2]string]float64{}
			rest := 0.0
			for _, l := range lines {
				kind, name := assetOf(t, l, whole)
				if kind == "" {
					rest += l.cost(t, "EffectiveCost")
				} else {
					matched[[2]string{kind, name}] += l.cost(t, "EffectiveCost")
				}
			}
			unbilled, billed := map[[2]string]float64{}, 0.0
			for _, outside := range []*democluster.BillTruth{c.BillTruth(c.Start(), from), c.BillTruth(until, c.End())} {
				for _, a := range outside.Assets {
					unbilled[[2]string{a.Kind, a.Name}] += a.ListCost
				}
			}
			for _, a := range got.Assets {
				key := [2]string{a.Kind, a.Name}
				if want := matched[key] + unbilled[key]; relative(a.BilledCost, want) > 1e-9 {
					t.Errorf("%s %s: billed %v, want %v: matched %v, unbilled %v", a.Kind, a.Name, a.BilledCost, want, matched[key], unbilled[key])
				}
				billed += matched[key]
			}
			if relative(got.Matched, billed) > 1e-9 {
				t.Errorf("matched %v, want %v", got.Matched, billed)
			}
			outside := 0.0
			for _, l := range append(got.External, got.Cloud...) {
				outside += l.Cost
			}
			if relative(outside, rest) > 1e-9 {
				t.Errorf("external and cloud cost %v, want %v", outside, rest)
			}
		})
	}
}

// TestBillTruthConserves adds up what the rows get: all that nodes and volumes cost more or less.
func TestBillTruthConserves(t *testing.T) {
	c := plan(t, democluster.Config{})
	from, until := c.BillDays()
	tr, b := c.Truth(from, until), c.BillTruth(from, until)
	want, got := map[string]float64{}, map[string]float64{}
	for _, a := range b.Assets {
		want[a.Kind] += a.BilledCost - a.ListCost
	}
	if len(b.Containers) != len(tr.Containers) || len(b.Idle) != len(tr.Idle) {
		t.Fatalf("%d containers and %d idle rows, want %d and %d", len(b.Containers), len(b.Idle), len(tr.Containers), len(tr.Idle))
	}
	for i, row := range b.Containers {
		if row.UID != tr.Containers[i].UID || row.Container != tr.Containers[i].Container {
			t.Fatalf("row %d is of %s/%s, want %s/%s", i, row.Pod, row.Container, tr.Containers[i].Pod, tr.Containers[i].Container)
		}
		got["node"] += row.CPU + row.RAM + row.GPU
		got["network"] += row.Network
	}
	for _, row := range b.Idle {
		got["node"] += row.CPUCost + row.RAMCost + row.GPUCost
	}
	for kind, v := range got {
		if math.Abs(v-want[kind]) > 1e-9*math.Abs(want[kind]) || v == 0 {
			t.Errorf("%s: rows get %v, the bill says %v", kind, v, want[kind])
		}
	}
}

// TestBillLines says what the bills have in them: each thing that reading them must cope with.
func TestBillLines(t *testing.T) {
	c := plan(t, democluster.Config{})
	dir, lines := writeBills(t, c)
	sum := func(of []line, column string, is func(line) bool) (sum float64, n int) {
		for _, l := range of {
			if is(l) {
				sum += l.cost(t, column)
				n++
			}
		}
		return sum, n
	}
	savingsPlan := func(status, category string) func(line) bool {
		return func(l line) bool {
			return l["CommitmentDiscountName"] == "Compute Savings Plan" && l["CommitmentDiscountStatus"] == status && l["ChargeCategory"] == category
		}
	}
	used, _ := sum(lines, "EffectiveCost", savingsPlan("Used", "Usage"))
	unused, _ := sum(lines, "EffectiveCost", savingsPlan("Unused", "Usage"))
	paid, _ := sum(lines, "BilledCost", savingsPlan("", "Purchase"))
	if used <= 0 || unused <= 0 || relative(used+unused, paid) > 1e-9 {
		t.Errorf("savings plan: %v used and %v unused, want both to be the fee %v", used, unused, paid)
	}
	for what, is := range map[string]func(line) bool{
		"spot": func(l line) bool { return l["PricingCategory"] == "Dynamic" },
		"reserved volume": func(l line) bool {
			return l["CommitmentDiscountName"] == "Reserved Storage" && l["CommitmentDiscountStatus"] == "Used"
		},
		"tagged bucket": func(l line) bool { return l["ResourceType"] == "Bucket" && l.tags(t)["kubernetes_namespace"] != "" },
		"SaaS vendor":   func(l line) bool { return l["ProviderName"] == "Clearview" },
		"tax":           func(l line) bool { return l["ChargeCategory"] == "Tax" },
		"credit":        func(l line) bool { return l["ChargeCategory"] == "Credit" && l.cost(t, "BilledCost") < 0 },
		"correction":    func(l line) bool { return l["ChargeClass"] == "Correction" },
	} {
		if _, n := sum(lines, "EffectiveCost", is); n == 0 {
			t.Errorf("there is no line of: %s", what)
		}
	}
	all := func(line) bool { return true }
	first := readBill(t, filepath.Join(dir, democluster.ProviderBill, "delivery-1"))
	if _, n := sum(first, "EffectiveCost", all); n == 0 || n >= len(lines) {
		t.Errorf("the first delivery has %d lines, the last ones %d", n, len(lines))
	}
	restated := first[len(first)-1]["ChargePeriodStart"][:10]
	ofDay := func(l line) bool {
		return strings.HasPrefix(l["ChargePeriodStart"], restated) && l["ResourceType"] == "Instance"
	}
	before, _ := sum(first, "EffectiveCost", ofDay)
	if after, _ := sum(lines, "EffectiveCost", ofDay); after >= before {
		t.Errorf("%s cost %v at first, and %v when it was restated", restated, before, after)
	}
}

// TestBillsAreDeterministic writes them twice, and looks at the times that say which delivery is the last.
func TestBillsAreDeterministic(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 96 * time.Hour})
	one, _ := writeBills(t, c)
	two, _ := writeBills(t, plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 96 * time.Hour}))
	var last time.Time
	err := filepath.WalkDir(filepath.Join(one, democluster.ProviderBill), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().Before(last) {
			t.Errorf("%s is older than the delivery before", path)
		}
		last = info.ModTime()
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		other := filepath.Join(two, strings.TrimPrefix(path, one))
		b, err := os.ReadFile(other)
		if err == nil && string(a) != string(b) {
			t.Errorf("%s and %s differ", path, other)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoBillOfAShortHistory has no whole day: no line is written, and the truth is at list price.
func TestNoBillOfAShortHistory(t *testing.T) {
	c := plan(t, democluster.Config{Nodes: 4, Pods: 40, Duration: 6 * time.Hour})
	if _, lines := writeBills(t, c); len(lines) > 0 {
		t.Errorf("%d lines", len(lines))
	}
	for _, a := range c.BillTruth(c.Start(), c.End()).Assets {
		if a.ListCost != a.BilledCost {
			t.Errorf("%s %s costs %v, billed %v", a.Kind, a.Name, a.ListCost, a.BilledCost)
		}
	}
}
