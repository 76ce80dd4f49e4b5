package main

import (
	"strings"

	"github.com/promcost/promcost/allocation/filter"
)

// referFilters tells the languages that select.
func referFilters(b *strings.Builder) {
	b.WriteString("\n## Filters and selectors\n\n`filter` selects before anything is merged: `namespace:\"web\",\"api\"+(label[app]!:\"redis\"|controllerKind:\"job\")`. " +
		"`,` separates values of which one has to match, `+` is AND, `|` is OR; both on one level want parentheses. White space is AND where a comparison or a " +
		"parenthesis follows a comparison, for it is what decoding a URL makes of a `+`. Names and values are in their case, but those of controllerKind and assetType; values have no escapes. " +
		"The values `\"\"` and `\"__unallocated__\"` equal what is missing. Keys of labels and annotations are found as they are written in Kubernetes and as " +
		"Prometheus writes them (`label[app.kubernetes.io/name]`, `label[app_kubernetes_io_name]`); the spelling that is given wins. At most 64 KiB, parentheses at most 1,000 deep. " +
		"`promcost filter` applies the same to a saved answer.\n")
	table(b, "operator", "text: the value …", "list, keys of a map: one of them …", "inverse")
	for _, op := range []struct {
		op, inverse  filter.Op
		text, member string
	}{
		{filter.Equal, filter.NotEqual, "is equal", "is equal"},
		{filter.Contains, filter.NotContains, "contains it", "is equal"},
		{filter.Prefix, filter.NotPrefix, "starts with it", "starts with it"},
		{filter.Suffix, filter.NotSuffix, "ends with it", "ends with it"},
	} {
		line(b, code(op.op.String()), op.text, op.member, code(op.inverse.String()))
	}
	s := filter.NewSelectable()
	table(b, "of", "fields of `filter`", "fields of `fieldSelector`")
	for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
		line(b, r.String(), codes(filter.FieldNames(r)), codes(s.Fields(r)))
	}
	b.WriteString("\n`label` and `annotation` are maps, and with a key, `label[app]`, texts; `services` is a list. department, environment, owner, product and team are the text of " +
		"the labels that the configuration maps them to, else of the annotations. What the configuration names under `properties` is a text of allocations, too, and takes the place of an alias of that name; it is missing in what it cannot be computed of. `fieldSelector` and `labelSelector` are Kubernetes' own; they hold beside `filter`, and `__unallocated__` is what is missing in them, too. " +
		"`spec.service` is the first in order; an asset's `metadata.name` is its name, and it has no namespace. `selectableFields` of the configuration adds fields:\n")
	table(b, "of", "paths")
	for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
		line(b, r.String(), codes(filter.Declarable(r)))
	}
}
