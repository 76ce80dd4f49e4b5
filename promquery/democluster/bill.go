package democluster

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Directories of the bills below the one of WriteBills.
const (
	ProviderBill = "aws"       // of the cloud provider, in two deliveries
	VendorBill   = "clearview" // of a vendor of SaaS
)

// Accounts of the bills.
const (
	billingAccount = "410023456789"
	subAccount     = "410034567890"
	vendorAccount  = "CV-20417"
)

const dayMillis = 24 * hourMillis

// charge is what a line of a bill costs, in USD. Its fields are named like FOCUS' columns.
type charge struct{ list, contracted, effective, billed float64 }

// fullCharge is a charge without any discount.
func fullCharge(cost float64) charge { return charge{cost, cost, cost, cost} }

// billLine is one line of a bill in FOCUS 1.2. Texts that are empty are null.
type billLine struct {
	account, subAccount            string
	provider, publisher            string
	service, serviceCategory       string
	category, class                string // of the charge
	description                    string
	resource, resourceName         string
	resourceType                   string
	zone                           string
	pricing                        string // PricingCategory
	commitment, committedTo        string // id; Used or Unused
	commitmentName, commitmentKind string // CommitmentDiscountCategory
	skuMeter                       string
	quantity                       float64
	unit                           string
	tags                           map[string]string
	charge
	during span
}

// focusColumn is a column of a file in FOCUS.
type focusColumn struct {
	name  string
	value func(*billLine) string
}

// number is a number without exponent, as short as it is exact.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// perUnit is a price, empty if there is no quantity.
func perUnit(cost, quantity float64) string {
	if quantity == 0 {
		return ""
	}
	return number(cost / quantity)
}

// focusColumns are the columns of the demo's bills: those that FOCUS 1.2 demands and that say something here.
func focusColumns() []focusColumn {
	fixed := func(text string) func(*billLine) string { return func(*billLine) string { return text } }
	return []focusColumn{
		{"AvailabilityZone", func(l *billLine) string { return l.zone }},
		{"BilledCost", func(l *billLine) string { return number(l.billed) }},
		{"BillingAccountId", func(l *billLine) string { return l.account }},
		{"BillingAccountName", fixed("Example")},
		{"BillingCurrency", fixed("USD")},
		{"BillingPeriodEnd", func(l *billLine) string { return monthOf(l.during.from).AddDate(0, 1, 0).Format(time.RFC3339) }},
		{"BillingPeriodStart", func(l *billLine) string { return monthOf(l.during.from).Format(time.RFC3339) }},
		{"ChargeCategory", func(l *billLine) string { return cmp.Or(l.category, "Usage") }},
		{"ChargeClass", func(l *billLine) string { return l.class }},
		{"ChargeDescription", func(l *billLine) string { return l.description }},
		{"ChargeFrequency", fixed("Usage-Based")},
		{"ChargePeriodEnd", func(l *billLine) string { return instant(l.during.to).Format(time.RFC3339) }},
		{"ChargePeriodStart", func(l *billLine) string { return instant(l.during.from).Format(time.RFC3339) }},
		{"CommitmentDiscountCategory", func(l *billLine) string { return l.commitmentKind }},
		{"CommitmentDiscountId", func(l *billLine) string { return l.commitment }},
		{"CommitmentDiscountName", func(l *billLine) string { return l.commitmentName }},
		{"CommitmentDiscountStatus", func(l *billLine) string { return l.committedTo }},
		{"CommitmentDiscountType", func(l *billLine) string { return l.commitmentName }},
		{"ConsumedQuantity", func(l *billLine) string { return number(l.quantity) }},
		{"ConsumedUnit", func(l *billLine) string { return l.unit }},
		{"ContractedCost", func(l *billLine) string { return number(l.contracted) }},
		{"ContractedUnitPrice", func(l *billLine) string { return perUnit(l.contracted, l.quantity) }},
		{"EffectiveCost", func(l *billLine) string { return number(l.effective) }},
		{"InvoiceIssuerName", func(l *billLine) string { return l.publisher }},
		{"ListCost", func(l *billLine) string { return number(l.list) }},
		{"ListUnitPrice", func(l *billLine) string { return perUnit(l.list, l.quantity) }},
		{"PricingCategory", func(l *billLine) string { return cmp.Or(l.pricing, "Standard") }},
		{"PricingCurrency", fixed("USD")},
		{"PricingQuantity", func(l *billLine) string { return number(l.quantity) }},
		{"PricingUnit", func(l *billLine) string { return l.unit }},
		{"ProviderName", func(l *billLine) string { return l.provider }},
		{"PublisherName", func(l *billLine) string { return l.publisher }},
		{"RegionId", fixed(region)},
		{"RegionName", fixed("US East (N. Virginia)")},
		{"ResourceId", func(l *billLine) string { return l.resource }},
		{"ResourceName", func(l *billLine) string { return l.resourceName }},
		{"ResourceType", func(l *billLine) string { return l.resourceType }},
		{"ServiceCategory", func(l *billLine) string { return l.serviceCategory }},
		{"ServiceName", func(l *billLine) string { return l.service }},
		{"SkuMeter", func(l *billLine) string { return l.skuMeter }},
		{"SubAccountId", func(l *billLine) string { return l.subAccount }},
		{"SubAccountName", fixed("production")},
		{"Tags", func(l *billLine) string { return tagsText(l.tags) }},
	}
}

// tagsText is the JSON of tags, sorted by name.
func tagsText(tags map[string]string) string {
	if len(tags) == 0 {
		return ""
	}
	text, err := json.Marshal(tags)
	if err != nil {
		panic("BUG: a map of texts is always JSON: " + err.Error())
	}
	return string(text)
}

// monthOf is the beginning of a time's month: of its billing period.
func monthOf(ms int64) time.Time {
	t := instant(ms)
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// BillDays returns the days that the bills charge, whole days of UTC within the history. They are none if it has no whole day.
func (c *Cluster) BillDays() (from, until time.Time) {
	w := c.billDays()
	return instant(w.from), instant(w.to)
}

// billDays begins at the first midnight, for whoever reads a bill of a day wants all of the day's samples.
func (c *Cluster) billDays() span {
	days := span{(c.start + dayMillis - 1) / dayMillis * dayMillis, c.end / dayMillis * dayMillis}
	days.to = max(days.from, days.to)
	return days
}

// restatedDay is the day that the provider's first delivery has at list price, and the second corrects.
func (c *Cluster) restatedDay() span {
	days := c.billDays()
	middle := days.from + (days.to-days.from)/dayMillis/2*dayMillis
	return span{middle, min(middle+dayMillis, days.to)}
}

// WriteBills writes the bills of the cluster's provider and of a vendor as FOCUS 1.2 files into the directories ProviderBill and VendorBill below
// dir. Each delivery has a directory of its own with a file for each billing period and a manifest, as AWS Data Exports write them; modification
// times are in the order of deliveries. The provider's first delivery ends with a day that the second one restates, and has only its billing period.
func (c *Cluster) WriteBills(dir string) error {
	days, restated := c.billDays(), c.restatedDay()
	c.extend(days.to)
	c.mu.RLock()
	defer c.mu.RUnlock()
	provider := c.providerCharges()
	first := span{max(days.from, monthOf(restated.from).UnixMilli()), restated.to}
	tentative := func(l *billLine) {
		if restated.has(l.during.from) {
			l.charge = fullCharge(l.list)
		}
	}
	for _, d := range []struct {
		path    string
		lines   []billLine
		written int64
	}{
		{filepath.Join(ProviderBill, "delivery-1"), linesOf(provider, first, tentative), restated.to + 3*hourMillis},
		{filepath.Join(ProviderBill, "delivery-2"), linesOf(append(provider, c.restatements()...), days, nil), days.to + 6*hourMillis},
		{filepath.Join(VendorBill, "delivery-1"), linesOf(vendorCharges(), days, nil), days.to + 6*hourMillis},
	} {
		if err := writeDelivery(filepath.Join(dir, d.path), d.lines, instant(d.written)); err != nil {
			return fmt.Errorf("write the demo's bill: %w", err)
		}
	}
	return nil
}

// linesOf are the lines of what is charged within days, in the order of their time. change, if not nil, alters each.
func linesOf(list []charged, days span, change func(*billLine)) []billLine {
	var lines []billLine
	for i := range list {
		for l := range list[i].lines(days) {
			if change != nil {
				change(&l)
			}
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b billLine) int { return cmp.Compare(a.during.from, b.during.from) })
	return lines
}

// writeDelivery writes the lines into a file for each billing period, and a manifest that names the files.
func writeDelivery(dir string, lines []billLine, written time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as public as the demo's blocks
		return err
	}
	var manifest struct {
		DataFiles []string `json:"dataFiles"`
	}
	for len(lines) > 0 {
		month := monthOf(lines[0].during.from)
		n := slices.IndexFunc(lines, func(l billLine) bool { return !monthOf(l.during.from).Equal(month) })
		if n < 0 {
			n = len(lines)
		}
		file := filepath.Join(dir, "focus-"+month.Format("2006-01")+".csv")
		if err := writeLines(file, lines[:n]); err != nil {
			return err
		}
		if err := os.Chtimes(file, written, written); err != nil {
			return err
		}
		manifest.DataFiles = append(manifest.DataFiles, path.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir), filepath.Base(file)))
		lines = lines[n:]
	}
	if manifest.DataFiles == nil {
		return nil
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	return os.Chtimes(file, written, written)
}

// writeLines writes one file.
func writeLines(name string, lines []billLine) error {
	f, err := os.Create(name) //nolint:gosec // the caller chose the directory
	if err != nil {
		return err
	}
	defer f.Close()
	w, columns := csv.NewWriter(f), focusColumns()
	record := make([]string, len(columns))
	for i := range columns {
		record[i] = columns[i].name
	}
	err = w.Write(record)
	for i := 0; i < len(lines) && err == nil; i++ {
		for k := range columns {
			record[k] = columns[k].value(&lines[i])
		}
		err = w.Write(record)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	if err != nil {
		return err
	}
	return f.Close()
}
