//go:build race

package main

import "time"

// With the race detector all takes ten times as long: fewer processes are killed, fewer clusters compared, and what is
// waited for may come later.
const (
	defaultKills = 20
	patience     = 8 * time.Minute
)

// truthGrids are the resolutions that are compared with the truth, and how far apart samples are there.
func truthGrids() map[string]time.Duration { return map[string]time.Duration{"exact": scrape} }

// truthSeeds are the further clusters that are.
func truthSeeds() []string { return []string{"11"} }
