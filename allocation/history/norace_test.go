//go:build !race

package history_test

// defaultKills and defaultReaders are how many processes are killed, and how many read at once.
const (
	defaultKills   = 200
	defaultReaders = 1000
)
