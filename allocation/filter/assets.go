package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// assetField is a field of assets that filters look at.
type assetField struct {
	name    string
	get     func(*allocation.Asset) string // nil for labels
	anyCase bool
}

// assetFields are the fields of v2 filters of assets.
var assetFields = []assetField{
	{"name", func(a *allocation.Asset) string { return a.Title }, false},
	{"assetType", func(a *allocation.Asset) string { return a.Type.String() }, true},
	{"category", func(a *allocation.Asset) string { return a.Category }, true},
	{"cluster", func(a *allocation.Asset) string { return a.Cluster }, false},
	{"project", func(a *allocation.Asset) string { return a.Project }, false},
	{"provider", func(a *allocation.Asset) string { return a.Provider }, true},
	{"providerID", func(a *allocation.Asset) string { return a.ProviderID }, false},
	{"account", func(a *allocation.Asset) string { return a.Account }, false},
	{"service", func(a *allocation.Asset) string { return a.Service }, true},
	{"region", func(a *allocation.Asset) string { return a.Region }, false},
	{"label", nil, false},
}

// v1AssetFilters are the v1 filters of assets, and the fields that they compare.
var v1AssetFilters = []struct{ name, field, what string }{
	{"filterTypes", "assetType", "types, such as Node"},
	{"filterNames", "name", "names"},
	{"filterClusters", "cluster", "clusters"},
	{"filterCategories", "category", "categories, such as Compute"},
	{"filterProviders", "provider", "providers"},
	{"filterProviderIDs", "providerID", "provider ids"},
	{"filterAccounts", "account", "accounts"},
	{"filterProjects", "project", "projects"},
	{"filterServices", "service", "services"},
	{"filterRegions", "region", "regions"},
	{"filterLabels", "label", "labels, as name:value"},
}

// V1AssetFilters are the parameters that V1Assets knows, in the order of their documentation.
func V1AssetFilters() []V1Filter {
	list := make([]V1Filter, len(v1AssetFilters))
	for i, f := range v1AssetFilters {
		list[i] = V1Filter{f.name, f.what}
	}
	return list
}

// AssetFilter reports whether it selects an asset.
type AssetFilter func(a *allocation.Asset) bool

// V1Assets is the condition of a v1 filter parameter of assets, such as filterTypes=Node,Disk; its entries read as those of
// V1. Case does not matter in types, categories, providers and services.
func V1Assets(name, list string) (AssetFilter, error) {
	i := slices.IndexFunc(v1AssetFilters, func(f struct{ name, field, what string }) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("parse filter: unknown v1 filter of assets %q", name)
	}
	var some []AssetFilter
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		key := ""
		if v1AssetFilters[i].field == "label" {
			c, err := v1PairEntry(Label, entry)
			if err != nil {
				return nil, err
			}
			key, entry = c.(*Comparison).Key, entry[strings.IndexByte(entry, ':')+1:]
		}
		c := wildcard(0, key, strings.TrimSpace(entry))
		some = append(some, compareAsset(v1AssetFilters[i].field, c))
	}
	return func(a *allocation.Asset) bool {
		return len(some) == 0 || slices.ContainsFunc(some, func(f AssetFilter) bool { return f(a) })
	}, nil
}

// compareAsset is a comparison c of the field of that name.
func compareAsset(name string, c *Comparison) AssetFilter {
	f := assetFields[slices.IndexFunc(assetFields, func(f assetField) bool { return f.name == name })]
	op := ops[c.Op]
	values := slices.Clone(c.Values)
	for i, v := range values {
		if f.anyCase {
			values[i] = strings.ToLower(v)
		}
	}
	matches := func(text string) bool {
		if f.anyCase {
			text = strings.ToLower(text)
		}
		return slices.ContainsFunc(values, func(v string) bool {
			return op.match(text, v) || c.Op <= NotEqual && text == "" && missing(v)
		})
	}
	return func(a *allocation.Asset) bool {
		hit := false
		switch {
		case f.get != nil:
			hit = matches(f.get(a))
		case c.Key != "":
			hit = matches(assetLabel(a, c.Key))
		default:
			for name := range a.Labels {
				hit = hit || matches(name)
			}
		}
		return hit != op.negates
	}
}

// assetLabel is the value of a label by its name, raw or as Prometheus writes it.
func assetLabel(a *allocation.Asset, name string) string {
	if v, ok := a.Labels[name]; ok {
		return v
	}
	return a.Labels[sanitize(name)]
}

// ParseAssets reads a v2 filter of assets, such as assetType:"node"+label[pool]:"gpu". It reads as Parse does, with the
// fields of assets. Errors are of type *SyntaxError.
func ParseAssets(text string) (AssetFilter, error) {
	if len(text) > MaxBytes {
		return nil, &SyntaxError{text, MaxBytes, fmt.Sprintf("the filter is %d bytes long, at most %d are allowed: shorten it", len(text), MaxBytes)}
	}
	p := parser{text: text, levels: make([]level, 1, 4)}
	for _, f := range assetFields {
		p.known = append(p.known, knownField{f.name, f.get == nil})
	}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return assetExpr(root), nil
}

// assetExpr is a condition whose fields are those of assets.
func assetExpr(e Expr) AssetFilter {
	var parts []AssetFilter
	list := func(exprs []Expr) []AssetFilter {
		for _, part := range exprs {
			parts = append(parts, assetExpr(part))
		}
		return parts
	}
	switch e := e.(type) {
	case And:
		all := list(e)
		return func(a *allocation.Asset) bool {
			return !slices.ContainsFunc(all, func(f AssetFilter) bool { return !f(a) })
		}
	case Or:
		some := list(e)
		return func(a *allocation.Asset) bool {
			return slices.ContainsFunc(some, func(f AssetFilter) bool { return f(a) })
		}
	case *Comparison:
		return compareAsset(assetFields[e.Field].name, e)
	}
	panic("BUG: filter of an unknown type of Expr")
}
