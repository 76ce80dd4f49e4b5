package encode

import (
	"time"

	"github.com/promcost/promcost/allocation"
)

// focusColumn is a column of FOCUS: its name, the first version of the specification that has it ("" for the oldest), and its
// value for a charge.
type focusColumn struct {
	name, since string
	text        func(c *charge) string
}

// focusMethod names the method that allocates the costs of nodes to workloads.
const focusMethod = "promcost-max-of-request-and-usage"

// focusMethodDetails describes the method, as a JSON object.
const focusMethodDetails = `{"AllocatedBy":"the larger of request and usage at each instant, at the price of the node; what is left of a node is idle"}`

// focusColumns are the columns in the order they are written: those of the specification by name, then ours.
var focusColumns = []focusColumn{
	{"AllocatedMethodDetails", "1.3", constantText(focusMethodDetails)},
	{"AllocatedMethodId", "1.3", constantText(focusMethod)},
	{"AllocatedResourceId", "1.3", func(c *charge) string { return c.set.Name(c.row) }},
	{"AllocatedResourceName", "1.3", func(c *charge) string { return c.text(allocation.Pod) }},
	{"AllocatedTags", "1.3", (*charge).tags},
	{"BilledCost", "", (*charge).amount},
	{"BillingAccountId", "", charged(allocation.Cluster)},
	{"BillingAccountName", "", charged(allocation.Cluster)},
	{"BillingCurrency", "", func(c *charge) string { return c.file.currency }},
	{"BillingPeriodEnd", "", func(c *charge) string { return focusTime(c.month().AddDate(0, 1, 0)) }},
	{"BillingPeriodStart", "", func(c *charge) string { return focusTime(c.month()) }},
	{"ChargeCategory", "", constantText("Usage")},
	{"ChargeClass", "", constantText("")},
	{"ChargeDescription", "", (*charge).describe},
	{"ChargeFrequency", "", constantText("Usage-Based")},
	{"ChargePeriodEnd", "", func(c *charge) string { return focusTime(c.set.Window.End) }},
	{"ChargePeriodStart", "", func(c *charge) string { return focusTime(c.set.Window.Start) }},
	{"ConsumedQuantity", "", (*charge).amountUsed},
	{"ConsumedUnit", "", func(c *charge) string { return c.unit }},
	{"ContractedCost", "", (*charge).amount},
	{"EffectiveCost", "", (*charge).amount},
	{"HostProviderName", "1.3", (*charge).provider},
	{"InvoiceIssuerName", "", (*charge).provider},
	{"ListCost", "", func(c *charge) string { return focusNumber(c.list) }},
	{"PricingQuantity", "", (*charge).amountUsed},
	{"PricingUnit", "", func(c *charge) string { return c.unit }},
	{"ProviderName", "", (*charge).provider},
	{"PublisherName", "", (*charge).provider},
	{"RegionId", "", (*charge).region},
	{"RegionName", "", (*charge).region},
	{"ResourceId", "", func(c *charge) string { return c.id }},
	{"ResourceName", "", func(c *charge) string { return c.resource }},
	{"ResourceType", "", func(c *charge) string { return c.resourceType }},
	{"ServiceCategory", "", func(c *charge) string { return c.category }},
	{"ServiceName", "", constantText("Kubernetes")},
	{"ServiceProviderName", "1.3", (*charge).provider},
	{"SubAccountId", "", charged(allocation.Namespace)},
	{"SubAccountName", "", charged(allocation.Namespace)},
	{"Tags", "", (*charge).tags},
	{"x_Cluster", "", charged(allocation.Cluster)},
	{"x_Container", "", charged(allocation.Container)},
	{"x_Controller", "", charged(allocation.Controller)},
	{"x_ControllerKind", "", charged(allocation.ControllerKind)},
	{"x_CostComponent", "", func(c *charge) string { return c.what }},
	{"x_ErrorLower", "", func(c *charge) string { return c.lower }},
	{"x_ErrorUpper", "", func(c *charge) string { return c.upper }},
	{"x_Kind", "", func(c *charge) string { return c.set.Special(c.row).Field() }},
	{"x_Namespace", "", charged(allocation.Namespace)},
	{"x_Node", "", charged(allocation.NodeName)},
	{"x_Pod", "", charged(allocation.Pod)},
}

func constantText(text string) func(*charge) string { return func(*charge) string { return text } }

func charged(p allocation.Property) func(*charge) string {
	return func(c *charge) string { return c.text(p) }
}

func (c *charge) amount() string { return focusNumber(c.cost) }

func (c *charge) amountUsed() string { return focusNumber(c.quantity) }

// month is the start of the charge's month in UTC.
func (c *charge) month() time.Time {
	y, m, _ := c.set.Window.Start.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}
