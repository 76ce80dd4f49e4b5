// Package build makes sets of allocations from the signals of clusters: it finds out what ran when and where, what it requested, what
// nodes, volumes, load balancers and traffic cost, and integrates amount × price over time. SEMANTICS.md defines the result.
//
// A Builder asks for series, each with the signal that it carries (package signals), and returns a Set for each window. It works in three phases,
// each a package that calls nothing of the next: observe takes the series of everything but usage, resolve finds out from these what ran when and
// lays out the rows of the sets, and charge integrates usage and divides all cost among the rows.
package build
