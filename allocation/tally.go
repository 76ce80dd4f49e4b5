package allocation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// forgetAfter is how long a subject keeps its place without costing anything, where there are more than places.
const forgetAfter = 24 * time.Hour

// tally is what has accrued of a subject in a month, and who has series of its own.
//
// As long as all may have them, all do. From the first hour on in which they would be too many, the month has members:
// those that were there stay; the costliest newcomers of each hour take the places that are left; who costs nothing for
// a day loses its own. All others are summed into __other__, of their cluster as far as there is room for that. So
// __other__ gains what those cost that are no members, and no counter falls.
type tally struct {
	rows   []subjectTotal // members, by labels
	others []subjectTotal // __other__, by labels
	capped bool
	// clusters have an __other__ of their own once they need one, in the order they came; lost says that there are others.
	clusters []string
	lost     bool
}

func (t *tally) clone() *tally {
	own := *t
	own.rows, own.others = slices.Clone(t.rows), slices.Clone(t.others)
	own.clusters = slices.Clip(t.clusters)
	return &own
}

// add adds an hour's rows, by labels.
func (t *tally) add(s *Subject, hour []subjectTotal, w Window, most int) {
	t.meet(s, hour, most)
	newcomers := t.addMembers(hour, w)
	if !t.capped && t.weight(s, t.rows)+t.weight(s, newcomers) > t.room(s, most) {
		t.capped = true
	}
	if t.capped {
		newcomers = t.choose(s, newcomers, w, most)
	}
	if len(newcomers) > 0 {
		for i := range newcomers {
			row := subjectTotal{labels: newcomers[i].labels, since: w.Start.Unix()}
			if row.accrue(&newcomers[i]); row.total() != 0 {
				row.last = w.End.Unix()
			}
			t.rows = append(t.rows, row)
		}
		slices.SortFunc(t.rows, compareTotals)
	}
	if t.capped && !s.drops {
		_, rest := t.split(hour)
		t.addOthers(t.folded(rest), w)
	}
}

// meet notes new clusters.
func (t *tally) meet(s *Subject, hour []subjectTotal, most int) {
	for i := range hour {
		cluster := hour[i].labels[0]
		if i > 0 && cluster == hour[i-1].labels[0] || slices.Contains(t.clusters, cluster) {
			continue
		}
		if s.drops {
			return
		}
		if len(s.Labels) == 1 || (len(t.clusters)+1)*s.width() > most/2 {
			t.lost = true
			continue
		}
		t.clusters = append(t.clusters, cluster)
	}
}

// room is how many series members may have: beside each __other__ that there may be.
func (t *tally) room(s *Subject, most int) int {
	others := len(t.clusters)
	if t.lost {
		others++
	}
	return most - others*s.width()
}

func (t *tally) weight(s *Subject, rows []subjectTotal) int {
	n := 0
	for i := range rows {
		n += s.weight(rows[i].has)
	}
	return n
}

// accrue adds what o costs. What is no number would stay one for the rest of the month, so it is left out.
func (t *subjectTotal) accrue(o *subjectTotal) {
	t.has |= o.has
	for r, c := range o.cost {
		if !math.IsNaN(c) && !math.IsInf(c, 0) {
			t.cost[r] += c
		}
	}
}

// addMembers adds what members cost in an hour and returns the other rows.
func (t *tally) addMembers(hour []subjectTotal, w Window) (newcomers []subjectTotal) {
	at := 0
	for i := range hour {
		row := hour[i]
		for at < len(t.rows) && slices.Compare(t.rows[at].labels, row.labels) < 0 {
			at++
		}
		if at == len(t.rows) || !slices.Equal(t.rows[at].labels, row.labels) {
			newcomers = append(newcomers, row)
			continue
		}
		t.rows[at].accrue(&row)
		if row.total() != 0 {
			t.rows[at].last = w.End.Unix()
		}
	}
	return newcomers
}

// choose takes places from those that cost nothing any more, and from the cheapest if there are too many, and gives free ones
// to newcomers.
func (t *tally) choose(s *Subject, newcomers []subjectTotal, w Window, most int) (admitted []subjectTotal) {
	since := w.End.Add(-forgetAfter).Unix()
	t.rows = slices.DeleteFunc(t.rows, func(r subjectTotal) bool { return max(r.last, r.since) <= since })
	free := t.room(s, most) - t.weight(s, t.rows)
	if free < 0 { // further resources and clusters take room
		byCost(t.rows)
		for free < 0 && len(t.rows) > 0 {
			last := len(t.rows) - 1
			free += s.weight(t.rows[last].has)
			t.rows = t.rows[:last]
		}
		slices.SortFunc(t.rows, compareTotals)
	}
	byCost(newcomers)
	for n := range newcomers {
		if free -= s.weight(newcomers[n].has); free < 0 || t.isOther(newcomers[n].labels) {
			return newcomers[:n]
		}
	}
	return newcomers
}

// isOther reports whether labels are those of __other__.
func (t *tally) isOther(labels []string) bool {
	return !slices.ContainsFunc(labels[min(1, len(labels)-1):], func(l string) bool { return l != OtherName })
}

// byCost sorts rows by falling cost, equal ones by label.
func byCost(rows []subjectTotal) {
	slices.SortFunc(rows, func(a, b subjectTotal) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), compareTotals(a, b))
	})
}

// folded are rows as __other__.
func (t *tally) folded(rows []subjectTotal) []subjectTotal {
	out := make([]subjectTotal, 0, len(t.clusters)+1)
	for i := range rows {
		labels := slices.Repeat([]string{OtherName}, len(rows[i].labels))
		if len(labels) > 1 && slices.Contains(t.clusters, rows[i].labels[0]) {
			labels[0] = rows[i].labels[0]
		}
		at, ok := slices.BinarySearchFunc(out, labels, func(r subjectTotal, labels []string) int { return slices.Compare(r.labels, labels) })
		if !ok {
			out = slices.Insert(out, at, subjectTotal{labels: labels})
		}
		out[at].add(&rows[i])
	}
	return out
}

// addOthers adds an hour's rows to __other__.
func (t *tally) addOthers(hour []subjectTotal, w Window) {
	for i := range hour {
		at, ok := slices.BinarySearchFunc(t.others, hour[i], compareTotals)
		if !ok {
			t.others = slices.Insert(t.others, at, subjectTotal{labels: hour[i].labels, since: w.Start.Unix()})
		}
		t.others[at].accrue(&hour[i])
	}
}

// split tells the rows of members from the rest.
func (t *tally) split(hour []subjectTotal) (members, rest []subjectTotal) {
	at := 0
	for i := range hour {
		for at < len(t.rows) && slices.Compare(t.rows[at].labels, hour[i].labels) < 0 {
			at++
		}
		if at < len(t.rows) && slices.Equal(t.rows[at].labels, hour[i].labels) {
			members = append(members, hour[i])
		} else {
			rest = append(rest, hour[i])
		}
	}
	return members, rest
}

// counters are all rows, by labels.
func (t *tally) counters() []subjectTotal {
	if len(t.others) == 0 {
		return t.rows
	}
	rows := slices.Concat(t.rows, t.others)
	slices.SortFunc(rows, compareTotals)
	return rows
}

// fold sums the rows of an hour that are no members into __other__, and counts their series.
func (t *tally) fold(s *Subject, hour []subjectTotal) (rows []subjectTotal, dropped int) {
	if !t.capped {
		return hour, 0
	}
	rows, rest := t.split(hour)
	if s.drops {
		return rows, t.weight(s, rest)
	}
	rows = append(rows, t.folded(rest)...)
	slices.SortFunc(rows, compareTotals)
	return rows, t.weight(s, rest)
}
