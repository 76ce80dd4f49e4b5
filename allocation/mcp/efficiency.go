package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The least requests that get_efficiency recommends, as OpenCost has them.
const (
	leastCores = 0.001
	leastBytes = 1 << 20
)

// defaultBuffer is how much more than what is used get_efficiency recommends to request, as a factor.
const defaultBuffer = 1.2

// usedRow is an allocation with what is used of its requests. What is not known of usage is nil.
type usedRow struct {
	Name       string
	Start, End time.Time
	TotalCost  float64

	CPUCores, CPUCoreRequestAverage float64
	CPUCoreUsageAverage             *float64
	CPUCost, CPUCostAdjustment      float64
	CPUEfficiency                   *float64

	RAMBytes, RAMByteRequestAverage float64
	RAMByteUsageAverage             *float64
	RAMCost, RAMCostAdjustment      float64
	RAMEfficiency                   *float64
}

// usedFields are the members of usedRow, as the API calls them.
const usedFields = "name,start,end,totalCost,cpuCores,cpuCoreRequestAverage,cpuCoreUsageAverage,cpuCost,cpuCostAdjustment,cpuEfficiency," +
	"ramBytes,ramByteRequestAverage,ramByteUsageAverage,ramCost,ramCostAdjustment,ramEfficiency"

// efficiencyRow is a row as OpenCost's get_efficiency has it.
type efficiencyRow struct {
	Name                string    `json:"name"`
	CPUEfficiency       float64   `json:"cpuEfficiency"`
	RAMEfficiency       float64   `json:"memoryEfficiency"`
	CoresRequested      float64   `json:"cpuCoresRequested"`
	CoresUsed           float64   `json:"cpuCoresUsed"`
	BytesRequested      float64   `json:"ramBytesRequested"`
	BytesUsed           float64   `json:"ramBytesUsed"`
	CoresRecommended    float64   `json:"recommendedCpuRequest"`
	BytesRecommended    float64   `json:"recommendedRamRequest"`
	ResultingEfficiency float64   `json:"resultingCpuEfficiency"`
	ResultingRAM        float64   `json:"resultingMemoryEfficiency"`
	Cost                float64   `json:"currentTotalCost"`
	RecommendedCost     float64   `json:"recommendedCost"`
	Savings             float64   `json:"costSavings"`
	SavingsPercent      float64   `json:"costSavingsPercent"`
	Buffer              float64   `json:"efficiencyBufferMultiplier"`
	Start               time.Time `json:"start"`
	End                 time.Time `json:"end"`
}

// efficiency answers with what is used of requests, and with what requests of a buffer above that would cost. Rows of which nobody knows
// what they use are left out: a recommendation for them would be made up.
func (s *server) efficiency(ctx context.Context, args arguments) ([]byte, error) {
	begun := now()
	limit, err := args.number("limit", openCostRows, mostOpenCostRows)
	if err != nil {
		return nil, err
	}
	buffer, given := args["buffer_multiplier"].(float64)
	if _, named := args["buffer_multiplier"]; !named {
		buffer = defaultBuffer
	} else if !given || buffer <= 0 || buffer > 100 {
		return nil, errors.New("argument buffer_multiplier: give a number above 0, at most 100, such as 1.4 for 40 % more than what is used")
	}
	delete(args, "buffer_multiplier")
	v, err := args.parameters(openCostName)
	if err != nil {
		return nil, err
	}
	if v.Get("aggregate") == "" {
		v.Set("aggregate", "pod")
	}
	v.Set("accumulate", "true")
	v.Set("includeIdle", "false")
	v.Set("nulls", "true")
	v.Set("fields", usedFields)
	answer, err := s.ask(ctx, "/allocation/compute", v)
	if err != nil {
		return nil, err
	}
	var sets []map[string]usedRow
	if err := json.Unmarshal(answer.Data, &sets); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	rows, unknown := []efficiencyRow{}, 0
	for _, set := range sets {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			r := set[name]
			switch {
			case r.CPUCoreUsageAverage != nil && r.RAMByteUsageAverage != nil:
				rows = append(rows, r.efficiency(buffer))
			case r.CPUCost+r.RAMCost > 0: // else it is of volumes or the like
				unknown++
			}
		}
	}
	if unknown > 0 {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("%d rows are left out, for nothing is known of what they use", unknown))
	}
	if len(rows) > limit {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("%d of %d rows are left out: raise limit, or aggregate", len(rows)-limit, len(rows)))
		rows = rows[:limit]
	}
	return openCostAnswer("efficiencies", rows, answer.Warnings, begun)
}

// efficiency is the row as OpenCost has it. What is allocated is the larger of request and usage, and so it costs in proportion to that.
func (r *usedRow) efficiency(buffer float64) efficiencyRow {
	cores, bytes := max(leastCores, *r.CPUCoreUsageAverage*buffer), max(leastBytes, *r.RAMByteUsageAverage*buffer)
	cpu, ram := r.CPUCost+r.CPUCostAdjustment, r.RAMCost+r.RAMCostAdjustment
	saved := cpu - ratio(cpu, r.CPUCores)*max(cores, *r.CPUCoreUsageAverage) + ram - ratio(ram, r.RAMBytes)*max(bytes, *r.RAMByteUsageAverage)
	return efficiencyRow{
		Name: r.Name, CPUEfficiency: zeroIfUnknown(r.CPUEfficiency), RAMEfficiency: zeroIfUnknown(r.RAMEfficiency),
		CoresRequested: r.CPUCoreRequestAverage, CoresUsed: *r.CPUCoreUsageAverage, BytesRequested: r.RAMByteRequestAverage, BytesUsed: *r.RAMByteUsageAverage,
		CoresRecommended: cores, BytesRecommended: bytes, ResultingEfficiency: *r.CPUCoreUsageAverage / cores, ResultingRAM: *r.RAMByteUsageAverage / bytes,
		Cost: r.TotalCost, RecommendedCost: r.TotalCost - saved, Savings: saved, SavingsPercent: 100 * ratio(saved, r.TotalCost), Buffer: buffer, Start: r.Start, End: r.End,
	}
}

// ratio is a divided by b, 0 where b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func zeroIfUnknown(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// cloudFilters are arguments of get_cloud_costs that select rows, with the fields of filters that they are about.
var cloudFilters = []struct{ argument, field, help string }{
	{"provider", "provider", "A provider, as bills name it: AWS, Azure, GCP."},
	{"service", "service", "A service, as bills name it: Amazon EC2."},
	{"category", "category", "Virtual Machine, Disk, Network, Load Balancer, Cluster Management or Other."},
	{"region", "regionID", "A region, such as us-east-1."},
	{"account", "accountID", "The id of an account, subscription or project."},
}

// cloudCosts is get_cloud_costs, whose arguments of single fields hold in addition to its filter.
func (s *server) cloudCosts(ctx context.Context, args arguments) ([]byte, error) {
	var conditions []string
	if text, _ := args["filter"].(string); strings.TrimSpace(text) != "" {
		conditions = append(conditions, "("+text+")")
	}
	for _, f := range cloudFilters {
		text, ok := args[f.argument].(string)
		if _, given := args[f.argument]; given && !ok {
			return nil, fmt.Errorf("argument %s: give a text", f.argument)
		}
		delete(args, f.argument)
		if text != "" {
			conditions = append(conditions, f.field+`:"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)+`"`)
		}
	}
	if len(conditions) > 0 {
		args["filter"] = strings.Join(conditions, "+")
	}
	return s.openCost("cloudCosts", "/cloudCost", readCloudSets)(ctx, args)
}
