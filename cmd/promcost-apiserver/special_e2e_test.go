//go:build e2e

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFreshE2E asks in the first hour: there are no costs yet, and kubectl says when there will be some.
func TestFreshE2E(t *testing.T) {
	startCluster(t, startDemo(t, "2026-03-05T01:05:00Z", "1h", "--demo.nodes=4", "--demo.pods=40")).holds(t, "fresh")
}

// TestOddNamesE2E has names, teams and all other texts of a promcost that terminals obey.
func TestOddNamesE2E(t *testing.T) {
	promcost := httptest.NewServer(http.HandlerFunc(oddPromcost))
	t.Cleanup(promcost.Close)
	startCluster(t, promcost.URL).holds(t, "odd")
}

// oddPromcost is a promcost all of whose texts are odd.
func oddPromcost(w http.ResponseWriter, r *http.Request) {
	const odd = "a\x1b[31mb\x1b]0;title\x07\tc\nd\re\u202ef\u009bg%s"
	end := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	answer := map[string]any{"code": 200, "coveredHours": 24, "windowHours": 24}
	switch {
	case r.URL.Path == "/model/clusterInfo":
		answer["data"] = map[string]string{"id": "one", "closedUntil": end.Format(time.RFC3339)}
	case r.URL.Path == "/model/getConfigs":
		answer["data"] = map[string]string{"currencyCode": odd}
	case r.URL.Path == "/model/questions":
		answer["data"] = []map[string]string{{"name": odd, "query": odd}, {"name": "by-team", "query": "window=1d&x=" + odd}}
	case r.URL.Path == "/model/assets":
		answer["data"] = []any{map[string]any{"x": map[string]any{
			"type": "Node" + odd, "properties": map[string]string{"name": odd, "provider": odd, "category": odd, "providerID": odd}, "nodeType": odd, "start": end, "end": end, "totalCost": 1,
		}}}
	case strings.Contains(r.FormValue("aggregate"), "uid"):
		answer["data"] = []any{map[string]any{"search/" + odd + "/u1/" + odd + "//__unallocated__": map[string]any{}}}
	default:
		answer["data"] = []any{map[string]any{"search/" + odd: map[string]any{
			"name": odd, "properties": map[string]any{"namespace": "search", "pod": odd, "node": odd, "controller": odd, "controllerKind": odd, "labels": map[string]string{odd: odd}},
			"start": end, "end": end, "totalCost": 1, "cpuCost": 1,
		}}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
