// Package filter selects allocations: an expression over their properties, compiled to a predicate over the ids of a Set.
//
// Parse reads Kubecost's v2 filters, such as
//
//	namespace:"web","api"+(label[app]!:"redis"|controllerKind:"job")
//
// Other syntaxes build the same Expr and hand it to New. Bind decides every comparison once per distinct value of the
// set; a row then costs a look-up of its id per comparison.
package filter
