package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// v1Object is a v1 filter of objects that are no allocations.
type v1Object struct {
	name    string
	field   Field
	anyCase bool
	what    string
}

// v1AssetFilters are the v1 filters of assets, and the fields that they compare.
var v1AssetFilters = []v1Object{
	{"filterTypes", AssetType, true, "types, such as Node"},
	{"filterNames", Name, false, "names"},
	{"filterClusters", Cluster, false, "clusters"},
	{"filterCategories", Category, true, "categories, such as Compute"},
	{"filterProviders", Provider, true, "providers"},
	{"filterProviderIDs", ProviderID, false, "provider ids"},
	{"filterAccounts", Account, false, "accounts"},
	{"filterProjects", Project, false, "projects"},
	{"filterServices", Service, true, "services"},
	{"filterNodePools", NodePool, false, "pools of nodes"},
	{"filterRegions", Region, false, "regions"},
	{"filterLabels", Label, false, "labels, as name:value"},
}

// v1CloudFilters are the v1 filters of Kubecost's cloud costs.
var v1CloudFilters = []v1Object{
	{"filterInvoiceEntityIDs", "invoiceEntityID", false, "ids of who is billed"},
	{"filterAccountIDs", "accountID", false, "ids of accounts"},
	{"filterProviders", Provider, true, "providers"},
	{"filterProvidersID", ProviderID, false, "ids of resources"},
	{"filterServices", Service, true, "services"},
	{"filterCategories", Category, true, "categories, such as Compute"},
	{"filterLabels", Label, false, "labels, as name:value"},
}

// V1AssetFilters are the parameters that V1Assets knows, in the order of their documentation.
func V1AssetFilters() []V1Filter { return v1Names(v1AssetFilters) }

// V1CloudFilters are the parameters that V1Cloud knows, in the order of their documentation.
func V1CloudFilters() []V1Filter { return v1Names(v1CloudFilters) }

func v1Names(filters []v1Object) []V1Filter {
	list := make([]V1Filter, len(filters))
	for i, f := range filters {
		list[i] = V1Filter{f.name, f.what}
	}
	return list
}

// V1Assets is the condition of a v1 filter parameter of assets, such as filterTypes=Node,Disk; its entries read as those of
// V1. Case does not matter in types, categories, providers and services. It is one for NewAssets.
func V1Assets(name, list string) (Expr, error) { return v1Of(v1AssetFilters, name, list) }

// V1Cloud is V1Assets for cloud costs. It is one for NewOf.
func V1Cloud(name, list string) (Expr, error) { return v1Of(v1CloudFilters, name, list) }

func v1Of(filters []v1Object, name, list string) (Expr, error) {
	for _, f := range filters {
		if f.name != name {
			continue
		}
		return v1Entries(list, func(entry string) (Expr, error) {
			if f.field == Label {
				return v1PairEntry(Label, entry)
			}
			c := wildcard(f.field, "", entry)
			c.AnyCase = f.anyCase
			return c, nil
		})
	}
	return nil, fmt.Errorf("parse filter: unknown v1 filter %q", name)
}

// v1Entries is the condition that one entry of a list holds; everywhere where there is none.
func v1Entries(list string, read func(entry string) (Expr, error)) (Expr, error) {
	var some Or
	err := eachEntry(list, func(entry string) error {
		e, err := read(entry)
		some = append(some, e)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(some) == 0:
		return And{}, nil
	}
	return join(some), nil
}

// eachEntry reads the entries of a list, which must not be empty. An error says which entry it is about.
func eachEntry(list string, read func(entry string) error) error {
	if len(list) > MaxBytes {
		return fmt.Errorf("the list is %d bytes long, at most %d are allowed: shorten it, for example by prefixes that end in a *", len(list), MaxBytes)
	}
	next := 0 // offset of the next entry
	for part := range strings.SplitSeq(list, ",") {
		offset := next + len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
		next += len(part) + 1
		entry := strings.TrimSpace(part)
		if entry == "" {
			continue
		}
		if err := read(entry); err != nil {
			return &SyntaxError{"list", list, offset, err.Error()}
		}
	}
	return nil
}

// join merges comparisons that differ only in the value into one.
func join(some Or) Expr {
	first := make(map[subject]*Comparison, 1)
	some = slices.DeleteFunc(some, func(e Expr) bool {
		c, ok := e.(*Comparison)
		if !ok {
			return false
		}
		at := c.subject()
		have := first[at]
		if have == nil {
			first[at] = c
			return false
		}
		have.Values = append(have.Values, c.Values...)
		return true
	})
	if len(some) == 1 {
		return some[0]
	}
	return some
}
