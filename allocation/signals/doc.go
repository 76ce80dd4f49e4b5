// Package signals defines what series can say about a cluster, and the keys of the series of each signal. Sources read
// signals, and package build takes them.
package signals
