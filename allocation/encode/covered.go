package encode

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/coverage"
)

// stretch is the window of a set, and when clusters have data in it.
type stretch struct {
	window  allocation.Window
	covered []allocation.Covered
}

// stretches are those of sets of allocations.
func stretches(sets []*allocation.Set) (list []stretch) {
	for _, s := range sets {
		list = append(list, stretch{s.Window, s.Covered})
	}
	return list
}

// assetStretches are those of sets of assets.
func assetStretches(sets []*assets.Set) (list []stretch) {
	for _, s := range sets {
		list = append(list, stretch{s.Window, s.Covered})
	}
	return list
}

// whole are adjacent stretches as one, for answers in which nothing is of a single set.
func whole(list []stretch) []stretch {
	if len(list) < 2 {
		return list
	}
	return []stretch{{allocation.Window{Start: list[0].window.Start, End: list[len(list)-1].window.End}, joined(list)}}
}

// joined is when clusters have data in all of the stretches.
func joined(list []stretch) []allocation.Covered {
	all := make([][]allocation.Covered, len(list))
	for i, x := range list {
		all[i] = x.covered
	}
	return coverage.Join(all...)
}

// measure says how much of a set's window has data, as far as the window was asked for. covered is that of the whole answer.
func (o *Options) measure(w allocation.Window, covered []allocation.Covered) coverage.Coverage {
	if asked := o.Asked; !asked.Start.IsZero() {
		if w.Start.Before(asked.Start) {
			w.Start = asked.Start
		}
		if w.End.After(asked.End) {
			w.End = asked.End
		}
	}
	return coverage.Measure(w, covered, o.Now)
}

// coverage says how much of the windows of adjacent sets has data.
func (o *Options) coverage(list []stretch) coverage.Coverage {
	if len(list) == 0 {
		return coverage.Coverage{}
	}
	return o.measure(allocation.Window{Start: list[0].window.Start, End: list[len(list)-1].window.End}, joined(list))
}

// rate is the factor by which the costs of a set are multiplied, of an answer that covers what is given.
func (o *Options) rate(w allocation.Window, covered []allocation.Covered) float64 {
	if o.RateHours == 0 {
		return 1
	}
	c := o.measure(w, covered)
	if factor := c.Factor(o.RateHours); factor > 0 {
		return factor
	}
	return 1
}

// appendCovered appends how much of the windows of an answer has data: as a whole, in words if it is not all, by cluster if there are
// several, and by set if there are several.
func (o *Options) appendCovered(b []byte, list []stretch) []byte {
	whole := o.coverage(list)
	b = appendNumber(append(b, `,"coveredHours":`...), whole.Hours)
	b = appendNumber(append(b, `,"windowHours":`...), whole.Window)
	if whole.Hours > 0 && !whole.Whole() {
		b = appendString(append(b, `,"coverage":`...), whole.Text())
	}
	if len(whole.Clusters) > 1 {
		b = append(b, `,"clusterCoveredHours":`...)
		for i, c := range whole.Clusters {
			b = append(appendString(append(b, opening(i)), c.Name), ':')
			b = appendNumber(b, c.Hours)
		}
		b = append(b, '}')
	}
	if len(list) > 1 {
		b = append(b, `,"setCoveredHours":[`...)
		covered := joined(list)
		for i, x := range list {
			if i > 0 {
				b = append(b, ',')
			}
			of := o.measure(x.window, covered)
			b = appendNumber(b, of.Hours)
		}
		b = append(b, ']')
	}
	return b
}

// warnCovered appends the warning that a part of the windows has no data, if there is one.
func (o *Options) warnCovered(warnings []string, list []stretch) []string {
	whole := o.coverage(list)
	if text := whole.Warning(); text != "" && !slices.Contains(warnings, text) {
		warnings = append(warnings, text)
	}
	return warnings
}
