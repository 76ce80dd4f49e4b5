// Package diagnosis says what a source of samples has of each input, and what is missing there.
package diagnosis
