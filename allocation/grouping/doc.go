// Package grouping numbers the rows of sets by what they have in common: combinations of ids, and the names made of them.
package grouping
