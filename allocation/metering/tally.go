package metering

import (
	"cmp"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// forgetAfter is how long a member of a capped tally keeps its series without a cost.
const forgetAfter = 24 * time.Hour

// tally has what a subject has accrued in a month, and who has series of its own: the members.
//
// At first everyone is a member. In the first hour in which there would be too many series, the tally becomes capped: members stay,
// and the costliest newcomers of each hour take the free places. A member without a cost for a day loses its place. Everyone else is
// summed into __other__ of its cluster (and of its label), or into one __other__ for all if there are too many clusters. So __other__
// gains the costs of those that are no members, and no counter falls.
type tally struct {
	rows      []subjectTotal // members, by labels
	otherRows []subjectTotal // __other__, by labels
	capped    bool
	// clusters have an __other__ of their own once they need one, in the order in which they came. Each is the labels that the subject
	// does not sum. moreClusters says that there are more clusters.
	clusters     [][]string
	moreClusters bool
}

func (t *tally) clone() *tally {
	own := *t
	own.rows, own.otherRows = slices.Clone(t.rows), slices.Clone(t.otherRows)
	own.clusters = slices.Clip(t.clusters)
	return &own
}

// add adds an hour's rows, which are sorted by labels.
func (t *tally) add(s *Subject, hour []subjectTotal, w allocation.Window, most int) {
	t.addClusters(s, hour, most)
	newcomers := t.addMembers(s, hour, w)
	if !t.capped {
		weight := t.weight(s)
		for _, i := range newcomers {
			weight += s.weight(hour[i].has)
		}
		t.capped = weight > t.room(s, most)
	}
	if t.capped {
		newcomers = t.admit(s, hour, newcomers, w, most)
	}
	if len(newcomers) > 0 {
		for _, i := range newcomers {
			row := subjectTotal{labels: hour[i].labels, since: w.Start.Unix()}
			if row.accrue(&hour[i]); row.rank(s) != 0 {
				row.last = w.End.Unix()
			}
			t.rows = append(t.rows, row)
		}
		slices.SortFunc(t.rows, compareTotals)
	}
	if t.capped && !s.drops {
		sums := t.newOtherSums(s)
		t.split(hour, func(i int, member bool) {
			if !member {
				sums.add(&hour[i])
			}
		})
		t.addOtherRows(sums.sums, w)
	}
}

// addClusters records new clusters.
func (t *tally) addClusters(s *Subject, hour []subjectTotal, most int) {
	for i := range hour {
		cluster := hour[i].labels[:s.unsummed()]
		if i > 0 && slices.Equal(cluster, hour[i-1].labels[:len(cluster)]) || t.has(cluster) {
			continue
		}
		if s.drops {
			return
		}
		if len(s.Labels) == 1 || (len(t.clusters)+1)*s.width() > most/2 {
			t.moreClusters = true
			continue
		}
		t.clusters = append(t.clusters, cluster)
	}
}

// has reports whether a cluster has an __other__ of its own.
func (t *tally) has(cluster []string) bool {
	return slices.ContainsFunc(t.clusters, func(c []string) bool { return slices.Equal(c, cluster) })
}

// room is how many series members may have beside those of every possible __other__.
func (t *tally) room(s *Subject, most int) int {
	rows := len(t.clusters)
	if t.moreClusters {
		rows++
	}
	return most - rows*s.width()
}

// weight is how many series members have.
func (t *tally) weight(s *Subject) int {
	n := 0
	for i := range t.rows {
		n += s.weight(t.rows[i].has)
	}
	return n
}

// accrue adds the costs of o and what else decides its rank.
func (t *subjectTotal) accrue(o *subjectTotal) {
	t.has |= o.has
	addFinite(t.cost[:], o.cost[:])
	addFinite(t.hours[:], o.hours[:])
	addFinite(t.figures[:], o.figures[:])
	if isFinite(o.byteHours) {
		t.byteHours += o.byteHours
	}
}

// addFinite adds values to sums. It leaves out NaN and infinity, which would stay in a sum for the rest of the month.
func addFinite(sums, values []float64) {
	for i, v := range values {
		if isFinite(v) {
			sums[i] += v
		}
	}
}

// addMembers adds the costs of members in an hour, and returns the indices of all other rows.
func (t *tally) addMembers(s *Subject, hour []subjectTotal, w allocation.Window) (newcomers []int32) {
	at := 0
	for i := range hour {
		row := &hour[i]
		for at < len(t.rows) && slices.Compare(t.rows[at].labels, row.labels) < 0 {
			at++
		}
		if at == len(t.rows) || !slices.Equal(t.rows[at].labels, row.labels) {
			newcomers = append(newcomers, int32(i))
			continue
		}
		t.rows[at].accrue(row)
		if row.rank(s) != 0 {
			t.rows[at].last = w.End.Unix()
		}
	}
	return newcomers
}

// admit takes their places from members without a cost, and from the cheapest if there are too many members. It then returns the
// newcomers that get the free places.
func (t *tally) admit(s *Subject, hour []subjectTotal, newcomers []int32, w allocation.Window, most int) (admitted []int32) {
	since := w.End.Add(-forgetAfter).Unix()
	t.rows = slices.DeleteFunc(t.rows, func(r subjectTotal) bool { return max(r.last, r.since) <= since })
	free := t.room(s, most) - t.weight(s)
	if free < 0 { // members got new resources, or there are new clusters
		kept := byRank(s, t.rows, nil)
		for free < 0 && len(kept) > 0 {
			last := len(kept) - 1
			free += s.weight(t.rows[kept[last]].has)
			kept = kept[:last]
		}
		slices.Sort(kept)
		for to, from := range kept {
			t.rows[to] = t.rows[from]
		}
		t.rows = t.rows[:len(kept)]
	}
	least := s.width()
	for _, i := range newcomers {
		least = min(least, s.weight(hour[i].has))
	}
	if free < least {
		return nil
	}
	newcomers = byRank(s, hour, newcomers)
	for n, i := range newcomers {
		if free -= s.weight(hour[i].has); free < 0 || isOther(s, hour[i].labels) {
			return newcomers[:n]
		}
	}
	return newcomers
}

// isOther reports whether labels are those of __other__.
func isOther(s *Subject, labels []string) bool {
	return !slices.ContainsFunc(labels[min(s.unsummed(), len(labels)-1):], func(l string) bool { return l != allocation.OtherName })
}

// byRank sorts the indices of rows by falling rank, equal ones by label. A nil order stands for all rows.
func byRank(s *Subject, rows []subjectTotal, order []int32) []int32 {
	if order == nil {
		order = make([]int32, len(rows))
		for i := range order {
			order[i] = int32(i)
		}
	}
	ranks := make(map[int32]float64, len(order))
	for _, i := range order {
		ranks[i] = rows[i].rank(s)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), compareTotals(rows[a], rows[b]))
	})
	return order
}

// otherSums sums rows into __other__.
type otherSums struct {
	tally   *tally
	subject *Subject
	sums    []subjectTotal // by labels
	last    []string       // the cluster of the last row
	at      int            // index of its sum
}

func (t *tally) newOtherSums(s *Subject) *otherSums { return &otherSums{tally: t, subject: s} }

// add adds a row. The rows of a cluster mostly follow each other.
func (o *otherSums) add(row *subjectTotal) {
	cluster := row.labels[:o.subject.unsummed()]
	if o.last == nil || !slices.Equal(o.last, cluster) {
		o.last, o.at = cluster, o.place(cluster, len(row.labels))
	}
	o.sums[o.at].add(row)
}

// place is the index of the sum of a cluster.
func (o *otherSums) place(cluster []string, labels int) int {
	sum := subjectTotal{labels: slices.Repeat([]string{allocation.OtherName}, labels)}
	if labels > 1 && o.tally.has(cluster) {
		copy(sum.labels, cluster)
	}
	at, ok := slices.BinarySearchFunc(o.sums, sum, compareTotals)
	if !ok {
		o.sums = slices.Insert(o.sums, at, sum)
	}
	return at
}

// addOtherRows adds an hour's rows to __other__.
func (t *tally) addOtherRows(hour []subjectTotal, w allocation.Window) {
	for i := range hour {
		at, ok := slices.BinarySearchFunc(t.otherRows, hour[i], compareTotals)
		if !ok {
			t.otherRows = slices.Insert(t.otherRows, at, subjectTotal{labels: hour[i].labels, since: w.Start.Unix()})
		}
		t.otherRows[at].accrue(&hour[i])
	}
}

// split calls visit for each row and says whether it is a member's.
func (t *tally) split(hour []subjectTotal, visit func(i int, member bool)) {
	at := 0
	for i := range hour {
		for at < len(t.rows) && slices.Compare(t.rows[at].labels, hour[i].labels) < 0 {
			at++
		}
		visit(i, at < len(t.rows) && slices.Equal(t.rows[at].labels, hour[i].labels))
	}
}

// counters returns the rows of members and of __other__, sorted by labels.
func (t *tally) counters() []subjectTotal {
	if len(t.otherRows) == 0 {
		return t.rows
	}
	rows := slices.Concat(t.rows, t.otherRows)
	slices.SortFunc(rows, compareTotals)
	return rows
}

// fold sums the rows of an hour that are not of members into __other__, and counts the series that this drops.
func (t *tally) fold(s *Subject, hour []subjectTotal) (rows []subjectTotal, dropped int) {
	if !t.capped {
		return hour, 0
	}
	rows = make([]subjectTotal, 0, len(t.rows)+len(t.otherRows))
	sums := t.newOtherSums(s)
	t.split(hour, func(i int, member bool) {
		if member {
			rows = append(rows, hour[i])
			return
		}
		dropped += s.weight(hour[i].has)
		sums.add(&hour[i])
	})
	if !s.drops {
		rows = append(rows, sums.sums...)
		slices.SortFunc(rows, compareTotals)
	}
	return rows, dropped
}
