package passes

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/grouping"
)

// accumulate sums the sets of each period into one, oldest first. A set belongs to the period in which it starts. The window
// of a sum is rounded out to whole periods.
func accumulate(sets []*allocation.Set, o *Options) []*allocation.Set {
	var out []*allocation.Set
	for len(sets) > 0 {
		n := len(sets)
		if o.Accumulate != allocation.All {
			first := o.Accumulate.Floor(sets[0].Window.Start, o.Zone)
			if i := slices.IndexFunc(sets, func(s *allocation.Set) bool { return !o.Accumulate.Floor(s.Window.Start, o.Zone).Equal(first) }); i > 0 {
				n = i
			}
		}
		sum := sumSets(sets[:n], o)
		sum.Window = o.Accumulate.Round(sum.Window, o.Zone)
		out, sets = append(out, sum), sets[n:]
	}
	return out
}

// sumSets sums sets into one set over the window from the first start to the last end. Assets that occur in several sets are
// summed too.
func sumSets(sets []*allocation.Set, o *Options) *allocation.Set {
	operands, names := make([]operand, len(sets)), grouping.Names{}
	for i, s := range sets {
		if i > 0 && sameNames(s.Table().Names, sets[i-1].Table().Names) {
			operands[i] = operand{set: s, group: operands[i-1].group}
			continue
		}
		group := make([]int32, s.Len())
		for row, name := range s.Table().Names {
			group[row] = names.Add(name)
		}
		operands[i] = operand{set: s, group: group}
	}
	dst := sets[0].Like()
	dst.Table().Books = &allocation.Books{}
	*dst.Table().Books = *sets[0].Table().Books
	for _, s := range sets[1:] {
		if s.Window.Start.Before(dst.Window.Start) {
			dst.Window.Start = s.Window.Start
		}
		if s.Window.End.After(dst.Window.End) {
			dst.Window.End = s.Window.End
		}
		dst.Resolution, dst.ScrapeInterval = max(dst.Resolution, s.Resolution), max(dst.ScrapeInterval, s.ScrapeInterval)
		dst.Rules = min(dst.Rules, s.Rules)
		dst.Warnings = slices.Concat(dst.Warnings, s.Warnings)
		dst.Table().Books.Add(s.Table().Books)
	}
	dst.Warnings = allocation.SortWarnings(slices.Clone(dst.Warnings))
	sumAssets(dst, sets)
	mergeSet(dst, operands, names.List(), o.AggregatedMetadata)
	if o.Proportions {
		indexAssets(dst, o)
	}
	return dst
}

// sameNames reports whether two lists of names share their memory.
func sameNames(a, b []string) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }
