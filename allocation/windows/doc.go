// Package windows reads windows of time and durations as users write them: today, 7d, 12h offset 1d, or a pair of times.
package windows
