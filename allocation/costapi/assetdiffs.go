package costapi

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
)

// serveAssetDiff answers with the assets that are not in both windows, or that cost something else.
func (a *api) serveAssetDiff(w http.ResponseWriter, q *request) error {
	q.options.Accumulate = allocation.All
	before := q.forWindows(q.timing.before)
	earlier, err := a.assetSets(before)
	if err != nil {
		return err
	}
	later, err := a.assetSets(q)
	if err != nil {
		return err
	}
	q.join(before)
	diffs := diffAssets(earlier[0], later[0], q.output.least)
	w.Header().Set("Content-Type", jsonType)
	return encode.AssetDiffs(w, diffs, append(earlier, later...), a.encoding(q))
}

// diffAssets are the assets that only one set has, and those whose cost differs by the part least or more, by name.
func diffAssets(earlier, later *assets.Set, least float64) (diffs []encode.AssetDiff) {
	was := map[string]*allocation.Asset{}
	for i := range earlier.Assets {
		was[earlier.Assets[i].Name] = &earlier.Assets[i]
	}
	for i := range later.Assets {
		x := &later.Assets[i]
		old, ok := was[x.Name]
		delete(was, x.Name)
		switch {
		case !ok:
			diffs = append(diffs, encode.AssetDiff{Asset: x, Window: later.Window, Kind: "added"})
		case math.Abs(x.TotalCost()-old.TotalCost()) >= least*math.Abs(old.TotalCost()) && x.TotalCost() != old.TotalCost():
			diffs = append(diffs, encode.AssetDiff{Asset: x, Window: later.Window, Kind: "changed"})
		}
	}
	for _, x := range was {
		diffs = append(diffs, encode.AssetDiff{Asset: x, Window: earlier.Window, Kind: "removed"})
	}
	slices.SortFunc(diffs, func(a, b encode.AssetDiff) int { return strings.Compare(a.Asset.Name, b.Asset.Name) })
	return diffs
}
