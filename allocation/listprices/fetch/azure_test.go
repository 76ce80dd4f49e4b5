package fetch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation/listprices/fetch"
)

// azureItem is an item of Azure's retail prices.
func azureItem(service, product, sku, meter, armSKU, unit, price string) string {
	return `{"currencyCode":"USD","tierMinimumUnits":0.0,"retailPrice":` + price + `,"unitPrice":` + price + `,"armRegionName":"westeurope","location":"EU West",` +
		`"effectiveStartDate":"2026-01-01T00:00:00Z","meterId":"000a794b-bdb0-58be-a0cd-0c3a0f222923","meterName":"` + meter + `","productId":"DZH318Z0BQPS","skuId":"DZH318Z0BQPS/00TG",` +
		`"productName":"` + product + `","skuName":"` + sku + `","serviceName":"` + service + `","serviceId":"DZH313Z7MMC8","serviceFamily":"Compute","unitOfMeasure":"` + unit +
		`","type":"Consumption","isPrimaryMeterRegion":true,"armSkuName":"` + armSKU + `"}`
}

// azurePage is a page of items.
func azurePage(next string, items ...string) string {
	return `{"BillingCurrency":"USD","CustomerEntityId":"Default","CustomerEntityType":"Retail","Items":[` + strings.Join(items, ",") + `],"NextPageLink":` + next + fmt.Sprintf(`,"Count":%d}`, len(items))
}

// Items of a region.
var (
	azureMachineItems = []string{
		azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.24"),
		azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3 Spot", "D4s v3 Spot", "Standard_D4s_v3", "1 Hour", "0.0288"),
		azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3 Low Priority", "D4s v3 Low Priority", "Standard_D4s_v3", "1 Hour", "0.048"),
		azureItem("Virtual Machines", "Virtual Machines Dsv3 Series Windows", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.424"),
		azureItem("Virtual Machines", "Dsv3 Series Cloud Services", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.9"),
		strings.Replace(azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.5"), "2026-01-01", "2027-01-01", 1),
		strings.Replace(azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.15"), `"Consumption"`, `"Reservation"`, 1),
		strings.Replace(azureItem("Virtual Machines", "Virtual Machines Dsv3 Series", "D4s v3", "D4s v3", "Standard_D4s_v3", "1 Hour", "0.26"), "2026-01-01", "2025-01-01", 1),
	}
	azureMachines = azurePage("null", azureMachineItems...)
	azureDisks    = azurePage("null",
		azureItem("Storage", "Premium SSD Managed Disks", "P10 LRS", "P10 LRS Disk", "", "1/Month", "21.68"),
		azureItem("Storage", "Premium SSD Managed Disks", "P10 LRS", "P10 LRS Disk Mount", "", "1/Month", "1.08"),
		azureItem("Storage", "Standard SSD Managed Disks", "E10 LRS", "E10 LRS Disk", "", "1/Month", "9.6"),
	)
	azureCapacity  = azurePage(`""`, azureItem("Storage", "Azure Premium SSD v2", "Premium LRS", "Premium LRS Provisioned Capacity", "", "1 GiB/Hour", "0.000131"))
	azureBalancers = azurePage("null", strings.Replace(azureItem("Load Balancer", "Load Balancer", "Standard", "Standard Included LB Rules and Outbound Rules", "", "1 Hour", "0.025"), "westeurope", "Global", 1))
)

// serveAzure answers by the service and the product of the filter.
func serveAzure(t *testing.T, machines func(self string, r *http.Request) string) *httptest.Server {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		filter, text := r.URL.Query().Get("$filter"), azurePage("null")
		switch {
		case r.URL.Path != "/api/retail/prices" || r.URL.Query().Get("currencyCode") != "'USD'":
			http.NotFound(w, r)
			return
		case strings.Contains(filter, "'Virtual Machines' and armRegionName eq 'westeurope'"):
			text = machines(srv.URL, r)
		case strings.Contains(filter, "'Managed Disks'"):
			text = azureDisks
		case strings.Contains(filter, "'Azure Premium SSD v2'"):
			text = azureCapacity
		case strings.Contains(filter, "'Load Balancer' and armRegionName eq 'Global'"):
			text = azureBalancers
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestAzure(t *testing.T) {
	want := []string{
		"westeurope Standard_D4s_v3 machine linux 0.24 USD", "westeurope Standard_D4s_v3 machine linux spot 0.0288 USD", "westeurope Standard_D4s_v3 machine windows 0.424 USD",
		"westeurope Premium_LRS volume 0.000232021 USD", "westeurope StandardSSD_LRS volume 0.00010274 USD", "westeurope PremiumV2_LRS volume 0.000131 USD", "westeurope standard loadBalancer 0.025 USD",
	}
	for name, machines := range map[string]func(string, *http.Request) string{
		"on one page": func(string, *http.Request) string { return azureMachines },
		"by pages": func(self string, r *http.Request) string {
			skip := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("$skip"), &skip)
			next := "null"
			if skip+1 < len(azureMachineItems) {
				q := r.URL.Query()
				q.Set("$skip", strconv.Itoa(skip+1))
				next = `"` + self + "/api/retail/prices?" + q.Encode() + `"`
			}
			return azurePage(next, azureMachineItems[skip])
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, rowTexts(t, request(serveAzure(t, machines), "azure", "westeurope")), sorted); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAzureBadPages reads pages with a mistake each.
func TestAzureBadPages(t *testing.T) {
	machine := azureMachineItems[0]
	for _, tt := range []struct{ name, page, want string }{
		{"no JSON", "<html>", "page 1: {}: it is no page of retail prices"},
		{"cut off", azureMachines[:200], "page 1: {}: it is no page of retail prices: unexpected end"},
		{"another answer", `{"error":"no"}`, "page 1: {}: it is no page of retail prices: it has no Items"},
		{"nothing", azurePage("null"), "westeurope: no machine is listed there"},
		{"another server", azurePage(`"https://evil.example/api/retail/prices"`, machine), `the next page is "https://evil.example/api/retail/prices", which is not asked`},
		{"another port", azurePage(`"http://127.0.0.1:1/api/retail/prices"`, machine), `which is not asked`},
		{"itself", azurePage(`"{self}"`, machine), "which was read before: the pages have no end"},
		{"another currency", azurePage("null", machine, strings.Replace(machine, "USD", "EUR", 1)), `item 2: Standard_D4s_v3 costs 0.24 "EUR", but prices are in USD`},
		{"negative", azurePage("null", strings.Replace(machine, `"retailPrice":0.24`, `"retailPrice":-1`, 1)), "item 1: machine Standard_D4s_v3 costs -1 an hour, which is no price"},
		{"absurd", azurePage("null", strings.Replace(machine, `"retailPrice":0.24`, `"retailPrice":1e9`, 1)), "item 1: machine Standard_D4s_v3 costs 1e+09 an hour"},
		{"a text for a price", azurePage("null", strings.Replace(machine, `"retailPrice":0.24`, `"retailPrice":"a lot"`, 1)), "it is no page of retail prices"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serveAzure(t, func(self string, r *http.Request) string {
				return strings.ReplaceAll(tt.page, "{self}", self+r.URL.String())
			})
			_, err := fetch.Fetch(t.Context(), request(srv, "azure", "westeurope"))
			text := fmt.Sprint(err)
			for part := range strings.SplitSeq(tt.want, "{}") {
				if !strings.Contains(text, part) || !strings.Contains(text, "fetch list prices of azure: westeurope: ") {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			}
		})
	}
}

// TestAzureEndless ends with pages that always lead to another.
func TestAzureEndless(t *testing.T) {
	n := 0
	srv := serveAzure(t, func(self string, r *http.Request) string {
		n++
		q := r.URL.Query()
		q.Set("$skip", strconv.Itoa(n))
		return azurePage(`"`+self+"/api/retail/prices?"+q.Encode()+`"`, azureMachineItems[0])
	})
	if _, err := fetch.Fetch(t.Context(), request(srv, "azure", "westeurope")); err == nil || !strings.Contains(err.Error(), "page 2000: ") || n != 2000 {
		t.Errorf("%d pages: %v", n, err)
	}
}
