package cloudcost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/reconcile"
)

// Field is a text that lines of bills are summed, filtered and described by.
type Field uint8

// The fields.
const (
	InvoiceEntityID Field = iota
	InvoiceEntityName
	AccountID
	AccountName
	RegionID
	AvailabilityZone
	Provider
	ProviderID
	Category
	Service
	ChargeCategory
	CommitmentStatus
	Kind
	Cluster
	Asset
	Zone
	Description
	ResourceName
	ResourceType
	UsageUnit
	CostSource
	NumFields
)

// fields has the name of each field for cloud costs and for custom costs, and its value. A name is "" where the costs lack the field.
var fields = [NumFields]struct {
	cloud, custom string
	value         func(l *billing.Line) string // nil if lines alone do not tell the value
}{
	InvoiceEntityID:   {"invoiceEntityID", "", func(l *billing.Line) string { return l.Account.ID }},
	InvoiceEntityName: {"invoiceEntityName", "", func(l *billing.Line) string { return l.Account.Name }},
	AccountID:         {"accountID", "", func(l *billing.Line) string { return l.Account.SubID }},
	AccountName:       {"accountName", "accountName", func(l *billing.Line) string { return cmp.Or(l.Account.SubName, l.Account.SubID, l.Account.Name) }},
	RegionID:          {"regionID", "", func(l *billing.Line) string { return l.Resource.Region }},
	AvailabilityZone:  {"availabilityZone", "", func(l *billing.Line) string { return l.Resource.Zone }},
	Provider:          {"provider", "domain", func(l *billing.Line) string { return l.Account.Provider }},
	ProviderID:        {"providerID", "providerId", func(l *billing.Line) string { return cmp.Or(l.Resource.ID, l.Resource.Name) }},
	Category:          {"category", "", nil},
	Service:           {"service", "", func(l *billing.Line) string { return l.Service.Name }},
	ChargeCategory:    {"chargeCategory", "chargeCategory", func(l *billing.Line) string { return l.Charge.Category.String() }},
	CommitmentStatus:  {"commitmentStatus", "", func(l *billing.Line) string { return l.Commitment.Status }},
	Kind:              {"kind", "", nil},
	Cluster:           {"cluster", "", nil},
	Asset:             {"asset", "", nil},
	Zone:              {"", "zone", func(l *billing.Line) string { return cmp.Or(l.Resource.Zone, l.Resource.Region) }},
	Description:       {"description", "description", func(l *billing.Line) string { return l.Charge.Description }},
	ResourceName:      {"", "resourceName", func(l *billing.Line) string { return cmp.Or(l.Resource.Name, l.Resource.ID) }},
	ResourceType:      {"", "resourceType", func(l *billing.Line) string { return cmp.Or(l.Resource.Type, l.Service.Name) }},
	UsageUnit:         {"", "usageUnit", func(l *billing.Line) string { return cmp.Or(l.Charge.ConsumedUnit, l.Charge.PricingUnit) }},
	CostSource:        {"", "costSource", func(l *billing.Line) string { return l.Service.Category }},
}

// Names are the names of the fields of cloud costs, or of custom costs, in the order of the documentation.
func Names(custom bool) (names []string) {
	for f := range NumFields {
		if name := f.name(custom); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// name is the name of the field, "" if the costs lack the field.
func (f Field) name(custom bool) string {
	if custom {
		return fields[f].custom
	}
	return fields[f].cloud
}

// fieldAt is the field of the n-th of Names.
func fieldAt(custom bool, n int) Field {
	for f := range NumFields {
		if f.name(custom) == "" {
			continue
		}
		if n == 0 {
			return f
		}
		n--
	}
	panic("BUG: there is no such field")
}

// Key is what rows are summed by: a field, or the tag of a name.
type Key struct {
	field Field
	tag   string // wins over the field
	name  string // as it was given
}

// defaultKeys are those of OpenCost where none are given.
const defaultKeys = "invoiceEntityID,accountID,provider,providerID,category,service"

// ParseKeys reads a comma-separated list of fields, and for cloud costs of label:<name>, in any case. Without a list cloud
// costs have the keys of OpenCost; custom costs then have none, and a row for each thing that is charged.
func ParseKeys(text string, custom bool) ([]Key, error) {
	if strings.TrimSpace(text) == "" {
		if custom {
			return nil, nil
		}
		text = defaultKeys
	}
	items, err := allocation.AggregateFields(text)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, item := range items {
		key, err := parseKey(strings.TrimSpace(item), custom)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func parseKey(item string, custom bool) (Key, error) {
	if head, tag, ok := strings.Cut(item, ":"); ok && !custom && strings.EqualFold(strings.TrimSpace(head), "label") {
		if tag = strings.TrimSpace(tag); tag == "" {
			return Key{}, fmt.Errorf("%q lacks a name: write label:team", item)
		}
		return Key{tag: tag, name: "label:" + tag}, nil
	}
	for f := range NumFields {
		if name := f.name(custom); name != "" && strings.EqualFold(name, item) {
			return Key{field: f, name: name}, nil
		}
	}
	known := Names(custom)
	if !custom {
		known = append(known, "label:<name>")
	}
	hint := ""
	if near := caret.Nearest(item, known); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return Key{}, fmt.Errorf("unknown field %.100q%s: use one of %s", item, hint, strings.Join(known, ", "))
}

// KeyNames are the names of keys, as answers have them.
func KeyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// nameOf joins the values of the keys.
func nameOf(texts *[NumFields]string, tags billing.Tags, keys []Key) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		if parts[i] = texts[k.field]; k.tag != "" {
			parts[i] = allocation.TenantName(tagOf(tags, k.tag))
		}
		parts[i] = cmp.Or(parts[i], allocation.UnallocatedName)
	}
	return strings.Join(parts, "/")
}

// tagOf is the value of a tag, by its name in any spelling.
func tagOf(tags billing.Tags, name string) string {
	if value := tags.Get(name); value != "" {
		return value
	}
	sanitized := labelnames.Sanitize(name)
	if i := slices.IndexFunc(tags, func(t billing.Tag) bool { return labelnames.Sanitize(t.Name) == sanitized }); i >= 0 {
		return tags[i].Value
	}
	return ""
}

// Categories of cloud costs, as OpenCost names them.
const (
	categoryMachine    = "Virtual Machine"
	categoryDisk       = "Disk"
	categoryNetwork    = "Network"
	categoryBalancer   = "Load Balancer"
	categoryManagement = "Cluster Management"
	categoryOther      = "Other"
)

// assetCategories are the categories of lines that charge assets of clusters, by kind of line.
var assetCategories = [reconcile.External]string{
	reconcile.Node: categoryMachine, reconcile.Volume: categoryDisk, reconcile.LocalDisk: categoryDisk, reconcile.Balancer: categoryBalancer,
	reconcile.Network: categoryNetwork, reconcile.Management: categoryManagement,
}

// services are the categories of other usage, by words of its description in lower case. The first that fits counts.
var services = []struct {
	category  string // FOCUS' ServiceCategory, "" for any
	words     []string
	cloudCost string
}{
	{"", []string{"data transfer", "datatransfer", "bandwidth", "egress"}, categoryNetwork},
	{"", []string{"load balanc", "loadbalanc"}, categoryBalancer},
	{"", []string{"kubernetes service", "service for kubernetes", "kubernetes engine"}, categoryManagement},
	{"storage", []string{"volume", "disk"}, categoryDisk},
	{"compute", []string{"instance", "boxusage", "virtual machine", "spotusage"}, categoryMachine},
	{"networking", []string{""}, categoryNetwork},
}

// category is the category of a line of a kind: that of the cluster's asset that the line charges, else that of the service.
func category(l *billing.Line, kind reconcile.Kind) string {
	switch {
	case l.Charge.Category != billing.Usage || l.Unused():
		return categoryOther
	case kind < reconcile.External:
		return assetCategories[kind]
	}
	text := strings.ToLower(strings.Join([]string{l.Service.Name, l.Resource.Type, l.Charge.Meter, l.Charge.Description}, "\n"))
	for _, s := range services {
		if (s.category == "" || strings.EqualFold(s.category, l.Service.Category)) &&
			slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(text, word) }) {
			return s.cloudCost
		}
	}
	return categoryOther
}
