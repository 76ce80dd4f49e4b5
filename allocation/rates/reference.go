package rates

import (
	"slices"

	"github.com/promcost/promcost/allocation"
)

// Prices that are that many times the reference prices, or that small a part of them, are likely to be of another unit: a month
// has 730 hours. The part is smaller than what the cheapest archives cost.
const (
	UnusuallyDear  = 100
	UnusuallyCheap = 1.0 / 300
)

// mostApart is how many times one price for the same thing and length of time may be another.
const mostApart = 3

// Alike reports whether two prices may be for the same length of time. Those for an hour and for a month are 730 times apart.
func Alike(a, b float64) bool { return a >= b/mostApart && a <= b*mostApart }

// referenceNode and referenceItem are reference prices in US dollars, roughly.
var (
	referenceNode = [allocation.NumResources]float64{allocation.CPU: 0.03, allocation.RAM: 0.004, allocation.GPU: 1}
	referenceItem = [NumItemKinds]float64{
		ItemStorage: 0.00005, ItemLoadBalancer: 0.025, ItemManagement: 0.1, ItemEgressZone: 0.01, ItemEgressRegion: 0.02, ItemEgressInternet: 0.1,
	}
)

// unitsPerDollar are currencies whose unit is worth much less than a dollar, by orders of magnitude.
var unitsPerDollar = []struct {
	units      float64
	currencies []string
}{
	{10, []string{"CNY", "CZK", "DKK", "EGP", "HKD", "MXN", "NOK", "SEK", "THB", "TRY", "TWD", "UAH", "ZAR"}},
	{100, []string{"BDT", "INR", "ISK", "JPY", "KES", "LKR", "PHP", "PKR", "RSD", "RUB"}},
	{1000, []string{"ARS", "CLP", "COP", "HUF", "KRW", "KZT", "NGN", "TZS"}},
	{10000, []string{"IDR", "UZS", "VND"}},
}

// Dollar is the ISO code of the currency of built-in prices, and of all prices if none is configured.
const Dollar = "USD"

// unitsOf is how many units of a currency are worth about a dollar, by orders of magnitude.
func unitsOf(currency string) float64 {
	for _, row := range unitsPerDollar {
		if slices.Contains(row.currencies, currency) {
			return row.units
		}
	}
	return 1
}

// ReferenceNode is about what a core-hour, GiB-hour (2^30 bytes) or device-hour costs, in a currency by its ISO code.
func ReferenceNode(r allocation.Resource, currency string) float64 {
	return referenceNode[r] * unitsOf(currency)
}

// ReferenceItem is about what a unit of a kind of item costs, in a currency by its ISO code.
func ReferenceItem(k ItemKind, currency string) float64 { return referenceItem[k] * unitsOf(currency) }

// Denominated are Rates that know the currency of the answers. Others are taken to price in US dollars.
type Denominated interface {
	// Currency is an ISO code; "" is as good as USD.
	Currency() string
}
