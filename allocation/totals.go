package allocation

import (
	"math"
	"slices"
)

// subjectSum is a sum that a subject has for each resource.
type subjectSum uint8

const (
	costSum subjectSum = iota
	usageSum
	requestSum
	residualSum
	overcommitSum
	numSubjectSums
)

// subjectTotal is one subject and its sums over a set.
type subjectTotal struct {
	labels []string // values of the Subject's labels
	has    [numFamilyResources]bool
	sums   [numSubjectSums][numFamilyResources]float64
}

// add merges o's sums into t.
func (t *subjectTotal) add(o *subjectTotal) {
	for r, has := range o.has {
		t.has[r] = t.has[r] || has
	}
	for s := range t.sums {
		for r := range t.sums[s] {
			t.sums[s][r] += o.sums[s][r]
		}
	}
}

// Totals are the sums of all subjects of one kind over a set, sorted by labels, each label set once. They are not changed
// once made.
type Totals struct {
	hours float64
	rows  []*subjectTotal
}

// Totals sums the set by subject. The set must be a base set: neither aggregated, filtered nor shared; its length is what
// hourly costs are divided by.
func (s *Subject) Totals(set *Set) *Totals {
	hours := set.Window.Duration().Hours()
	if hours <= 0 {
		return &Totals{hours: 1}
	}
	return &Totals{hours: hours, rows: mergeTotals(s.totals(set))}
}

// Len is the number of subjects.
func (t *Totals) Len() int { return len(t.rows) }

// Labels are the values of the Subject's labels for the subject i. The slice must not be changed.
func (t *Totals) Labels(i int) []string { return t.rows[i].labels }

// Cost is the cost of the subject i over the set, all resources together: what its rank under a cap depends on.
func (t *Totals) Cost(i int) float64 {
	sum := 0.0
	for _, c := range t.rows[i].sums[costSum] {
		sum += c
	}
	return sum
}

// Fold sums the subjects that keep does not hold into subjects all of whose labels but the first fixed are OtherName. No
// sum is lost: ratios of what was folded are made from its sums.
func (t *Totals) Fold(keep func(i int) bool, fixed int) *Totals {
	rows := make([]*subjectTotal, len(t.rows))
	for i := range rows {
		row := *t.rows[i]
		if !keep(i) {
			row.labels = slices.Clone(row.labels)
			for l := fixed; l < len(row.labels); l++ {
				row.labels[l] = OtherName
			}
		}
		rows[i] = &row
	}
	return &Totals{hours: t.hours, rows: mergeTotals(rows)}
}

// Emit calls emit for every series of the family: the subject's index, the values of the family's Labels, which are valid
// during the call only, and the value. It returns how many values were left out because they are not finite.
func (f *Family) Emit(t *Totals, emit func(subject int, labels []string, value float64)) (notFinite int) {
	labels := make([]string, 0, len(f.Labels))
	for i, row := range t.rows {
		labels = append(labels[:0], row.labels...)
		for r := range familyResources {
			value, ok := f.value(row, familyResource(r), t.hours)
			switch {
			case !ok:
			case math.IsNaN(value) || math.IsInf(value, 0):
				notFinite++
			default:
				emit(i, append(labels, familyResources[r].name), value)
			}
		}
	}
	return notFinite
}

// mergeTotals sorts rows by their labels and sums those that have the same, in the order given. The rows are its own.
func mergeTotals(rows []*subjectTotal) []*subjectTotal {
	slices.SortStableFunc(rows, func(a, b *subjectTotal) int { return slices.Compare(a.labels, b.labels) })
	merged := rows[:0]
	for _, row := range rows {
		if last := len(merged) - 1; last >= 0 && slices.Equal(merged[last].labels, row.labels) {
			merged[last].add(row)
		} else {
			merged = append(merged, row)
		}
	}
	return merged
}
