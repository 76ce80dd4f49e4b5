//go:build race

package main

// defaultKills is less under the race detector, with which each process takes ten times as long.
const defaultKills = 20
