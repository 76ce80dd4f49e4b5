package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/promquery/democluster"
)

// demoBillsDir is the directory of the demo's bills, beside its samples.
const demoBillsDir = "bills"

// demoBills writes the bills of the demo below dir, and returns the settings by which they are read. They are final at once. A history
// without a whole day has none.
func demoBills(c *democluster.Cluster, dir string) ([]config.Bill, error) {
	dir = filepath.Join(dir, demoBillsDir)
	if from, until := c.BillDays(); !from.Before(until) {
		return nil, nil
	}
	if err := c.WriteBills(dir); err != nil {
		return nil, err
	}
	var bills []config.Bill
	for _, name := range [...]string{democluster.ProviderBill, democluster.VendorBill} {
		bills = append(bills, config.Bill{
			Bill: billing.Bill{Name: name, Rates: billing.Rates{Always: map[string]float64{"USD": 1}}}, // as the prices of its nodes are taken
			Path: filepath.Join(dir, name),
		})
	}
	return bills, nil
}

// billedDay is the last day that the demo's bills charge; ok is false where there is none.
func billedDay(c *democluster.Cluster) (from, until time.Time, ok bool) {
	first, until := c.BillDays()
	return until.AddDate(0, 0, -1), until, first.Before(until)
}

// demoShown is what the demo shows of its costs: the last day that bills charge, or the last hours.
func demoShown(c *democluster.Cluster) (window string, billed bool) {
	if from, until, ok := billedDay(c); ok {
		return from.Format(time.RFC3339) + "," + until.Format(time.RFC3339), true
	}
	return demoWindow, false
}

// billedCosts are what namespaces cost by bill in a window.
func billedCosts(ctx context.Context, who *answerer, parameters url.Values) (map[string]float64, error) {
	body, _, err := who.ask(ctx, computePath, parameters)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data []map[string]struct{ TotalCost float64 }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read costs by bill: %w", err)
	}
	costs := map[string]float64{}
	for _, set := range answer.Data {
		for name, row := range set {
			costs[name] += row.TotalCost
		}
	}
	return costs, nil
}
