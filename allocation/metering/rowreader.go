package metering

import (
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// maxRowProperties is how many labels of properties a subject may have.
const maxRowProperties = 8

// rowKey has the ids by which rows are summed, and the kind of row, which decides what stands for missing names.
type rowKey struct {
	ids  [maxRowProperties]allocation.ID
	kind allocation.Special
}

// rowReader reads families of subjects that are made of rows. It decides once for each id of a dictionary whether rows with that
// value are read. It sums rows in the same order as Subject.Totals, so the values are the same to the last bit.
type rowReader struct {
	*SeriesReader
	grouping []int // labels of properties by which rows are summed
	deciding []int // labels that decide which rows are read
	ratio    bool

	dict    *allocation.Dict
	kept    [][]decision // by deciding, id
	single  []int32      // group + 1 by id, if rows are summed by one label
	groups  map[rowKey]int32
	series  []int32 // of groups, by resource; -1 if not known yet
	labels  [][]string
	of      []int32 // the group of each row, -1 for none
	present []int32 // the groups that the set has rows of
	stamps  []int32 // by group, of the set that it was seen in
	stamp   int32
	// Sums by resource and group. The last sum of each resource is for rows that are not read.
	cost                             [numFamilyResources][]float64
	used, requested, unknownRequests [allocation.NumResources][]float64
	// Groups of different ids may have the same labels: a missing name, and the literal name that stands for it. first has the
	// first such group by group, byText by labels.
	first   []int32
	byText  map[string]int32
	aliased []bool // by group: others have the same labels
}

// decision says whether rows with a value are read.
type decision uint8

const (
	undecided decision = iota
	keepRow
	dropRow
)

func newRowReader(r *SeriesReader) *rowReader {
	own := &rowReader{SeriesReader: r, ratio: !r.family.Adds()}
	for _, l := range r.by {
		if l < len(r.subject.by) {
			own.grouping = append(own.grouping, l)
		}
	}
	for l := range r.subject.by {
		if r.keep[l] != nil {
			own.deciding = append(own.deciding, l)
		}
	}
	own.kept = make([][]decision, len(own.deciding))
	return own
}

// projection returns what is read of rows.
func (r *rowReader) projection() *allocation.Projection {
	p := &allocation.Projection{WithoutAssets: true}
	for _, l := range slices.Concat(r.grouping, r.deciding) {
		p.Properties = append(p.Properties, r.subject.by[l])
	}
	for i := range familyResources {
		if r.wanted.holds(familyResource(i)) {
			p.Columns = append(p.Columns, r.subject.costColumns(familyResource(i))...)
		}
	}
	for i := range allocation.NumResources {
		if r.ratio && r.wanted.holds(familyResource(i)) {
			p.Columns = append(p.Columns, allocation.UsageHours.Of(i), allocation.RequestHours.Of(i), allocation.UnknownRequestHours.Of(i))
		}
	}
	if r.wanted.holds(familyResource(allocation.GPU)) && !r.subject.sparse {
		p.Columns = append(p.Columns, allocation.Hours.Of(allocation.GPU))
	}
	slices.Sort(p.Properties)
	p.Properties = slices.Compact(p.Properties)
	return p
}

// read emits the series of a set.
func (r *rowReader) read(set *allocation.Set, emit func(series int, value float64)) {
	r.use(set.Dict())
	has := r.subject.presentResources(set)
	r.assign(set)
	r.sum(set)
	hours := set.Window.Duration().Hours()
	r.merge(func(group int32, t *subjectTotal) {
		for i := range familyResources {
			if v, ok := r.family.traits.value(t, familyResource(i), hours); ok && isFinite(v) {
				emit(r.seriesOf(group, i), v)
			}
		}
	}, has)
}

// use resets everything that is kept by ids of another dictionary.
func (r *rowReader) use(d *allocation.Dict) {
	if r.dict == d {
		return
	}
	r.dict, r.groups, r.series, r.labels = d, map[rowKey]int32{}, r.series[:0], r.labels[:0]
	r.stamps, r.stamp = r.stamps[:0], 0
	r.first, r.byText, r.aliased = r.first[:0], map[string]int32{}, r.aliased[:0]
	r.single = r.single[:0]
	for i := range r.kept {
		r.kept[i] = r.kept[i][:0]
	}
}

// assign finds the group of each row.
func (r *rowReader) assign(set *allocation.Set) {
	r.stamp++
	r.of, r.present = slices.Grow(r.of[:0], set.Len())[:set.Len()], r.present[:0]
	columns, deciding := r.columns(set, r.grouping), r.columns(set, r.deciding)
	var last rowKey
	group := int32(-1)
	for row := range r.of {
		if set.Special(row) == allocation.Idle || len(r.deciding) > 0 && !r.keepsRow(set, row, deciding) {
			r.of[row] = -1
			continue
		}
		same := group >= 0 && last.kind == set.Special(row)
		for i, ids := range columns {
			same = same && last.ids[i] == ids[row]
		}
		if !same {
			last.kind = set.Special(row)
			for i, ids := range columns {
				last.ids[i] = ids[row]
			}
			group = r.group(set, row, last)
		}
		r.of[row] = group
		if !same && r.stamps[group] != r.stamp {
			r.stamps[group] = r.stamp
			r.present = append(r.present, group)
		}
	}
}

// columns returns the ids of the properties of labels.
func (r *rowReader) columns(set *allocation.Set, labels []int) [][]allocation.ID {
	columns := make([][]allocation.ID, len(labels))
	for i, l := range labels {
		var err error
		if columns[i], err = set.IDs(r.subject.by[l]); err != nil {
			panic(err)
		}
	}
	return columns
}

// keepsRow reports whether a row is read.
func (r *rowReader) keepsRow(set *allocation.Set, row int, deciding [][]allocation.ID) bool {
	for i, l := range r.deciding {
		p, id := r.subject.by[l], deciding[i][row]
		if id == 0 && set.Special(row) == allocation.Unmounted {
			if !r.keep[l](propertyLabel(set, row, p)) {
				return false
			}
			continue
		}
		if int(id) >= len(r.kept[i]) {
			r.kept[i] = append(r.kept[i], make([]decision, int(id)+1-len(r.kept[i]))...)
		}
		d := &r.kept[i][id]
		if *d == undecided {
			*d = dropRow
			if r.keep[l](propertyLabel(set, row, p)) {
				*d = keepRow
			}
		}
		if *d == dropRow {
			return false
		}
	}
	return true
}

// propertyLabel is the value of a label of a row.
func propertyLabel(s *allocation.Set, row int, p allocation.Property) string {
	return propertyLabels(s, row, []allocation.Property{p})[0]
}

// group returns the group of a row, which has that key.
func (r *rowReader) group(set *allocation.Set, row int, key rowKey) int32 {
	one := len(r.grouping) == 1 && key.kind == allocation.Workload
	if one && int(key.ids[0]) < len(r.single) {
		if g := r.single[key.ids[0]]; g > 0 {
			return g - 1
		}
	}
	g, ok := r.groups[key]
	if !ok {
		g = int32(len(r.stamps))
		labels := make([]string, len(r.family.Labels))
		for _, l := range r.grouping {
			labels[l] = propertyLabel(set, row, r.subject.by[l])
		}
		r.groups[key] = g
		text := strings.Join(labels, "\xff")
		first, ok := r.byText[text]
		if !ok {
			first, r.byText[text] = g, g
		}
		r.first, r.aliased = append(r.first, first), append(r.aliased, ok)
		r.aliased[first] = ok
		r.labels, r.stamps = append(r.labels, labels), append(r.stamps, 0)
		for range familyResources {
			r.series = append(r.series, -1)
		}
	}
	if one {
		if n := int(key.ids[0]) + 1 - len(r.single); n > 0 {
			r.single = append(r.single, make([]int32, n)...)
		}
		r.single[key.ids[0]] = g + 1
	}
	return g
}

// sum sums the rows of each group in the order of Subject.Totals.
func (r *rowReader) sum(set *allocation.Set) {
	rest := int32(len(r.stamps))
	for row, g := range r.of {
		if g < 0 {
			r.of[row] = rest
		}
	}
	for i := range familyResources {
		if r.wanted.holds(familyResource(i)) {
			r.cost[i] = zeros(r.cost[i], int(rest)+1)
			for _, c := range r.subject.costColumns(familyResource(i)) {
				addTo(r.cost[i], r.of, values(set, c))
			}
		}
	}
	for i := range allocation.NumResources {
		if r.ratio && r.wanted.holds(familyResource(i)) {
			for _, sum := range [...]struct {
				of *[]float64
				m  allocation.Measure
			}{{&r.used[i], allocation.UsageHours}, {&r.requested[i], allocation.RequestHours}, {&r.unknownRequests[i], allocation.UnknownRequestHours}} {
				*sum.of = zeros(*sum.of, int(rest)+1)
				addTo(*sum.of, r.of, values(set, sum.m.Of(i)))
			}
		}
	}
}

// zeros returns n zeros in the memory of sums.
func zeros(sums []float64, n int) []float64 {
	sums = slices.Grow(sums[:0], n)[:n]
	clear(sums)
	return sums
}

// addTo adds the values of rows to the sums of their groups, one after the other. The rows of a group mostly follow each other, so
// its sum can stay in a register.
func addTo(sums []float64, of []int32, values []float64) {
	if len(values) == 0 || len(values) > len(of) {
		return
	}
	group := of[0]
	sum := sums[group]
	for row, v := range values {
		if g := of[row]; g != group {
			sums[group] = sum
			group, sum = g, sums[g]
		}
		sum += v
	}
	sums[group] = sum
}

// total returns the sums of a group. has are the resources of all allocations of the set.
func (r *rowReader) total(group int32, has resourceSet) (t subjectTotal) {
	for i := range familyResources {
		if r.wanted.holds(familyResource(i)) {
			t.cost[i] = r.cost[i][group]
		}
	}
	for i := range allocation.NumResources {
		if r.ratio && r.wanted.holds(familyResource(i)) {
			t.used[i], t.requested[i], t.unknownRequests[i] = r.used[i][group], r.requested[i][group], r.unknownRequests[i][group]
		}
	}
	if t.has = has; r.subject.sparse {
		t.hasNonZero()
	}
	t.has &= r.wanted
	return t
}

// merge calls do for each group of the set. Groups with the same labels are summed into one.
func (r *rowReader) merge(do func(group int32, t *subjectTotal), has resourceSet) {
	var order []int32
	var sums map[int32]*subjectTotal
	for _, g := range r.present {
		t := r.total(g, has)
		first := r.first[g]
		switch {
		case !r.aliased[first]:
			do(g, &t)
		case sums[first] != nil:
			sums[first].add(&t)
		default:
			if sums == nil {
				sums = map[int32]*subjectTotal{}
			}
			sums[first], order = &t, append(order, first)
		}
	}
	for _, g := range order {
		do(g, sums[g])
	}
}

// seriesOf returns the number of the series of a group and a resource.
func (r *rowReader) seriesOf(group int32, resource int) int {
	at := int(group)*numFamilyResources + resource
	if r.series[at] < 0 {
		labels := r.labels[group]
		labels[len(labels)-1] = familyResources[resource].name
		r.series[at] = int32(r.SeriesReader.series(labels))
	}
	return int(r.series[at])
}
