package main

import (
	"encoding/json"
	"math"
	"testing"
)

// testChange compares the rows of a change with those of the API.
func (a *assistant) testChange(t *testing.T, base string) {
	var exact struct {
		Data struct {
			Total struct{ Change float64 }
			Rows  []struct {
				Name        string
				Change      float64
				Since, Team string
				After       struct{ Replicas float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(answered(t, base+"/model/allocation/change?window=yesterday&aggregate=namespace")), &exact); err != nil {
		t.Fatal(err)
	}
	var got compactAnswer
	a.into(t, "explain_change", map[string]any{"window": "yesterday", "aggregate": "namespace", "drill": "controller", "limit": 2}, &got)
	sum := got.Rest.Change
	for i, r := range got.Rows {
		sum += r.Change
		if want := exact.Data.Rows[i]; r.Name != want.Name || math.Abs(r.Change-want.Change) > 5e-4*max(math.Abs(r.Cost), math.Abs(r.Baseline)) {
			t.Errorf("row %d is %s %v, want %s %v", i, r.Name, r.Change, want.Name, want.Change)
		}
		if want := exact.Data.Rows[i]; r.Since != want.Since || r.Team != want.Team || math.Abs(r.After["replicas"]-want.After.Replicas) > 5e-4*want.After.Replicas {
			t.Errorf("row %d is of team %q since %q, %v replicas, want %q, %q, %v", i, r.Team, r.Since, r.After["replicas"], want.Team, want.Since, want.After.Replicas)
		}
	}
	if math.Abs(sum-got.Total.Change) > 1e-9 || math.Abs(got.Total.Change-exact.Data.Total.Change) > 0.01*math.Abs(got.Total.Cost) {
		t.Errorf("rows add up to %v, the total is %v, exactly %v", sum, got.Total.Change, exact.Data.Total.Change)
	}
}
