// Package coverage says how much of a window has data. A rate, such as the cost of a month, is a cost divided by these hours
// (SEMANTICS §1).
package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
)

// MonthHours are the hours of a month in rates and prices.
const MonthHours = 730

// Join returns several lists as one: by cluster and start, with stretches that meet as one.
func Join(lists ...[]allocation.Covered) []allocation.Covered {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b allocation.Covered) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), a.Start.Compare(b.Start), a.End.Compare(b.End))
	})
	out := all[:0]
	for _, x := range all {
		if n := len(out); n > 0 && out[n-1].Cluster == x.Cluster && !x.Start.After(out[n-1].End) {
			join(&out[n-1], &x)
			continue
		}
		out = append(out, x)
	}
	return out
}

// join makes a reach to the end of b, which begins within it.
func join(a, b *allocation.Covered) {
	if b.End.After(a.End) {
		a.End = b.End
	}
	if b.Created.IsZero() || !a.Created.IsZero() && b.Created.Before(a.Created) {
		a.Created = b.Created
	}
}

// scaled is a Join in which gaps count as covered after which all nodes are new: the cluster was scaled to zero.
func scaled(list []allocation.Covered) []allocation.Covered {
	out := make([]allocation.Covered, 0, len(list))
	for _, x := range list {
		if n := len(out); n > 0 && out[n-1].Cluster == x.Cluster && !x.Created.Before(out[n-1].End) {
			out[n-1].End = x.End
			continue
		}
		out = append(out, x)
	}
	return out
}

// Coverage says how much of a window has data.
type Coverage struct {
	Hours    float64   // in which some cluster has data
	Window   float64   // hours of the window up to now
	Clusters []Cluster // with data in the window, by name
}

// Cluster says how much of a window a cluster has data of.
type Cluster struct {
	Name  string
	Hours float64
}

// Measure returns how much of a window is covered, up to now: the zero time is later than any. The list is a Join, and may reach beyond the
// window, so that gaps at its ends are known as such.
func Measure(w allocation.Window, list []allocation.Covered, now time.Time) (c Coverage) {
	if !now.IsZero() && w.End.After(now) {
		w.End = now
	}
	c.Window = max(0, w.Duration().Hours())
	var union []allocation.Covered
	for _, x := range scaled(list) {
		from, to := later(x.Start, w.Start), earlier(x.End, w.End)
		if !from.Before(to) {
			continue
		}
		if n := len(c.Clusters); n == 0 || c.Clusters[n-1].Name != x.Cluster {
			c.Clusters = append(c.Clusters, Cluster{Name: x.Cluster})
		}
		c.Clusters[len(c.Clusters)-1].Hours += to.Sub(from).Hours()
		union = append(union, allocation.Covered{Start: from, End: to})
	}
	for _, x := range Join(union) {
		c.Hours += x.End.Sub(x.Start).Hours()
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Factor returns what a cost of the window is multiplied by for that of so many hours at the same rate. Without any data, costs such as
// those of bills are of all of the window. It is 0 for a window without length.
func (c *Coverage) Factor(hours float64) float64 {
	if of := cmp.Or(c.Hours, c.Window); of > 0 {
		return hours / of
	}
	return 0
}

// leastCovered is the part of a window that has to have data for its costs to be compared.
const leastCovered = 1.0 / 5

// Comparable reports whether both windows have data enough for rates to be compared. Else text says which does not, such as "17 of 175 h have
// data".
func Comparable(baseline, current *Coverage) (text string, ok bool) {
	for _, c := range [...]*Coverage{baseline, current} {
		if c.Hours < leastCovered*c.Window {
			return c.Text(), false
		}
	}
	return "", true
}

// Relative returns how much a cost changed for each hour that has data, relative to the cost of a baseline: 0.5 is half as much again. ok is
// false where the windows are not Comparable, or where there was no cost before.
func Relative(before float64, baseline *Coverage, cost float64, current *Coverage) (ratio float64, ok bool) {
	if _, ok := Comparable(baseline, current); !ok || !(before > 0) {
		return 0, false
	}
	return cost*current.Factor(1)/(before*baseline.Factor(1)) - 1, true
}

// slack is how many hours may lack data at the edges of a window without a word: less than a scrape.
const slack = 1.0 / 60

// Whole reports whether all of the window has data.
func (c *Coverage) Whole() bool { return whole(c.Hours, c.Window) }

func whole(hours, of float64) bool { return hours > of-slack }

// daysFrom is from how many hours on a window is told in days.
const daysFrom = 14 * 24

// Text says how much of the window has data, such as "8 of 90 days have data".
func (c *Coverage) Text() string { return text(c.Hours, c.Window) }

func text(hours, of float64) string {
	unit := "h"
	if of >= daysFrom {
		unit, hours, of = "days", hours/24, of/24
	}
	a, b := "", ""
	for digits := 3; a == b && digits < 9; digits++ { // as many as show that they differ
		a, b = strconv.FormatFloat(hours, 'g', digits, 64), strconv.FormatFloat(of, 'g', digits, 64)
	}
	return fmt.Sprintf("%s of %s %s have data", a, b, unit)
}

// mostNamed is how many clusters a warning names.
const mostNamed = 3

// Warning warns that data are missing in a part of the window, or in a part of it for some cluster. It is "" where there is nothing to
// say, and for a window without any data, which has warnings of its own.
func (c *Coverage) Warning() string {
	var lacking []string
	for _, x := range c.Clusters {
		if !whole(x.Hours, c.Window) {
			lacking = append(lacking, fmt.Sprintf("%s: %s", x.Name, text(x.Hours, c.Window)))
		}
	}
	more := ""
	if len(lacking) > mostNamed {
		lacking, more = lacking[:mostNamed], ", …"
	}
	switch {
	case len(lacking) == 0 || c.Hours == 0:
		return ""
	case len(c.Clusters) == 1:
		return c.Text() + ": a rate, such as the cost of a month, is the cost divided by the hours that have data"
	}
	return fmt.Sprintf("%s, not all of each cluster (%s%s): a rate, such as the cost of a month, is the cost divided by the hours in which some cluster has data",
		c.Text(), strings.Join(lacking, ", "), more)
}
