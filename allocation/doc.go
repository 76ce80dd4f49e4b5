// Package allocation is the vocabulary of what Kubernetes workloads cost, and the passes that make answers of it.
//
// A Set is the allocations of one window, in columns, and the assets they ran on; package build makes sets from the signals of
// clusters. Passes over sets (idle, share, filter, aggregate, accumulate, reconcile) make the answers. SEMANTICS.md defines the
// numbers; Set.Check holds the laws of its section 5.
package allocation
