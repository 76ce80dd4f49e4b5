// Package fields is the table of the numbers that an allocation is served with, derived from the columns of its set: averages,
// sums, efficiencies, and the bounds of their error.
package fields
