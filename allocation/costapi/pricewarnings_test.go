package costapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/costapi"
	"github.com/promcost/promcost/allocation/rates"
)

// TestPriceWarnings says how much of the cost rests on prices that nobody gave, whatever an answer selects. CPU is two thirds of the cost.
func TestPriceWarnings(t *testing.T) {
	estimate := rates.ListName("list prices", now, "us-east-1", false)
	for _, tt := range []struct {
		priced [allocation.NumResources]string
		want   []string
	}{
		{[allocation.NumResources]string{"node_cpu_hourly_cost", "node_ram_hourly_cost"}, nil},
		{[allocation.NumResources]string{"node_cpu_hourly_cost", rates.BuiltInPrices}, []string{"33 % of this cost rests on default prices"}},
		{[allocation.NumResources]string{estimate, rates.BuiltInPrices}, []string{"33 % of this cost rests on default prices", "67 % of this cost rests on estimated prices"}},
	} {
		for _, path := range []string{"/allocation", "/model/allocation", "/model/assets", "/allocation/summary", "/model/allocation/change"} {
			w := get(newHandler(&fake{priced: tt.priced}, costapi.Config{}), path, "window=2d", "filter=namespace:\"web\"")
			if path == "/model/assets" {
				w = get(newHandler(&fake{priced: tt.priced}, costapi.Config{}), path, "window=2d")
			}
			var body struct {
				Warnings []string `json:"warnings"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatal(path, err)
			}
			var got []string
			for _, text := range body.Warnings {
				if text, _, ok := strings.Cut(text, ": "); ok && strings.Contains(text, "rests on") {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
	}
}
