//go:build !race

package history_test

// defaultKills are how many processes are killed.
const defaultKills = 200
