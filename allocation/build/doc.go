// Package build makes sets of allocations from the signals of clusters: it resolves who ran when and where, what they asked for, what
// nodes, volumes, load balancers and traffic cost, and integrates amount × price over time.
//
// A Builder is given series, signal by signal (signals.go), and yields a Set a window. Pods and containers (objects.go, resolve.go,
// integrate.go), nodes (nodes.go), volumes (volumes.go), load balancers (balancers.go), traffic (network.go) and prices (tariff.go) are
// resolved by methods of their own. SEMANTICS.md defines what comes out.
package build
