package encode

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// csvHeader is Kubecost's.
var csvHeader = [...]string{"Name", "CPU", "GPU", "RAM", "PV", "Network", "LoadBalancer", "External", "Shared", "Efficiency", "Total"}

// CSV writes a set under Kubecost's header: costs including adjustments, with three decimals. Idle comes first, then the
// rows by cost, the dearest before the others.
func CSV(w io.Writer, set *allocation.Set) error {
	c := csv.NewWriter(w)
	record := slices.Clone(csvHeader[:])
	if err := c.Write(record); err != nil {
		return fmt.Errorf("write csv header: %w", err)
	}
	for _, r := range byCost(set) {
		record = append(record[:0], r.name)
		for _, v := range costsOf(set, r.row) {
			record = append(record, strconv.FormatFloat(v, 'f', 3, 64))
		}
		if err := c.Write(record); err != nil {
			return fmt.Errorf("write csv row %q: %w", r.name, err)
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// byCost is the rows of a set, idle first, then by total cost descending, then by name.
func byCost(set *allocation.Set) []namedRow {
	rows := byName(set)
	total := make([]float64, set.Len())
	for i := range total {
		total[i] = set.TotalCost(i)
	}
	idle := func(r namedRow) int {
		if set.Special(r.row) == allocation.Idle {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(rows, func(a, b namedRow) int {
		return cmp.Or(cmp.Compare(idle(a), idle(b)), cmp.Compare(total[b.row], total[a.row]), strings.Compare(a.name, b.name))
	})
	return rows
}

// costsOf is the numbers of a row in the order of csvHeader.
func costsOf(set *allocation.Set, row int) [len(csvHeader) - 1]float64 {
	sum := func(columns ...allocation.Column) (total float64) {
		for _, c := range columns {
			total += set.Value(c, row)
		}
		return total
	}
	resource := func(r allocation.Resource) float64 {
		return sum(allocation.Cost.Of(r), allocation.Adjustment.Of(r))
	}
	return [...]float64{
		resource(allocation.CPU), resource(allocation.GPU), resource(allocation.RAM),
		sum(allocation.PVCost, allocation.PVCostAdjustment),
		sum(allocation.NetworkCrossZoneCost, allocation.NetworkCrossRegionCost, allocation.NetworkInternetCost, allocation.NetworkCostAdjustment),
		sum(allocation.LoadBalancerCost, allocation.LoadBalancerCostAdjustment),
		sum(allocation.ExternalCost), sum(allocation.SharedCost),
		set.TotalEfficiency(row), set.TotalCost(row),
	}
}
