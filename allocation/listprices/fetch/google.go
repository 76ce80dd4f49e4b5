package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation/listprices"
)

// googleCompute is the service of the billing catalog that has machines, disks and forwarding rules.
const googleCompute = "/v1/services/6F81-5844-456A/skus"

// googleSKU is a price of Google's billing catalog.
type googleSKU struct {
	Description string `json:"description"`
	Category    struct {
		ResourceFamily string `json:"resourceFamily"`
		UsageType      string `json:"usageType"`
	} `json:"category"`
	ServiceRegions []string        `json:"serviceRegions"`
	PricingInfo    []googlePricing `json:"pricingInfo"`
}

// googlePricing is what a SKU costs from a time on.
type googlePricing struct {
	EffectiveTime     string `json:"effectiveTime"`
	PricingExpression struct {
		UsageUnit   string `json:"usageUnit"`
		TieredRates []struct {
			UnitPrice struct {
				CurrencyCode string `json:"currencyCode"`
				Units        string `json:"units"`
				Nanos        int64  `json:"nanos"`
			} `json:"unitPrice"`
		} `json:"tieredRates"`
	} `json:"pricingExpression"`
}

// price is the price of the first tier that is not free, 0 where all are.
func (p *googlePricing) price() (v float64, currency string, err error) {
	for _, rate := range p.PricingExpression.TieredRates {
		units := int64(0)
		if text := rate.UnitPrice.Units; text != "" {
			if units, err = strconv.ParseInt(text, 10, 64); err != nil {
				return 0, "", fmt.Errorf("units are %.40q, want a whole number", text)
			}
		}
		if v = float64(units) + float64(rate.UnitPrice.Nanos)/1e9; v != 0 || currency == "" {
			currency = rate.UnitPrice.CurrencyCode
		}
		if v != 0 {
			break
		}
	}
	return v, currency, nil
}

// fetchGoogle reads the billing catalog, which has all regions: cores, memory and GPUs on demand and spot, disks and forwarding rules.
func fetchGoogle(ctx context.Context, a *asker) ([]List, error) {
	found, seen, token := a.newCollected(), map[string]bool{}, ""
	for n := 1; ; n++ {
		query := url.Values{"currencyCode": {a.Currency}, "pageSize": {"1000"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		u := a.at(googleCompute, query)
		page, err := a.page(ctx, u)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
		token, err = readGoogle(page, found)
		switch {
		case err != nil:
			return nil, fmt.Errorf("page %d: %s: %w", n, u, err)
		case token == "":
			return eachRegion(ctx, a, func(region string) (List, error) {
				rows, err := found.in(region)
				return List{Region: region, Rows: rows}, err
			})
		case seen[token]:
			return nil, fmt.Errorf("page %d: %s: the next page was read before: the pages have no end", n, u)
		case n == maxPages:
			return nil, fmt.Errorf("page %d: %s: there are more pages: is it a price list?", n, u)
		}
		seen[token] = true
	}
}

// readGoogle reads the prices of a page, and returns the token of the next one, "" for none.
func readGoogle(text []byte, found *collected) (token string, err error) {
	var page struct {
		SKUs  []googleSKU `json:"skus"`
		Token string      `json:"nextPageToken"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return "", fmt.Errorf("it is no page of the billing catalog: %w", err)
	}
	if page.SKUs == nil {
		return "", errors.New("it is no page of the billing catalog: it has no skus")
	}
	for i := range page.SKUs {
		if err := found.addGoogle(&page.SKUs[i]); err != nil {
			return "", fmt.Errorf("SKU %d: %w", i+1, err)
		}
	}
	return page.Token, nil
}

// googlePrices say which descriptions of SKUs are of what. The first group is the name of what is priced.
var googlePrices = []struct {
	form   *regexp.Regexp
	family string // of resources, "" for any
	unit   string
	row    listprices.Row // but for the name
}{
	{regexp.MustCompile(`^(?:Spot )?(?:Preemptible )?(.+) Core running in `), "Compute", "h", listprices.Row{Kind: listprices.Cores}},
	{regexp.MustCompile(`^(?:Spot )?(?:Preemptible )?(.+) Ram running in `), "Compute", "GiBy.h", listprices.Row{Kind: listprices.Memory}},
	{regexp.MustCompile(`^(Nvidia .+) GPU (?:running|attached to (?:Spot )?(?:Preemptible )?VMs running) in `), "Compute", "h", listprices.Row{Kind: listprices.GPUs}},
	{regexp.MustCompile(`^(Storage PD|Balanced PD|SSD backed PD|Extreme PD|Hyperdisk Balanced) Capacity(?: in |$)`), "Storage", "GiBy.mo", listprices.Row{Kind: listprices.Volumes}},
	{regexp.MustCompile(`^(Network Load Balancing: Forwarding Rule Minimum Service Charge)(?: in |$)`), "", "h", listprices.Row{Kind: listprices.LoadBalancers}},
}

// googleNames are names of tables for those of the catalog.
var googleNames = map[string]string{
	"Storage PD": "pd-standard", "Balanced PD": "pd-balanced", "SSD backed PD": "pd-ssd", "Extreme PD": "pd-extreme", "Hyperdisk Balanced": "hyperdisk-balanced",
	"Network Load Balancing: Forwarding Rule Minimum Service Charge": "forwarding-rule",
	"Compute optimized": "c2", "Compute optimized Instance": "c2", "Memory-optimized Instance": "m1",
}

// googleFamily is what the catalog calls families of machines: N1 Predefined Instance, N2D AMD Instance, M3 Memory-optimized Instance, …. Custom machines and those of sole
// tenants have other words, and other prices.
var googleFamily = regexp.MustCompile(`^([A-Z][0-9][A-Z]?)(?: Predefined| AMD| Arm| Intel| Memory-optimized)? Instance$`)

// addGoogle adds a price for each region that was asked for, if it is one of those that are wanted.
func (c *collected) addGoogle(sku *googleSKU) error {
	spot := sku.Category.UsageType == "Preemptible"
	if !spot && sku.Category.UsageType != "OnDemand" || len(sku.PricingInfo) == 0 {
		return nil
	}
	for _, of := range googlePrices {
		m := of.form.FindStringSubmatch(sku.Description)
		info := sku.PricingInfo[len(sku.PricingInfo)-1] // the newest comes last
		if m == nil || of.family != "" && sku.Category.ResourceFamily != of.family || info.PricingExpression.UsageUnit != of.unit {
			continue
		}
		row := of.row
		row.Spot = spot
		if row.Name = googleName(row.Kind, m[1]); row.Name == "" {
			return nil
		}
		price, currency, err := info.price()
		if err != nil {
			return fmt.Errorf("%.60q: %w", sku.Description, err)
		}
		if of.unit == "GiBy.mo" {
			price /= hoursPerMonth
		}
		row.Price = price
		if len(info.PricingExpression.TieredRates) == 0 {
			return nil
		}
		for _, region := range sku.ServiceRegions {
			if row.Region = region; slices.Contains(c.a.Regions, region) {
				if err := c.add(row, currency, info.EffectiveTime); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return nil
}

// googleName is what tables call something of the catalog, "" for what they have not.
func googleName(kind listprices.Kind, text string) string {
	if kind == listprices.GPUs {
		return listprices.GPUName(text)
	}
	if known, ok := googleNames[text]; ok {
		return known
	}
	if m := googleFamily.FindStringSubmatch(text); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}
