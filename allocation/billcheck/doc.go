// Package billcheck says how bills and clusters fit together: what was read, which lines are of which assets, which assets no
// line charges, which lines look like a cluster's and match nothing, and what nodes cost at list price and by bill.
package billcheck
