// Package build makes sets of allocations from the signals of clusters: it finds out what ran when and where, what it requested, what
// nodes, volumes, load balancers and traffic cost, and integrates amount × price over time.
//
// A Builder takes series, each with the signal that it carries (package signals), and returns a Set for each window. Its state is divided
// into parts (parts.go): pods and containers (objects.go, resolve.go, integrate.go), nodes (nodes.go), volumes (volumes.go), load
// balancers (balancers.go), traffic (network.go) and prices (prices.go). SEMANTICS.md defines the result.
package build
