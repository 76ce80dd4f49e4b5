// Package build makes sets of allocations from the signals of clusters: it resolves who ran when and where, what they asked for, what
// nodes, volumes, load balancers and traffic cost, and integrates amount × price over time.
//
// A Builder is given series by what they say (package signals), and yields a Set a window. Its state is in parts (parts.go), and so is
// what resolves them: pods and containers (objects.go, resolve.go, integrate.go), nodes (nodes.go), volumes (volumes.go), load
// balancers (balancers.go), traffic (network.go) and prices (itemrates.go). SEMANTICS.md defines what comes out.
package build
