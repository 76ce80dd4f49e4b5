package metering

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
)

// resourceSet is a set of values of the label resource, a bit each.
type resourceSet uint8

const (
	allResources  resourceSet = 1<<numFamilyResources - 1
	soldResources resourceSet = 1<<allocation.NumResources - 1 // by nodes
	always        resourceSet = 1<<allocation.CPU | 1<<allocation.RAM
)

func (s resourceSet) holds(r familyResource) bool { return s&(1<<r) != 0 }

func (s resourceSet) len() int { return bits.OnesCount8(uint8(s)) }

// subjectTotal has the sums of one item of a subject, such as one namespace, over a set.
type subjectTotal struct {
	labels []string // values of the Subject's labels
	has    resourceSet
	spot   bool // a node of the spot market
	judged bool // figures say what it should cost
	cost   [numFamilyResources]float64
	// used and asked are hours of usage and of requests, unknown those of requests whose usage is not known.
	used, requested, unknownRequests [allocation.NumResources]float64
	hours                            [allocation.NumResources]float64 // core-hours, byte-hours and GPU-hours of a container's allocation or a node's capacity
	byteHours                        float64                          // of a volume
	figures                          [numBudgetFigures]float64        // figures of a budget or of a Past, prices of traffic, or costs of overcommitment by resource
	since                            int64                            // when its counter began, in Unix seconds; 0 in a set
	last                             int64                            // end of the last hour in which it had a rank, in Unix seconds; 0 in a set
}

// rank decides who keeps its series if there are too many. It is the cost, or for costless subjects the sum of their amounts.
func (t *subjectTotal) rank(s *Subject) float64 {
	if !s.costless {
		return t.total()
	}
	sum := 0.0
	for _, v := range t.hours {
		sum += v
	}
	sum += t.byteHours
	for _, v := range t.figures {
		sum += v
	}
	return sum
}

// total is the cost of all resources.
func (t *subjectTotal) total() float64 {
	sum := 0.0
	for _, c := range t.cost {
		sum += c
	}
	return sum
}

// add adds the sums of o to t.
func (t *subjectTotal) add(o *subjectTotal) {
	t.has |= o.has
	for r := range t.cost {
		t.cost[r] += o.cost[r]
	}
	for r := range t.used {
		t.used[r] += o.used[r]
		t.requested[r] += o.requested[r]
		t.unknownRequests[r] += o.unknownRequests[r]
	}
	t.spot = t.spot || o.spot
	for r := range t.hours {
		t.hours[r] += o.hours[r]
	}
	t.byteHours += o.byteHours
	for i := range t.figures {
		t.figures[i] += o.figures[i]
	}
}

// Totals are the sums of all items of a subject over a set, sorted by labels, each label set once. They are immutable.
type Totals struct {
	hours      float64
	noResource bool // Subject.noResource
	rows       []subjectTotal
}

// Totals sums a set by the items of the subject. The set must be a base set: neither aggregated, filtered nor shared. Hourly costs
// are divided by its length.
func (s *Subject) Totals(set *allocation.Set) *Totals {
	hours := set.Window.Duration().Hours()
	if hours <= 0 {
		return &Totals{hours: 1, noResource: s.noResource}
	}
	rows := mergeTotals(s.totals(s, set))
	s.withoutCluster(set, rows)
	return &Totals{hours: hours, noResource: s.noResource, rows: rows}
}

// Len is the number of items.
func (t *Totals) Len() int { return len(t.rows) }

// Labels returns the values of the Subject's labels for item i. The slice must not be changed.
func (t *Totals) Labels(i int) []string { return t.rows[i].labels }

// Cost is the cost of item i over the set, of all resources together.
func (t *Totals) Cost(i int) float64 { return t.rows[i].total() }

// Created is when the counters of item i began at 0; the zero time if the totals are not those of counters.
func (t *Totals) Created(i int) time.Time {
	if t.rows[i].since == 0 {
		return time.Time{}
	}
	return time.Unix(t.rows[i].since, 0).UTC()
}

// Emit calls emit for every series of the family, with the index of the item, the values of the family's Labels and the value. The
// label values are valid only during the call. It returns how many values it left out because they are not finite.
func (f *Family) Emit(t *Totals, emit func(subject int, labels []string, value float64)) (notFinite int) {
	labels, resources := make([]string, 0, len(f.Labels)), len(familyResources)
	if t.noResource {
		resources = 1
	}
	for i := range t.rows {
		row := &t.rows[i]
		labels = append(labels[:0], row.labels...)
		for r := range resources {
			value, ok := f.traits.value(row, familyResource(r), t.hours)
			switch {
			case !ok:
			case math.IsNaN(value) || math.IsInf(value, 0):
				notFinite++
			case t.noResource:
				emit(i, labels, value)
			default:
				emit(i, append(labels, familyResources[r].name), value)
			}
		}
	}
	return notFinite
}

// compareTotals compares the labels of rows.
func compareTotals(a, b subjectTotal) int { return slices.Compare(a.labels, b.labels) }

// mergeTotals sorts rows by their labels and sums rows with the same labels, in the order given. It changes rows.
func mergeTotals(rows []subjectTotal) []subjectTotal {
	if !slices.IsSortedFunc(rows, compareTotals) {
		order := make([]int32, len(rows)) // rows are large: they are moved once
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(slices.Compare(rows[a].labels, rows[b].labels), cmp.Compare(a, b))
		})
		sorted := make([]subjectTotal, len(rows))
		for to, from := range order {
			sorted[to] = rows[from]
		}
		rows = sorted
	}
	merged := rows[:0]
	for i := range rows {
		if last := len(merged) - 1; last >= 0 && slices.Equal(merged[last].labels, rows[i].labels) {
			merged[last].add(&rows[i])
		} else {
			merged = append(merged, rows[i])
		}
	}
	return merged
}
