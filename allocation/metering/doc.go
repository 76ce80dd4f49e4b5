// Package metering turns sets into metrics: families of gauges and counters by namespace, node, label and more, and the state of
// budgets.
//
// One table of families serves /metrics and PromQL, so the two cannot drift apart. A Metering says which subjects have series and
// how many at most; Accrued counts the closed hours of a month.
package metering
