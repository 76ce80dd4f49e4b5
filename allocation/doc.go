// Package allocation computes what Kubernetes workloads cost.
//
// A Builder takes the signals of a cluster (who ran when and where, what was requested and used, what nodes have and
// cost) and integrates amount × price over time. It yields a Set per window: allocations in columns and the assets they ran on.
// Passes over sets (idle, filter, aggregate, accumulate) make the answers. The definitions are those of SEMANTICS §1 to §6;
// Set.Check holds the laws of §5.
package allocation
