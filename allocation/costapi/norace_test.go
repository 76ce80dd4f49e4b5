//go:build !race

package costapi_test

// questions is how many random questions are asked.
const questions = 900
