package costapi

import (
	"strings"

	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/filter"
)

// assetParams choose assets and how to merge them.
func assetParams() []param {
	list := []param{
		{"aggregate", nil, "fields", defaults{}, assetLists | assetToplines | assetDiffs, "What assets are merged by: a comma list of " + strings.Join(assets.Dimensions(), ", ") + "; empty is each by itself. Properties of the configuration are of allocations only.", parseAssetAggregate},
		{"aggregate", nil, "fields", all("type"), assetForecasts, "What is forecast by itself: a comma list as of /model/assets. Medians do not add.", parseJudged(parseAssetAggregate)},
		{"aggregate", nil, "text", defaults{}, assetMaps, "Has no effect, as in OpenCost: each asset is a row. /model/assets merges them.", nil},
		{"filter", nil, "filter", defaults{}, listed, `Which assets, in the v2 language: assetType:"node","disk"+cluster:"one". type is another name of assetType.`, parseAssetFilter},
		{"disableAdjustments", nil, "boolean", all("false"), served | assetToplines | assetDiffs | assetForecasts, "Leave out what bills add. Without bills this changes nothing.", setBool(func(q *request) *bool { return &q.assets.WithoutAdjustments })},
		{"format", nil, "json|csv|parquet|arrow", all("json"), served, "csv implies accumulate. Parquet and Arrow (an IPC stream) have a row an asset of each set, with its window.", setWord(func(q *request) *string { return &q.output.format }, "json", "csv", "parquet", "arrow")},
	}
	for _, f := range filter.V1AssetFilters() {
		list = append(list, param{f.Name, nil, "list", defaults{}, listed, "Comma list of " + f.What + ". One of them must match; a trailing * matches any rest. Ignored if filter is given.", addV1(f.Name)})
	}
	return list
}
