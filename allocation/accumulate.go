package allocation

import (
	"slices"

	"github.com/promcost/promcost/allocation/grouping"
)

// accumulate sums the sets of each period into one, oldest first. A set belongs to the period in which it starts. The window
// of a sum is rounded out to whole periods.
func accumulate(sets []*Set, o *Options) []*Set {
	var out []*Set
	for len(sets) > 0 {
		n := len(sets)
		if o.Accumulate != All {
			first := o.Accumulate.floor(sets[0].Window.Start, o.Zone)
			if i := slices.IndexFunc(sets, func(s *Set) bool { return !o.Accumulate.floor(s.Window.Start, o.Zone).Equal(first) }); i > 0 {
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
func sumSets(sets []*Set, o *Options) *Set {
	operands, names := make([]operand, len(sets)), grouping.Names{}
	for i, s := range sets {
		if i > 0 && same(s.names, sets[i-1].names) {
			operands[i] = operand{set: s, group: operands[i-1].group}
			continue
		}
		group := make([]int32, s.Len())
		for row, name := range s.names {
			group[row] = names.Add(name)
		}
		operands[i] = operand{set: s, group: group}
	}
	dst := sets[0].like()
	dst.books = &books{}
	*dst.books = *sets[0].books
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
		dst.books.add(s.books)
	}
	dst.Warnings = SortWarnings(slices.Clone(dst.Warnings))
	dst.sumAssets(sets)
	dst.merge(operands, names.List(), o.AggregatedMetadata)
	if o.Proportions {
		dst.indexAssets(o)
	}
	return dst
}
