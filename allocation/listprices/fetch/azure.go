package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
)

// azureItem is a price of Azure's retail prices.
type azureItem struct {
	CurrencyCode       string  `json:"currencyCode"`
	TierMinimumUnits   float64 `json:"tierMinimumUnits"`
	RetailPrice        float64 `json:"retailPrice"`
	ArmRegionName      string  `json:"armRegionName"`
	EffectiveStartDate string  `json:"effectiveStartDate"`
	MeterName          string  `json:"meterName"`
	ProductName        string  `json:"productName"`
	SkuName            string  `json:"skuName"`
	ServiceName        string  `json:"serviceName"`
	UnitOfMeasure      string  `json:"unitOfMeasure"`
	Type               string  `json:"type"`
	ArmSkuName         string  `json:"armSkuName"`
}

// azurePage is a page of them.
type azurePage struct {
	Items        []azureItem `json:"Items"`
	NextPageLink string      `json:"NextPageLink"`
}

// azureRegion is the region of prices that are the same everywhere.
const azureRegion = "Global"

// fetchAzure asks for what Azure lists in regions: machines on demand and spot with Linux and Windows, managed disks and load balancers.
func fetchAzure(ctx context.Context, a *asker) ([]List, error) {
	return eachRegion(ctx, a, func(region string) (List, error) {
		found := a.newCollected()
		for _, filter := range []string{
			"serviceName eq 'Virtual Machines' and armRegionName eq '" + region + "' and priceType eq 'Consumption'",
			"serviceName eq 'Storage' and armRegionName eq '" + region + "' and priceType eq 'Consumption' and contains(productName, 'Managed Disks')",
			"serviceName eq 'Storage' and armRegionName eq '" + region + "' and priceType eq 'Consumption' and productName eq 'Azure Premium SSD v2'",
			"serviceName eq 'Storage' and armRegionName eq '" + region + "' and priceType eq 'Consumption' and productName eq 'Ultra Disks'",
			"serviceName eq 'Load Balancer' and armRegionName eq '" + azureRegion + "' and priceType eq 'Consumption'",
		} {
			query := url.Values{"currencyCode": {"'" + a.Currency + "'"}, "$filter": {filter}}
			if err := a.azurePages(ctx, a.at("/api/retail/prices", query), region, found); err != nil {
				return List{}, err
			}
		}
		rows, err := found.in(region)
		return List{Region: region, Rows: rows}, err
	})
}

// azurePages reads an answer page by page. Links lead to the same server, and to no page twice.
func (a *asker) azurePages(ctx context.Context, u *url.URL, region string, found *collected) error {
	seen := map[string]bool{}
	for n := 1; ; n++ {
		seen[u.String()] = true
		page, err := a.page(ctx, u)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		next, err := readAzure(page, region, found)
		if err != nil {
			return fmt.Errorf("page %d: %s: %w", n, u, err)
		}
		if next == "" {
			return nil
		}
		to, err := u.Parse(next)
		switch {
		case err != nil || !sameServer(to, a.base):
			return fmt.Errorf("page %d: %s: the next page is %.200q, which is not asked: want a page of the same server", n, u, next)
		case seen[to.String()]:
			return fmt.Errorf("page %d: %s: the next page is %s, which was read before: the pages have no end", n, u, to)
		case n == maxPages:
			return fmt.Errorf("page %d: %s: there are more pages: is it a price list?", n, u)
		}
		u = to
	}
}

// readAzure reads the prices of a page, and returns the link to the next one, "" for none.
func readAzure(text []byte, region string, found *collected) (next string, err error) {
	var page azurePage
	if err := json.Unmarshal(text, &page); err != nil {
		return "", fmt.Errorf("it is no page of retail prices: %w", err)
	}
	if page.Items == nil {
		return "", errors.New("it is no page of retail prices: it has no Items")
	}
	for i := range page.Items {
		if err := found.addAzure(&page.Items[i], region); err != nil {
			return "", fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return page.NextPageLink, nil
}

// addAzure adds a price, if it is one of those that are wanted.
func (c *collected) addAzure(item *azureItem, region string) error {
	if item.Type != "Consumption" || item.TierMinimumUnits > 0 || item.ArmRegionName != region && item.ArmRegionName != azureRegion {
		return nil
	}
	if from, err := time.Parse(time.RFC3339, item.EffectiveStartDate); err == nil && from.After(c.a.Now) {
		return nil // it is announced
	}
	row := listprices.Row{Region: region, Price: item.RetailPrice}
	wanted := false
	switch item.ServiceName {
	case "Virtual Machines":
		wanted = azureMachine(item, &row)
	case "Storage":
		wanted = azureDisk(item, &row)
	case "Load Balancer":
		row.Kind, row.Name = listprices.LoadBalancers, "standard"
		wanted = item.MeterName == "Standard Included LB Rules and Outbound Rules" && item.UnitOfMeasure == "1 Hour"
	}
	if !wanted {
		return nil
	}
	return c.add(row, item.CurrencyCode, item.EffectiveStartDate)
}

// azureMachine reads a machine, and reports whether it is one that nodes can be.
func azureMachine(item *azureItem, row *listprices.Row) bool {
	product := strings.ReplaceAll(item.ProductName, " ", "")
	if item.ArmSkuName == "" || item.UnitOfMeasure != "1 Hour" || strings.HasSuffix(item.SkuName, "Low Priority") ||
		strings.Contains(product, "CloudServices") || strings.Contains(product, "DedicatedHost") {
		return false
	}
	row.Name, row.OS = item.ArmSkuName, "linux"
	row.Spot = strings.HasSuffix(item.SkuName, " Spot")
	if strings.HasSuffix(item.ProductName, " Windows") {
		row.OS = "windows"
	}
	return true
}

// azureTiers are the tiers of managed disks by whose price a GiB of a type is priced: those of 128 GiB. Other tiers differ a little from that.
var azureTiers = map[string]string{"P10 LRS Disk": "Premium_LRS", "E10 LRS Disk": "StandardSSD_LRS", "S10 LRS Disk": "Standard_LRS"}

// azureTierGiB is how many GiB these have.
const azureTierGiB = 128

// azureCapacities are the types of disks with a price for a GiB, by meter.
var azureCapacities = map[string]string{"Premium LRS Provisioned Capacity": "PremiumV2_LRS", "Ultra LRS Provisioned Capacity": "UltraSSD_LRS"}

// azureDisk reads a disk, and reports whether it is one that volumes can be.
func azureDisk(item *azureItem, row *listprices.Row) bool {
	row.Kind = listprices.Volumes
	if row.Name = azureCapacities[item.MeterName]; row.Name != "" {
		return item.UnitOfMeasure == "1 GiB/Hour"
	}
	row.Name = azureTiers[item.MeterName]
	row.Price /= azureTierGiB * hoursPerMonth
	return row.Name != "" && item.UnitOfMeasure == "1/Month"
}
