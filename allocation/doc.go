// Package allocation defines the data model of Kubernetes cost, and the passes that turn it into answers.
//
// A Set holds the allocations of one window in columns, and the assets they ran on. Package build makes sets from the signals
// of clusters. Passes over sets (idle, share, filter, aggregate, accumulate, reconcile) make the answers. SEMANTICS.md
// defines the numbers; Set.Check verifies the laws of its section 5.
package allocation
