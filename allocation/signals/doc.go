// Package signals names what series can say about a cluster, and how the series of each signal are keyed: it is what sources read, and
// what package build takes.
package signals
