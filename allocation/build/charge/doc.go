// Package charge integrates usage and traffic over what was resolved, and divides the cost of everything among the rows of the sets: usage of
// containers (integrate.go, tally.go), of more than a node has (overcommit.go), traffic (network.go), volumes (volumecost.go), load balancers
// (balancers.go), nodes and what does not add up (assets.go), and what nobody used (unallocated.go).
package charge
