package billing

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// field is a part of an Item, and the columns of FOCUS that tell it.
type field struct {
	// columns are in order of preference: the first that has a value counts. Stored files have the first alone.
	columns  []string
	required bool // a file without such a column is not FOCUS
	get      func(*Item) string
	set      func(*Item, string) error
}

// column returns the name of the field in stored files.
func (f *field) column() string { return f.columns[0] }

// text is a field that is kept as it is written.
func text(member func(*Item) *string, columns ...string) field {
	return field{
		columns: columns,
		get:     func(i *Item) string { return *member(i) },
		set:     func(i *Item, text string) error { *member(i) = text; return nil },
	}
}

// instant is a field with a time.
func instant(member func(*Item) *time.Time, column string) field {
	return field{
		columns: []string{column},
		get: func(i *Item) string {
			if member(i).IsZero() {
				return ""
			}
			return member(i).UTC().Format(time.RFC3339)
		},
		set: func(i *Item, text string) error {
			millis, err := parseTime(text)
			*member(i) = time.UnixMilli(millis).UTC()
			return err
		},
	}
}

// require marks fields without which nothing can be said.
func require(f field) field {
	f.required = true
	return f
}

// fields are all parts of an Item but the name of its bill, in the order of the columns of stored files.
func fields() []field {
	return []field{
		text(func(i *Item) *string { return &i.Account.ID }, "BillingAccountId"),
		text(func(i *Item) *string { return &i.Account.Name }, "BillingAccountName"),
		require(instant(func(i *Item) *time.Time { return &i.Account.PeriodStart }, "BillingPeriodStart")),
		instant(func(i *Item) *time.Time { return &i.Account.PeriodEnd }, "BillingPeriodEnd"),
		require(text(func(i *Item) *string { return &i.Account.Currency }, "BillingCurrency")),
		text(func(i *Item) *string { return &i.Account.SubID }, "SubAccountId"),
		text(func(i *Item) *string { return &i.Account.SubName }, "SubAccountName"),
		{
			columns: []string{"ServiceProviderName", "ProviderName"},
			get:     func(i *Item) string { return i.Account.Provider },
			set:     func(i *Item, text string) error { i.Account.Provider = provider(text); return nil },
		},
		text(func(i *Item) *string { return &i.Account.Issuer }, "InvoiceIssuerName"),
		text(func(i *Item) *string { return &i.Service.Publisher }, "PublisherName"),
		text(func(i *Item) *string { return &i.Service.Category }, "ServiceCategory"),
		text(func(i *Item) *string { return &i.Service.Subcategory }, "ServiceSubcategory"),
		text(func(i *Item) *string { return &i.Service.Name }, "ServiceName"),
		require(field{
			columns: []string{"ChargeCategory"},
			get:     func(i *Item) string { return i.Charge.Category.String() },
			set:     func(i *Item, text string) (err error) { i.Charge.Category, err = ParseCategory(text); return err },
		}),
		text(func(i *Item) *string { return &i.Charge.Class }, "ChargeClass"),
		text(func(i *Item) *string { return &i.Charge.Description }, "ChargeDescription"),
		text(func(i *Item) *string { return &i.Charge.Frequency }, "ChargeFrequency"),
		text(func(i *Item) *string { return &i.Charge.PricingCategory }, "PricingCategory"),
		text(func(i *Item) *string { return &i.Charge.PricingUnit }, "PricingUnit"),
		text(func(i *Item) *string { return &i.Charge.ConsumedUnit }, "ConsumedUnit"),
		text(func(i *Item) *string { return &i.Charge.Sku }, "SkuId"),
		text(func(i *Item) *string { return &i.Charge.SkuPrice }, "SkuPriceId"),
		text(func(i *Item) *string { return &i.Charge.Meter }, "SkuMeter", "x_UsageType", "x_SkuMeterCategory"),
		text(func(i *Item) *string { return &i.Commitment.ID }, "CommitmentDiscountId"),
		text(func(i *Item) *string { return &i.Commitment.Name }, "CommitmentDiscountName"),
		text(func(i *Item) *string { return &i.Commitment.Type }, "CommitmentDiscountType"),
		text(func(i *Item) *string { return &i.Commitment.Category }, "CommitmentDiscountCategory"),
		text(func(i *Item) *string { return &i.Commitment.Status }, "CommitmentDiscountStatus"),
		text(func(i *Item) *string { return &i.Resource.ID }, "ResourceId"),
		text(func(i *Item) *string { return &i.Resource.Name }, "ResourceName"),
		text(func(i *Item) *string { return &i.Resource.Type }, "ResourceType"),
		text(func(i *Item) *string { return &i.Resource.Allocated }, "AllocatedResourceId"),
		{
			columns: []string{"x_VMName", "x_SkuDetails"},
			get:     func(i *Item) string { return i.Resource.VM },
			set:     func(i *Item, text string) error { i.Resource.VM = vmName(text); return nil },
		},
		text(func(i *Item) *string { return &i.Resource.Region }, "RegionId"),
		text(func(i *Item) *string { return &i.Resource.RegionName }, "RegionName"),
		text(func(i *Item) *string { return &i.Resource.Zone }, "AvailabilityZone"),
		{
			columns: []string{"Tags"},
			get:     func(i *Item) string { return i.Tags.text() },
			set:     func(i *Item, text string) (err error) { i.Tags, err = parseTags(text); return err },
		},
	}
}

// The columns of what is not in an Item.
const (
	startColumn           = "ChargePeriodStart"
	endColumn             = "ChargePeriodEnd"
	quantityColumn        = "ConsumedQuantity"
	pricingQuantityColumn = "PricingQuantity"
)

// amounts are the columns of a line's numbers: the costs, then the quantities.
func amounts() []string {
	return append(slices.Clone(focusCosts[:]), quantityColumn, pricingQuantityColumn)
}

// numAmounts is how many numbers a line has.
const numAmounts = int(NumCosts) + 2

// numbers are the costs and quantities of a line; NaN if unknown.
type numbers [numAmounts]float64

// layout says where the columns of a file stand.
type layout struct {
	fields  []field
	columns [][]int // of each field, in order of preference
	start   int
	end     int
	amounts [numAmounts]int // -1 for none
}

// newLayout finds the columns of a file by their names, whatever their case. names may hold others.
func newLayout(names []string) (*layout, error) {
	at := map[string]int{}
	for i, name := range names {
		lower := strings.ToLower(strings.TrimSpace(name))
		if _, twice := at[lower]; twice && lower != "" {
			return nil, fmt.Errorf("column %s is there twice", name)
		}
		at[lower] = i
	}
	find := func(name string) int {
		if i, ok := at[strings.ToLower(name)]; ok {
			return i
		}
		return -1
	}
	var missing []string
	l := &layout{fields: fields(), start: find(startColumn), end: find(endColumn)}
	for i := range l.fields {
		f := &l.fields[i]
		var columns []int
		for _, name := range f.columns {
			if k := find(name); k >= 0 {
				columns = append(columns, k)
			}
		}
		if len(columns) == 0 && f.required {
			missing = append(missing, f.column())
		}
		l.columns = append(l.columns, columns)
	}
	costs := 0
	for i, name := range amounts() {
		if l.amounts[i] = find(name); i < int(NumCosts) && l.amounts[i] >= 0 {
			costs++
		}
	}
	for i, k := range [...]int{l.start, l.end} {
		if k < 0 {
			missing = append(missing, [...]string{startColumn, endColumn}[i])
		}
	}
	if costs == 0 {
		missing = append(missing, strings.Join(focusCosts[:], " or "))
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it is not FOCUS: column %s is missing", strings.Join(missing, ", column "))
	}
	return l, nil
}

// item makes the item whose texts are those of the columns. An error is a *cellError without a row.
func (l *layout) item(bill string, text func(column int) string, name func(column int) string) (*Item, error) {
	item := &Item{Bill: bill}
	for i, columns := range l.columns {
		for _, column := range columns {
			value := text(column)
			if isNull(value) {
				continue
			}
			if err := l.fields[i].set(item, strings.Clone(value)); err != nil {
				return nil, &cellError{column: name(column), err: err}
			}
			break
		}
		if f := &l.fields[i]; f.required && f.get(item) == "" {
			return nil, &cellError{column: f.column(), err: errNull}
		}
	}
	return item, nil
}
