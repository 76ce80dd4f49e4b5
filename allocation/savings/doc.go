// Package savings says what could cost less, and what a change would cost, as functions over sets (SEMANTICS §10). It knows no source.
package savings
