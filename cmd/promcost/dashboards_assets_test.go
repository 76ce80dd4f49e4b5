package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// assetFamilies are the metrics, without their endings, that together cost what the assets of a type do.
var assetFamilies = map[string][]string{
	"Node":              {"promcost_node"},
	"Disk":              {"promcost_persistentvolume", "promcost_attached_disk"},
	"LoadBalancer":      {"promcost_loadbalancer"},
	"Network":           {"promcost_network"},
	"ClusterManagement": {"promcost_cluster_management"},
}

// testAssetFamilies holds the law that everything is a metric: in the same hour, the families cost what the assets of each type
// do. It asks promcost's PromQL API for several hours, and the Prometheus that scraped promcost for the last one.
func (w *watched) testAssetFamilies(t *testing.T) {
	closed := w.query(t, "max(promcost_last_complete_set_timestamp_seconds)")
	if len(closed) != 1 {
		t.Fatalf("the last closed hour is %v", closed)
	}
	last := time.Unix(int64(closed[0].Value.Value), 0)
	for age := range 4 {
		end := last.Add(-time.Duration(age) * time.Hour)
		assets := w.assetsOfHour(t, end)
		for kind, prefixes := range assetFamilies {
			hourly := "sum({__name__=~\"" + strings.Join(prefixes, "_hourly_cost|") + "_hourly_cost\"})"
			at := strconv.FormatInt(end.Add(30*time.Minute).Unix(), 10)
			got := map[string][]sample{"promcost's own API": answerOf(t, w.promcost+"/api/v1/query", url.Values{"query": {hourly}, "time": {at}})}
			if age == 0 {
				got["the Prometheus that scrapes it"] = w.query(t, hourly)
			}
			for where, samples := range got {
				if len(samples) != 1 || assets[kind] == 0 || math.Abs(float64(samples[0].Value.Value)-assets[kind]) > 1e-9*assets[kind] {
					t.Errorf("%s until %s: families cost %v by %s, assets %v", kind, end.UTC(), samples, where, assets[kind])
				}
			}
			delete(assets, kind)
		}
		if len(assets) > 0 {
			t.Errorf("until %s: assets of types without a family: %v", end.UTC(), assets)
		}
	}
}

// assetsOfHour are the list costs of the hour's assets, by type, without the cloud costs that only bills tell of.
func (w *watched) assetsOfHour(t *testing.T, end time.Time) map[string]float64 {
	t.Helper()
	_, body := get(t, fmt.Sprintf("%s/model/assets?window=%d,%d&disableAdjustments=true", w.promcost, end.Unix()-3600, end.Unix()))
	var answer struct{ Data []map[string]costs }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("%v: %.300s", err, body)
	}
	sums := map[string]float64{}
	for _, a := range answer.Data[0] {
		sums[a.Type] += a.TotalCost
	}
	delete(sums, "Cloud")
	return sums
}
