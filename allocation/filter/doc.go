// Package filter selects allocations and assets: conditions on their properties, whatever language they are written in.
//
// Parse reads Kubecost's v2 filters, such as
//
//	namespace:"web","api"+(label[app]!:"redis"|controllerKind:"job")
//
// and V1 Kubecost's first ones, such as filterNamespaces=web,kube-*; ParseAssets and V1Assets are the same for assets.
// Selectable and ParseLabelSelector read the selectors of Kubernetes. All build the same Expr, and New makes a Filter of one,
// or of an And of several. What a comparison means is defined once, on strings (matcher), and decided in two ways:
//
//   - Bind decides every comparison once per distinct value of a Set; a row then costs a look-up of its id per comparison.
//   - BindAssets and Saved look at the strings of assets, and of allocations and assets of a saved answer, as they are.
//
// What filters may name besides the fields of the language is an Option: WithFields adds fields of allocations that are
// computed of a row, WithLabels says what department, environment, owner, product and team stand for.
package filter
