package allocation

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// HoleWarning is the warning of a set that nothing could be had of the time w, and why.
func HoleWarning(w Window, why string) string {
	return w.Start.UTC().Format(time.RFC3339) + holeTo + w.End.UTC().Format(time.RFC3339) + holeWhy + why
}

// The words between the parts of a HoleWarning.
const (
	holeTo  = " to "
	holeWhy = " is missing: "
)

// parseHole is what a HoleWarning tells; ok is false for other warnings.
func parseHole(text string) (w Window, why string, ok bool) {
	times, why, ok := strings.Cut(text, holeWhy)
	from, to, also := strings.Cut(times, holeTo)
	if !ok || !also {
		return w, "", false
	}
	start, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return w, "", false
	}
	end, err := time.Parse(time.RFC3339, to)
	return Window{Start: start, End: end}, why, err == nil
}

// JoinHoles makes one warning of those HoleWarnings that say the same of adjacent or overlapping times; others stay. It
// gives the warnings sorted, each once, and may change the list.
func JoinHoles(warnings []string) []string {
	type hole struct {
		window Window
		why    string
	}
	var holes []hole
	rest := slices.DeleteFunc(warnings, func(text string) bool {
		w, why, ok := parseHole(text)
		if ok {
			holes = append(holes, hole{w, why})
		}
		return ok
	})
	slices.SortFunc(holes, func(a, b hole) int {
		return cmp.Or(cmp.Compare(a.why, b.why), a.window.Start.Compare(b.window.Start))
	})
	for len(holes) > 0 {
		w, n := holes[0].window, 1
		for ; n < len(holes) && holes[n].why == holes[0].why && !holes[n].window.Start.After(w.End); n++ {
			if end := holes[n].window.End; end.After(w.End) {
				w.End = end
			}
		}
		rest, holes = append(rest, HoleWarning(w, holes[0].why)), holes[n:]
	}
	return sortWarnings(rest)
}
