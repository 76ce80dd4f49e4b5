//go:build !race

package main

import "time"

// defaultKills is how often TestKill kills the program.
const defaultKills = 200

// patience is how long a test waits for what should take a second or two.
const patience = 2 * time.Minute
