// Package export chooses sets of a history of which no two overlap, and reads them, at the costs of bills where there are bills.
package export

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/history"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// Cover is sets of which no two overlap, oldest first. A history whose time zone was changed has sets of both zones, and their
// costs must not be exported twice.
type Cover struct {
	Zone *time.Location // in which most of the sets were cut
	Sets []*history.Stored
}

// Choose chooses from sets: days of the zone first, then hours of its clock, then others that fit between. If zone is nil it
// takes the zone whose sets cover most; then the one with the fewest sets, then that of the newest.
func Choose(sets []history.Stored, zone *time.Location) *Cover {
	zones := []*time.Location{zone}
	if zone == nil {
		zones = zonesOf(sets)
	}
	var best *Cover
	for _, z := range zones {
		c := &Cover{Zone: z}
		for rank := range 4 {
			for i := range sets {
				if s := &sets[i]; s.Period != history.Counted && rankOf(s, z) == rank {
					c.add(s)
				}
			}
		}
		if best == nil || cmp.Or(cmp.Compare(c.duration(), best.duration()), cmp.Compare(len(best.Sets), len(c.Sets))) > 0 {
			best = c
		}
	}
	return best
}

// zonesOf are the zones that sets were cut in, the newest set's first; UTC if there are no sets.
func zonesOf(sets []history.Stored) (zones []*time.Location) {
	newest := make([]*history.Stored, len(sets))
	for i := range sets {
		newest[i] = &sets[i]
	}
	slices.SortStableFunc(newest, func(a, b *history.Stored) int {
		return cmp.Or(b.Window.End.Compare(a.Window.End), cmp.Compare(a.Zone, b.Zone))
	})
	var names []string
	for _, s := range newest {
		if slices.Contains(names, s.Zone) {
			continue
		}
		names = append(names, s.Zone)
		if z, err := config.ParseZone(s.Zone); err == nil { // otherwise this system does not know the zone: its sets go where there is room
			zones = append(zones, z)
		}
	}
	if len(zones) == 0 {
		zones = append(zones, time.UTC)
	}
	return zones
}

// rankOf is how well a set suits a zone: 0 for a day of it, 1 for an hour of its clock, 2 for other days, 3 for other hours.
func rankOf(s *history.Stored, zone *time.Location) int {
	if s.Period == history.Daily {
		day := allocation.Day.Round(allocation.Window{Start: s.Window.Start, End: s.Window.Start.Add(1)}, zone)
		if day.Start.Equal(s.Window.Start) && day.End.Equal(s.Window.End) {
			return 0
		}
		return 2
	}
	if t := s.Window.Start.In(zone); t.Minute() == 0 && t.Second() == 0 {
		return 1
	}
	return 3
}

// add adds a set unless it overlaps one that is there.
func (c *Cover) add(s *history.Stored) {
	i, _ := slices.BinarySearchFunc(c.Sets, s.Window.Start, func(have *history.Stored, t time.Time) int {
		if have.Window.End.After(t) {
			return 1
		}
		return -1
	})
	if i == len(c.Sets) || !c.Sets[i].Window.Start.Before(s.Window.End) {
		c.Sets = slices.Insert(c.Sets, i, s)
	}
}

// duration is the time of all sets.
func (c *Cover) duration() (sum time.Duration) {
	for _, s := range c.Sets {
		sum += s.Window.Duration()
	}
	return sum
}

// Lacks says how much of the time of sets is not covered, "" if all is.
func (c *Cover) Lacks(sets []history.Stored) string {
	var lost time.Duration
	var first, end time.Time
	cut := func(from, to time.Time) { // a time that some set has
		for _, have := range c.Sets {
			if !from.Before(to) || !have.Window.Start.Before(to) {
				break
			}
			if !have.Window.End.After(from) {
				continue
			}
			if gap := have.Window.Start.Sub(from); gap > 0 {
				first, lost = earlier(first, from), lost+gap
			}
			from = have.Window.End
		}
		if gap := to.Sub(from); gap > 0 {
			first, lost = earlier(first, from), lost+gap
		}
	}
	byStart := slices.Clone(sets)
	slices.SortStableFunc(byStart, func(a, b history.Stored) int { return a.Window.Start.Compare(b.Window.Start) })
	var begin time.Time
	for i := range byStart {
		switch s := &byStart[i]; {
		case s.Period == history.Counted:
		case end.IsZero() || s.Window.Start.After(end):
			cut(begin, end)
			begin, end = s.Window.Start, s.Window.End
		case s.Window.End.After(end):
			end = s.Window.End
		}
	}
	if cut(begin, end); lost == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the history, the first at %s, is left out: it is only in sets of another time zone that overlap what is exported: export it by itself with --window and --timezone",
		lost, first.UTC().Format(time.RFC3339))
}

// earlier is the earlier of two times, the first of which may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
