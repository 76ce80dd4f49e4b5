// Package filter selects allocations: an expression over their properties, compiled to a predicate over the ids of a Set.
//
// Parse reads Kubecost's v2 filters, such as
//
//	namespace:"web","api"+(label[app]!:"redis"|controllerKind:"job")
//
// and V1 Kubecost's first ones, such as filterNamespaces=web,kube-*. All syntaxes build the same Expr and hand it to New.
// ParseAssets and V1Assets are the same for assets, which are few: their filters are plain functions. Bind decides every comparison once per distinct value of the
// set; a row then costs a look-up of its id per comparison.
package filter
