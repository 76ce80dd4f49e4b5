//go:build race

package history_test

// defaultKills and defaultReaders are fewer under the race detector, with which processes and readers are much slower.
const (
	defaultKills   = 20
	defaultReaders = 100
)
