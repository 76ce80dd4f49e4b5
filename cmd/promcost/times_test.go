package main

import "time"

// patience is how long a test waits for what should take a second or two: on a machine that has other things to do it takes longer.
const patience = 10 * time.Minute

// truthGrids are the resolutions that are compared with the truth, and how far apart samples are there.
func truthGrids() map[string]time.Duration {
	return map[string]time.Duration{"1m": cell, "exact": scrape}
}
