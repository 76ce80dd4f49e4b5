package fetch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/listprices/fetch"
)

// googleSKU is a SKU of Google's billing catalog in two regions.
func googleSKU(description, family, usage, unit string, rates ...float64) string {
	var tiers []string
	for i, rate := range rates {
		tiers = append(tiers, fmt.Sprintf(`{"startUsageAmount":%d,"unitPrice":{"currencyCode":"USD","units":"0","nanos":%.0f}}`, 30*i, 1e9*rate))
	}
	return `{"name":"services/6F81-5844-456A/skus/0001-0002-0003","skuId":"0001-0002-0003","description":"` + description + `","category":{"serviceDisplayName":"Compute Engine","resourceFamily":"` + family +
		`","resourceGroup":"CPU","usageType":"` + usage + `"},"serviceRegions":["europe-west3","europe-west4"],"pricingInfo":[{"summary":"","pricingExpression":{"usageUnit":"` + unit +
		`","usageUnitDescription":"hour","baseUnit":"s","baseUnitConversionFactor":3600,"displayQuantity":1,"tieredRates":[` + strings.Join(tiers, ",") +
		`]},"currencyConversionRate":1,"effectiveTime":"2026-11-29T16:01:20.178Z"}],"serviceProviderName":"Google"}`
}

// googlePage is a page of SKUs.
func googlePage(next string, skus ...string) string {
	return `{"skus":[` + strings.Join(skus, ",") + `],"nextPageToken":"` + next + `"}`
}

var (
	googleList = []string{
		googleSKU("N2 Instance Core running in Frankfurt", "Compute", "OnDemand", "h", 0.040726),
		googleSKU("N2 Instance Ram running in Frankfurt", "Compute", "OnDemand", "GiBy.h", 0.005458),
		googleSKU("Spot Preemptible N2 Instance Core running in Frankfurt", "Compute", "Preemptible", "h", 0.00986),
		googleSKU("Spot Preemptible N2 Instance Ram running in Frankfurt", "Compute", "Preemptible", "GiBy.h", 0.00132),
		googleSKU("N2 Custom Instance Core running in Frankfurt", "Compute", "OnDemand", "h", 0.0428),
		googleSKU("N2 Sole Tenancy Instance Core running in Frankfurt", "Compute", "OnDemand", "h", 0.05),
		googleSKU("Commitment v1: N2 Cpu in Frankfurt for 1 Year", "Compute", "Commit1Yr", "h", 0.02),
		googleSKU("N1 Predefined Instance Core running in Frankfurt", "Compute", "OnDemand", "h", 0.040692),
		googleSKU("N1 Predefined Instance Ram running in Frankfurt", "Compute", "OnDemand", "GiBy.h", 0.005453),
		googleSKU("N2D AMD Instance Core running in Frankfurt", "Compute", "OnDemand", "h", 0.0354),
		googleSKU("Compute optimized Core running in Frankfurt", "Compute", "OnDemand", "h", 0.0437),
		googleSKU("M3 Memory-optimized Instance Ram running in Frankfurt", "Compute", "OnDemand", "GiBy.h", 0.0066),
		googleSKU("Nvidia Tesla T4 GPU running in Frankfurt", "Compute", "OnDemand", "h", 0.41),
		googleSKU("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Frankfurt", "Compute", "Preemptible", "h", 0.14),
		googleSKU("Nvidia L4 GPU running in Frankfurt", "Compute", "OnDemand", "h", 0.72),
		googleSKU("Storage PD Capacity in Frankfurt", "Storage", "OnDemand", "GiBy.mo", 0.0, 0.048),
		googleSKU("Balanced PD Capacity in Frankfurt", "Storage", "OnDemand", "GiBy.mo", 0.12),
		googleSKU("Regional Balanced PD Capacity in Frankfurt", "Storage", "OnDemand", "GiBy.mo", 0.24),
		googleSKU("SSD backed PD Capacity in Frankfurt", "Storage", "OnDemand", "GiBy.mo", 0.204),
		googleSKU("Network Load Balancing: Forwarding Rule Minimum Service Charge in Frankfurt", "Network", "OnDemand", "h", 0.03),
	}
	googleSKUs = googlePage("", googleList...)
)

// serveGoogle answers who has the key.
func serveGoogle(t *testing.T, page func(token string) string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Api-Key") != "sesame" || strings.Contains(r.URL.String(), "sesame") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.URL.Path != "/v1/services/6F81-5844-456A/skus" || r.URL.Query().Get("currencyCode") != "USD" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(page(r.URL.Query().Get("pageToken"))))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestGoogle(t *testing.T) {
	srv := serveGoogle(t, func(token string) string {
		i := 0
		_, _ = fmt.Sscan(token, &i)
		if i+1 < len(googleList) {
			return googlePage(strconv.Itoa(i+1), googleList[i])
		}
		return googlePage("", googleList[i])
	})
	r := request(srv, "gcp", "europe-west3")
	if diff := cmp.Diff([]string{
		"europe-west3 c2 core 0.0437 USD", "europe-west3 m3 memory 0.0066 USD", "europe-west3 n1 core 0.040692 USD", "europe-west3 n1 memory 0.005453 USD",
		"europe-west3 n2 core 0.040726 USD", "europe-west3 n2 core spot 0.00986 USD", "europe-west3 n2 memory 0.005458 USD", "europe-west3 n2 memory spot 0.00132 USD", "europe-west3 n2d core 0.0354 USD",
		"europe-west3 nvidia-t4 gpu 0.41 USD", "europe-west3 nvidia-t4 gpu spot 0.14 USD", "europe-west3 nvidia-l4 gpu 0.72 USD",
		"europe-west3 pd-standard volume 6.57534e-05 USD", "europe-west3 pd-balanced volume 0.000164384 USD", "europe-west3 pd-ssd volume 0.000279452 USD",
		"europe-west3 forwarding-rule loadBalancer 0.03 USD",
	}, rowTexts(t, r), sorted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lists, err := fetch.Fetch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	table, err := listprices.New("Google's", lists[0].Rows)
	if err != nil {
		t.Fatal(err)
	}
	// 8 cores and 32 GiB, and a T4.
	m := listprices.Machine{Provider: "gcp", Region: "europe-west3", InstanceType: "n1-standard-8", Cores: 8, GiB: 30, GPUs: 1, GPUModel: "nvidia-tesla-t4"}
	if got, ok := table.Price(m); !ok || fmt.Sprintf("%.6f", got.PerHour) != fmt.Sprintf("%.6f", 8*0.040692+30*0.005453+0.41) {
		t.Errorf("got %+v", got)
	}
}

// TestGoogleBadPages reads pages with a mistake each.
func TestGoogleBadPages(t *testing.T) {
	core := googleList[0]
	for _, tt := range []struct{ name, page, want string }{
		{"no JSON", "<html>", "it is no page of the billing catalog"},
		{"cut off", googleSKUs[:300], "it is no page of the billing catalog: unexpected end"},
		{"another answer", `{"error":{}}`, "it has no skus"},
		{"nothing", googlePage(""), "europe-west3: no machine is listed there"},
		{"pages without an end", googlePage("1", core), "the next page was read before: the pages have no end"},
		{"another currency", googlePage("", strings.Replace(core, "USD", "EUR", 1)), `SKU 1: n2 costs 0.040726 "EUR", but prices are in USD`},
		{"negative", googlePage("", strings.Replace(core, `"units":"0"`, `"units":"-1"`, 1)), "SKU 1: core n2 costs -0.959274 an hour, which is no price"},
		{"absurd", googlePage("", strings.Replace(core, `"units":"0"`, `"units":"1000"`, 1)), "SKU 1: core n2 costs 1000.040726 an hour"},
		{"a text for a price", googlePage("", strings.Replace(core, `"units":"0"`, `"units":"a lot"`, 1)), `units are "a lot", want a whole number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serveGoogle(t, func(string) string { return tt.page })
			_, err := fetch.Fetch(t.Context(), request(srv, "gcp", "europe-west3"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "fetch list prices of gcp: ") || strings.Contains(err.Error(), "sesame") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	r := request(serveGoogle(t, func(string) string { return googleSKUs }), "gcp", "europe-west3")
	r.Key = "open"
	if _, err := fetch.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), "it answers 403 Forbidden") {
		t.Error(err)
	}
}
