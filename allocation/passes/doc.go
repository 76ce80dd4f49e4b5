// Package passes turns sets as they were built into answers: idle, shared costs, filters, aggregation, accumulation, what bills
// add, and Check. Every pass makes new sets and leaves those that it is given as they are. SEMANTICS.md §6 has the order of the
// passes, §5 the laws that Check verifies.
package passes
