// Package resolve finds out from what was observed what ran when, and where: when nodes lived (lives.go), when containers ran (resolve.go), and
// of which time nothing is known (gaps.go). It makes the rows of the sets (rows.go) and cuts the time of each container into sections, within which
// only usage changes (sections.go).
package resolve
