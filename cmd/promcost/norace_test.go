//go:build !race

package main

import "time"

// defaultKills is how often TestKill kills the program.
const defaultKills = 200

// patience is how long a test waits for what should take a second or two.
const patience = 2 * time.Minute

// truthGrids are the resolutions that are compared with the truth, and how far apart samples are there.
func truthGrids() map[string]time.Duration {
	return map[string]time.Duration{"1m": cell, "exact": scrape}
}

// truthSeeds are the further clusters that are.
func truthSeeds() []string { return []string{"11", "29"} }
