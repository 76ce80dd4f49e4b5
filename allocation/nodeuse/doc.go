// Package nodeuse says what nodes and pools of nodes are used for, and what would be paid without them, as a function over sets. It knows no
// source.
package nodeuse
