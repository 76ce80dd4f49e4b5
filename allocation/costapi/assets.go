package costapi

import (
	"fmt"
	"net/http"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/passes"
)

// serveAssets answers with assets: for Kubecost a map for each set, for OpenCost one map of the whole window.
func (a *api) serveAssets(w http.ResponseWriter, q *request) error {
	if q.route.family == openCost {
		q.options.Accumulate = allocation.NoPeriod // one set of the whole window
	}
	sets, err := a.assetSets(q)
	if err != nil {
		return err
	}
	o := a.encoding(q)
	if q.output.format == "csv" {
		q.startFile(w, o.AssetWarnings(sets))
		return encode.AssetsCSV(w, sets[0], o)
	}
	if columnar(q.output.format) {
		q.startFile(w, o.AssetWarnings(sets))
		return writeColumnarAssets(w, q.output.format, sets, o)
	}
	w.Header().Set("Content-Type", jsonType)
	if q.route.family == openCost {
		return encode.AssetMap(w, sets[0], o)
	}
	return encode.Assets(w, sets, o)
}

// serveAssetTopline answers with the total of all assets of the window.
func (a *api) serveAssetTopline(w http.ResponseWriter, q *request) error {
	q.options.Accumulate = allocation.All
	sets, err := a.assetSets(q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.AssetTopline(w, sets[0], a.encoding(q))
}

// assetSets are the assets that a request asks for.
func (a *api) assetSets(q *request) ([]*assets.Set, error) {
	sets, err := a.sets(q, q.timing.windows)
	if err != nil {
		return nil, err
	}
	if q.options.Accumulate != allocation.NoPeriod {
		o := passes.Options{Accumulate: q.options.Accumulate, Zone: a.cfg.Zone}
		if sets, err = q.apply(passes.WithoutRows(sets), o); err != nil {
			return nil, err
		}
	}
	for _, name := range assets.MissingLabels(q.assets.Aggregate, sets) {
		q.warn("label %s: no asset of the window has one of that name: it is misspelled, or kube-state-metrics does not export it (see its --metric-labels-allowlist=nodes=[%s])", name, name)
	}
	out := make([]*assets.Set, len(sets))
	for i, s := range sets {
		out[i] = assets.List(s, q.assets)
		if err := q.selection.steps.Err(); err != nil {
			return nil, fmt.Errorf("filter assets: %w", err)
		}
	}
	return out, nil
}
