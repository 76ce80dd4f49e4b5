package assets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/caret"
	"github.com/promcost/promcost/allocation/labelnames"
)

// property is a property of assets that they are aggregated by.
type property struct {
	name string
	get  func(*allocation.Asset) string // nil for aliases and labels
}

// properties are all of them, in the order of the documentation.
var properties = []property{
	{"account", func(a *allocation.Asset) string { return a.Account }},
	{"category", func(a *allocation.Asset) string { return a.Category }},
	{"cluster", clusterInName},
	{"name", func(a *allocation.Asset) string { return a.Title }},
	{"nodePool", func(a *allocation.Asset) string { return a.Pool }},
	{"project", func(a *allocation.Asset) string { return a.Project }},
	{"provider", func(a *allocation.Asset) string { return a.Provider }},
	{"providerid", func(a *allocation.Asset) string { return a.ProviderID }},
	{"service", func(a *allocation.Asset) string { return a.Service }},
	{"type", func(a *allocation.Asset) string { return a.Type.String() }},
	{"department", nil},
	{"environment", nil},
	{"owner", nil},
	{"product", nil},
	{"team", nil},
	{"label:", nil},
}

// Dimensions are the fields that ParseDimensions knows, in the order of the documentation.
func Dimensions() []string {
	names := make([]string, len(properties))
	for i, f := range properties {
		names[i] = f.name
		if f.name == "label:" {
			names[i] = "label:<name>"
		}
	}
	return names
}

// Dimension is a field that assets are aggregated by; ParseDimensions makes it.
type Dimension struct {
	get    func(*allocation.Asset) string
	labels []labelnames.Name // the first that the asset has counts
	prefix string            // before the value of a label
	lack   string            // stands for a missing value
}

// ParseDimensions reads a comma-separated list of fields, such as `type,label:team`. Case does not matter in the names of
// fields. mapping says what aliases stand for; nil is the default mapping. An unknown field is an error that names all
// there are.
func ParseDimensions(aggregate string, mapping allocation.LabelMapping) ([]Dimension, error) {
	if strings.TrimSpace(aggregate) == "" {
		return nil, nil
	}
	if mapping == nil {
		mapping = allocation.DefaultLabelMapping()
	}
	items, err := allocation.AggregateFields(aggregate)
	if err != nil {
		return nil, err
	}
	var keys []Dimension
	var texts []string
	for i, item := range items {
		got, err := parseDimension(item, mapping)
		if err != nil {
			return nil, fmt.Errorf("parse aggregate %q: field %d: %w", aggregate, i+1, err)
		}
		for _, key := range got {
			for _, label := range key.labels {
				texts = append(texts, label.String())
			}
		}
		keys = append(keys, got...)
	}
	known := labelnames.NewNames(texts...)
	for _, key := range keys {
		for i, label := range key.labels {
			key.labels[i] = known.Name(label.String())
		}
	}
	return keys, nil
}

func parseDimension(item string, mapping allocation.LabelMapping) ([]Dimension, error) {
	head, name, named := strings.Cut(item, ":")
	field := strings.ToLower(strings.TrimSpace(head))
	if named {
		field += ":"
	}
	if field == "assettype" { // as filters call it
		field = "type"
	}
	i := slices.IndexFunc(properties, func(f property) bool { return strings.EqualFold(f.name, field) })
	if i < 0 {
		hint := ""
		if near := caret.Nearest(strings.TrimSuffix(field, ":"), Dimensions()); near != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", near)
		}
		return nil, fmt.Errorf("unknown field %q%s: use one of %s", item, hint, strings.Join(Dimensions(), ", "))
	}
	if get := properties[i].get; get != nil {
		return []Dimension{{get: get, lack: allocation.UndefinedName}}, nil
	}
	if named {
		if name = strings.TrimSpace(name); name == "" {
			return nil, fmt.Errorf("%q lacks a name: write label:app", item)
		}
		return []Dimension{{labels: labelnames.Aliases(name), prefix: labelnames.Sanitize(name) + "=", lack: allocation.UndefinedName}}, nil
	}
	labels := mapping[field]
	if len(labels) == 0 {
		return nil, fmt.Errorf("%q stands for no label: map it to one in the configuration", item)
	}
	keys := make([]Dimension, len(labels))
	for i, label := range labels {
		keys[i] = Dimension{labels: labelnames.Aliases("kubernetes_label_"+labelnames.Sanitize(label), label), lack: allocation.UnallocatedName}
	}
	return keys, nil
}

// MissingLabels are the labels among keys that no asset of the sets has. There are none where there are no assets.
func MissingLabels(keys []Dimension, sets []*allocation.Set) (names []string) {
	for i := range keys {
		k := &keys[i]
		assets, found := 0, false
		for _, s := range sets {
			if k.prefix == "" || found { // is no label, or an alias, of which assets have their own
				break
			}
			list := listAll(s)
			assets += len(list)
			found = slices.ContainsFunc(list, func(a listed) bool { return k.value(&a.Asset) != k.lack })
		}
		if assets > 0 && !found {
			names = append(names, k.labels[0].String())
		}
	}
	return names
}

// clusterInName is the asset's cluster as it stands in names.
func clusterInName(a *allocation.Asset) string { return allocation.ClusterInName(a.Cluster) }

// value is the key's part of an asset's name.
func (k *Dimension) value(a *allocation.Asset) string {
	if k.get != nil {
		return cmp.Or(k.get(a), k.lack)
	}
	if v := labelnames.First(a.Labels, k.labels); v != "" {
		return k.prefix + v
	}
	return k.lack
}

// name is the key of an asset in an answer.
func name(of *listed, keys []Dimension) string {
	a := &of.Asset
	var parts []string
	if len(keys) == 0 {
		parts = []string{a.Provider, a.Account, a.Project, a.Category, clusterInName(a), a.Type.String(), a.Service, a.ProviderID, a.Title}
		for i, part := range parts {
			parts[i] = cmp.Or(part, allocation.UndefinedName)
		}
		parts[len(parts)-1] += of.since
	}
	for i := range keys {
		parts = append(parts, keys[i].value(a))
	}
	return strings.Join(parts, "/")
}
