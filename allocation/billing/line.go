package billing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// Cost is one of the costs that FOCUS gives each charge.
type Cost uint8

// The costs.
const (
	Effective  Cost = iota // amortized: commitments are charged where they are used
	Billed                 // what the invoice says
	Contracted             // at negotiated prices, without commitments
	List                   // at list prices
	NumCosts
)

// String is the cost's name in the config file.
func (c Cost) String() string {
	return [NumCosts]string{"effective", "billed", "contracted", "list"}[c]
}

// focusCosts are the columns of the costs.
var focusCosts = [NumCosts]string{"EffectiveCost", "BilledCost", "ContractedCost", "ListCost"}

// Costs are the costs of a charge in one currency.
type Costs [NumCosts]float64

// Category is FOCUS' ChargeCategory.
type Category uint8

// The categories. What FOCUS does not know is an Adjustment.
const (
	Usage Category = iota
	Purchase
	Tax
	Credit
	Adjustment
	NumCategories
)

// String is the category as FOCUS writes it.
func (c Category) String() string {
	return [NumCategories]string{"Usage", "Purchase", "Tax", "Credit", "Adjustment"}[c]
}

// ParseCategory reads a category, whatever its case.
func ParseCategory(text string) (Category, error) {
	for c := range NumCategories {
		if strings.EqualFold(text, c.String()) {
			return c, nil
		}
	}
	return 0, fmt.Errorf("charge category %q is not known: FOCUS has Usage, Purchase, Tax, Credit and Adjustment", text)
}

// Tag is a tag of a resource.
type Tag struct{ Name, Value string }

// Tags are tags, sorted by name.
type Tags []Tag

// Get returns the value of the tag with that name, "" without one.
func (t Tags) Get(name string) string {
	if i, ok := slices.BinarySearchFunc(t, name, func(tag Tag, name string) int { return strings.Compare(tag.Name, name) }); ok {
		return t[i].Value
	}
	return ""
}

// Item describes what is charged. Unknown texts are empty. Items are shared by lines and must not be changed.
type Item struct {
	Bill       string // name in the config file
	Account    Account
	Charge     Charge
	Commitment Commitment
	Resource   Resource
	Service    Service
	Tags       Tags
}

// Account is who is charged, and when.
type Account struct {
	Provider               string // AWS, Azure, GCP, or as the bill writes it
	Issuer                 string // InvoiceIssuerName
	ID, Name               string // BillingAccountId, BillingAccountName
	SubID, SubName         string // SubAccountId, SubAccountName
	PeriodStart, PeriodEnd time.Time
	Currency               string // BillingCurrency, in which the bill is written
}

// Charge is the kind of a charge.
type Charge struct {
	Category        Category
	Class           string // Correction, or empty
	Description     string
	Frequency       string
	PricingCategory string // Standard, Dynamic (spot), Committed or Other
	PricingUnit     string
	ConsumedUnit    string
	Sku, SkuPrice   string // SkuId, SkuPriceId
	Meter           string // SkuMeter, else x_UsageType, else x_SkuMeterCategory
}

// Commitment is the commitment discount, such as a savings plan, that a charge uses or buys.
type Commitment struct {
	ID, Name, Type string
	Category       string // Spend or Usage
	Status         string // Used or Unused; empty where the charge is not about a commitment
}

// Resource is what was used.
type Resource struct {
	ID, Name, Type string
	Allocated      string // AllocatedResourceId: the charge is a part of the resource's that was divided by others
	VM             string // VMName of x_SkuDetails: a member of an Azure scale set
	Region, Zone   string // RegionId, AvailabilityZone
	RegionName     string
}

// Service is the provider's product.
type Service struct{ Category, Subcategory, Name, Publisher string }

// Unused reports whether the line is what was committed to and not used.
func (i *Item) Unused() bool { return i.Commitment.Status == "Unused" }

// Line is a charge, or the part of one that lies in a day.
type Line struct {
	*Item
	// Start and End bound the line within one day of the configured zone.
	Start, End time.Time
	// Costs are in the configured currency, with the line's part of the categories that the bill includes. A cost that the
	// bill does not tell is 0, and not in Known.
	Costs Costs
	Known [NumCosts]bool
	// Cost is that of Costs that the bill's settings take. It is always known.
	Cost float64
	// Quantity is in Charge.ConsumedUnit, PricingQuantity in Charge.PricingUnit; NaN if unknown.
	Quantity, PricingQuantity float64
}

// Key returns the key of the item's statement.
func (i *Item) Key() Key {
	return Key{Bill: i.Bill, Account: i.Account.ID, Start: i.Account.PeriodStart}
}

// Key identifies a statement.
type Key struct {
	Bill    string    `json:"bill"`
	Account string    `json:"account"` // BillingAccountId
	Start   time.Time `json:"start"`   // BillingPeriodStart
	// Folder is the folder of files that no manifest lists, empty for what a manifest lists. Folders stand beside each other.
	Folder string `json:"folder,omitempty"`
}

// statement is the key without the folder: what one bill charges one account for one billing period.
func (k Key) statement() Key { return Key{Bill: k.Bill, Account: k.Account, Start: k.Start} }

// Compare orders keys by bill, account, start and folder.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Bill, o.Bill), strings.Compare(k.Account, o.Account), k.Start.Compare(o.Start), strings.Compare(k.Folder, o.Folder))
}

// Statement is what one bill charges one billing account for one billing period: what one delivery says of it, or in a Book what all
// deliveries say that stand beside each other.
type Statement struct {
	Key
	End       time.Time `json:"end"`       // BillingPeriodEnd
	Delivery  string    `json:"delivery"`  // name of the manifest or folder that brought it
	Delivered time.Time `json:"delivered"` // the manifest's time, else that of the newest file
	// Charged is the time from the first charge period's start to the last one's end.
	Charged allocation.Window `json:"charged"`
	Lines   int64             `json:"lines"` // of the files
	Totals  []Total           `json:"totals"`
	Files   int               `json:"files,omitempty"` // of the delivery
	// Days are the days that it has lines of, ascending, by their starts. It is empty of what was kept by versions that did not write it.
	Days []time.Time `json:"days,omitempty"`
	// Replaced is what a manifest's statement took the place of.
	Replaced *Replaced `json:"replaced,omitempty"`
	// Warnings say what may be wrong with the files of the delivery.
	Warnings []string `json:"warnings,omitempty"`
	// Version differs between statements of one key and delivery whose lines differ.
	Version int `json:"-"`

	parts []part // what it was made of, where deliveries stand beside each other
}

// Replaced are lines of an earlier delivery that a newer one took the place of.
type Replaced struct {
	Delivery string             `json:"delivery"`
	Lines    int64              `json:"lines"`
	Costs    map[string]float64 `json:"costs"` // effective, else billed, by currency
}

// Total is the sum of a statement's lines of one sub-account, currency and category.
type Total struct {
	SubAccount string   `json:"subAccount,omitempty"` // SubAccountId
	Provider   string   `json:"provider,omitempty"`
	Currency   string   `json:"currency"`
	Category   Category `json:"category"`
	Lines      int64    `json:"lines"`
	Costs      Costs    `json:"costs"`    // in that currency
	Positive   Costs    `json:"positive"` // of lines whose cost is positive, by each cost
	// Unknown are how many of the lines do not tell each cost.
	Unknown [NumCosts]int64 `json:"unknown"`
	End     time.Time       `json:"end"` // of the latest charge period
}

func compareTotals(a, b Total) int {
	return cmp.Or(strings.Compare(a.SubAccount, b.SubAccount), strings.Compare(a.Currency, b.Currency), cmp.Compare(a.Category, b.Category))
}
