package main

import (
	"strings"

	"github.com/promcost/promcost/allocation/filter"
)

// referFilters tells the languages that select.
func referFilters(b *strings.Builder) {
	b.WriteString("\n## Filters and selectors\n\n`filter` selects before anything is merged: `namespace:\"web\",\"api\"+(label[app]!:\"redis\"|controllerKind:\"job\")`. " +
		"`,` separates values, one of which must match; `+` is AND, `|` is OR; both on one level need parentheses. A space before a comparison or a parenthesis is AND, too, " +
		"because URLs decode `+` to a space. Names and values are case-sensitive, except those of controllerKind and assetType; in a value `\\\"` is a quote and `\\\\` a backslash. " +
		"`controllerKind:\"job\"` also selects what CronJobs run, whose pods are Jobs' (`+controllerKind!:\"cronjob\"` leaves it out), and on `/v2/allocation` `controllerKind:\"replicaset\"` what Deployments and Rollouts run; `!:` is the complement. " +
		"The values `\"\"` and `\"__unallocated__\"` match what is missing; a value that looks like the name of a special row has a backslash before it, as in `\\__idle__`, and is found so. Keys of labels and annotations may be written as in Kubernetes or as in " +
		"Prometheus (`label[app.kubernetes.io/name]`, `label[app_kubernetes_io_name]`); the given spelling wins. A filter has at most 64 KiB and 1,000 levels of parentheses. " +
		"`promcost filter` applies one to a saved answer.\n")
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
	b.WriteString("\n`label` and `annotation` are maps; with a key, as in `label[app]`, they are texts. `services` is a list. department, environment, owner, product and team are the text of " +
		"the labels that the configuration maps them to, else of the annotations. The `properties` of the configuration are texts of allocations, too; one wins over an alias of its name, and is missing where it cannot be computed. " +
		"`fieldSelector` and `labelSelector` are those of Kubernetes. They hold in addition to `filter`, and `__unallocated__` matches what is missing there, too. " +
		"`spec.service` is the first service in order. An asset's `metadata.name` is its name; it has no namespace. `selectableFields` of the configuration adds fields:\n")
	table(b, "of", "paths")
	for _, r := range []filter.Resource{filter.Allocations, filter.Assets} {
		line(b, r.String(), codes(filter.Declarable(r)))
	}
}
