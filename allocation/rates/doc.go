// Package rates says how prices are asked for: what the price of a node or of another item may depend on, what a rate is, and what
// things usually cost, so that a price in a wrong unit is noticed.
package rates
