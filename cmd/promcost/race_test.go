//go:build race

package main

import "time"

// With the race detector all takes ten times as long: fewer processes are killed, and what is waited for may come later.
const (
	defaultKills = 20
	patience     = 8 * time.Minute
)
