//go:build race

package costapi_test

// questions are fewer under the race detector, with which each takes ten times as long.
const questions = 150
