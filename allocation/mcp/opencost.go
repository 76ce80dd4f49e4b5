package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// openCostRows is how many rows of each set the tools with OpenCost's names send unless told otherwise, and mostOpenCostBytes
// bounds their answers.
const (
	openCostRows      = 1000
	mostOpenCostRows  = 100_000
	mostOpenCostBytes = 16 << 20
)

// openCostName is what the API calls an argument of OpenCost's.
func openCostName(name string) string { return cmp.Or(openCostNames[name], name) }

// Sets of rows, by name, as OpenCost's tools nest them.
type (
	allocationSet struct {
		Name        string            `json:"name"`
		Allocations []json.RawMessage `json:"allocations"`
	}
	assetSet struct {
		Name   string            `json:"name"`
		Assets []json.RawMessage `json:"assets"`
	}
	cloudSet struct {
		Name   string            `json:"name"`
		Window json.RawMessage   `json:"window"`
		Costs  []json.RawMessage `json:"cloudCosts"`
	}
)

// openCostAnswer wraps data as OpenCost's tools do.
func openCostAnswer(kind string, data any, warnings []string, begun time.Time) ([]byte, error) {
	body, err := json.Marshal(map[string]any{
		"data":      map[string]any{kind: data},
		"warnings":  append([]string{}, warnings...),
		"queryInfo": map[string]any{"queryId": rand.Text(), "timestamp": begun.Format(time.RFC3339Nano), "processingTime": now().Sub(begun).Nanoseconds()},
	})
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	if len(body) > mostOpenCostBytes {
		return nil, errors.New("the answer is too long: use aggregate, filter, limit or a shorter window")
	}
	return body, nil
}

// first are the rows of a set by name, limit at most, by name.
func first(set map[string]json.RawMessage, limit int, warnings *[]string) []json.RawMessage {
	names := slices.Sorted(maps.Keys(set))
	if len(names) > limit {
		*warnings = append(*warnings, fmt.Sprintf("%d of %d rows are left out: raise limit, or aggregate", len(names)-limit, len(names)))
		names = names[:limit]
	}
	rows := make([]json.RawMessage, len(names))
	for i, name := range names {
		rows[i] = set[name]
	}
	return rows
}

// openCost is a tool with an OpenCost name: it asks a path, and answers with what read makes of at most limit rows of each set.
func (s *server) openCost(kind, path string, read func(data json.RawMessage, limit int, warnings *[]string) (any, error)) answerer {
	return func(ctx context.Context, args arguments) ([]byte, error) {
		begun := now()
		limit, err := args.number("limit", openCostRows, mostOpenCostRows)
		if err != nil {
			return nil, err
		}
		v, err := args.parameters(openCostName)
		if err != nil {
			return nil, err
		}
		answer, err := s.ask(ctx, path, v)
		if err != nil {
			return nil, err
		}
		data, err := read(answer.Data, limit, &answer.Warnings)
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		return openCostAnswer(kind, data, answer.Warnings, begun)
	}
}

// readAllocationSets nests sets of allocations as OpenCost's get_allocation_costs does, whose clients read the set called allocations:
// the first one.
func readAllocationSets(data json.RawMessage, limit int, warnings *[]string) (any, error) {
	var sets []map[string]json.RawMessage
	err := json.Unmarshal(data, &sets)
	out := map[string]allocationSet{}
	for i, set := range sets {
		name := "allocations"
		if i > 0 {
			name = fmt.Sprintf("allocations_%03d", i)
		}
		out[name] = allocationSet{Name: name, Allocations: first(set, limit, warnings)}
	}
	return out, err
}

// readAssetSet nests assets as OpenCost's get_asset_costs does.
func readAssetSet(data json.RawMessage, limit int, warnings *[]string) (any, error) {
	var set map[string]json.RawMessage
	err := json.Unmarshal(data, &set)
	return map[string]assetSet{"assets": {Name: "assets", Assets: first(set, limit, warnings)}}, err
}

// readCloudSets nests sets of cloud costs as OpenCost's get_cloud_costs does.
func readCloudSets(data json.RawMessage, limit int, warnings *[]string) (any, error) {
	var answer struct {
		Sets []struct {
			CloudCosts map[string]json.RawMessage `json:"cloudCosts"`
			Window     json.RawMessage            `json:"window"`
		} `json:"sets"`
	}
	err := json.Unmarshal(data, &answer)
	out := map[string]cloudSet{}
	for i, set := range answer.Sets {
		name := fmt.Sprintf("cloudcosts_%d", i)
		out[name] = cloudSet{Name: name, Window: set.Window, Costs: first(set.CloudCosts, limit, warnings)}
	}
	return out, err
}
