//go:build race

package history_test

// defaultKills are fewer under the race detector, with which processes are much slower.
const defaultKills = 20
