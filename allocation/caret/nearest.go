package caret

import (
	"cmp"
	pathpkg "path"
	"slices"
	"strings"
)

// Nearest is the one of names that name may be a slip of, "" where none is near: one slip away, two in longer names. Case
// does not count, and names of one or two letters are near nothing.
func Nearest(name string, names []string) string {
	limit := 1
	if len(name) > 5 {
		limit = 2
	}
	longest := 0
	for _, n := range names {
		longest = max(longest, len(n))
	}
	if len(name) > 2*(longest+limit) { // a letter may be shorter in the other case, but not by more
		return ""
	}
	name = strings.ToLower(name)
	best := ""
	for _, n := range names {
		if len(n) < 3 {
			continue
		}
		if d := slips(name, strings.ToLower(n), limit); d <= limit {
			best, limit = n, d-1
		}
	}
	return best
}

// NearestPath returns the path that was probably meant: one with a small typing error, or one with a prefix too many or too
// few, such as that of a proxy; "" if none is near. Parts in braces stand for the same parts of path.
func NearestPath(path string, paths []string) string {
	if i := slices.IndexFunc(paths, func(p string) bool { return strings.Contains(p, "/{") }); i >= 0 {
		paths = slices.Clone(paths)
		for ; i < len(paths); i++ {
			paths[i] = fillPath(paths[i], path)
		}
	}
	best := ""
	for _, p := range paths {
		if len(p) > len(best) && (strings.HasSuffix(path, p) || strings.HasSuffix(p, path)) && min(len(p), len(path)) > 1 {
			best = p
		}
	}
	return cmp.Or(Nearest(path, paths), best, longer(strings.TrimSuffix(path, pathpkg.Ext(path)), paths))
}

// fillPath returns a pattern with its parts in braces replaced by the same parts of path.
func fillPath(pattern, path string) string {
	parts, own := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") && i < len(own) && own[i] != "" {
			parts[i] = own[i]
		}
	}
	return strings.Join(parts, "/")
}

// longer is the shortest of paths of which beginning is at least half, "" where there is none.
func longer(beginning string, paths []string) string {
	best := ""
	for _, p := range paths {
		if len(beginning) > 1 && strings.HasPrefix(p, beginning) && len(p) <= 2*len(beginning) && (best == "" || len(p) < len(best)) {
			best = p
		}
	}
	return best
}

// slips is how many letters must be added, removed, changed or swapped with their neighbor to make b of a, or more than
// limit.
func slips(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
