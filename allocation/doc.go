// Package allocation defines the words of Kubernetes cost: windows, properties, columns, sets and their dictionaries, queries, and
// the errors that callers distinguish.
//
// A Set holds the allocations of one window in columns, and the assets they ran on. Package build makes sets from the signals
// of clusters, and package passes turns sets into answers. SEMANTICS.md defines the numbers.
package allocation
