package metering

import (
	"math"

	"github.com/promcost/promcost/allocation"
)

// SeriesOptions say what a SeriesReader reads of a family. The zero value is everything.
type SeriesOptions struct {
	// Keep has a function for each of Family.Labels that says which values are read. A nil function, or a nil Keep, accepts all.
	Keep []func(value string) bool
	// Summed says that series are summed by the labels By, which are indices of Family.Labels.
	Summed bool
	By     []int
}

// SeriesReader reads a family from one set after another. A series has the same number in all sets. It is not safe for concurrent
// use.
type SeriesReader struct {
	family  *Family
	subject *Subject
	keep    []func(string) bool // by label, nil for any
	by      []int
	summed  bool
	wanted  resourceSet
	labels  [][]string     // of series
	index   map[string]int // by labels
	key     []byte         // scratch
	rows    *rowReader     // nil if the subject is not made of rows
}

// Reader returns a reader of a family of the subject. Only families that Adds reports may be summed.
func (s *Subject) Reader(f *Family, o SeriesOptions) *SeriesReader {
	r := &SeriesReader{family: f, subject: s, keep: o.Keep, by: o.By, summed: o.Summed, wanted: allResources, index: map[string]int{}}
	if r.keep == nil {
		r.keep = make([]func(string) bool, len(f.Labels))
	}
	if !o.Summed {
		r.by = nil
		for l := range f.Labels {
			r.by = append(r.by, l)
		}
	}
	if keep := r.keep[len(f.Labels)-1]; keep != nil && !s.noResource {
		for i := range familyResources {
			if !keep(familyResources[i].name) {
				r.wanted &^= 1 << i
			}
		}
	}
	if len(s.by) == len(s.Labels) && !s.noResource {
		r.rows = newRowReader(r)
	}
	return r
}

// Adds reports whether series of the family can be summed. Ratios cannot.
func (f *Family) Adds() bool { return f.traits.needs == nil }

// Labels returns the label values of a series, or those by which it is summed. The slice must not be changed.
func (r *SeriesReader) Labels(series int) []string { return r.labels[series] }

// Read calls emit with the number and the value of each series of the set, in no particular order. The values are those of Family.Emit.
// If series are summed, it may call emit several times for one. It leaves out values that are not finite. Sets must be base sets.
func (r *SeriesReader) Read(set *allocation.Set, emit func(series int, value float64)) {
	switch {
	case set.Window.Duration() <= 0:
	case r.rows != nil:
		r.rows.read(set, emit)
	default:
		r.family.Emit(r.subject.Totals(set), func(_ int, labels []string, value float64) {
			if r.keeps(labels) {
				emit(r.series(labels), value)
			}
		})
	}
}

// keeps reports whether the series of these labels is read.
func (r *SeriesReader) keeps(labels []string) bool {
	for l, keep := range r.keep {
		if keep != nil && !keep(labels[l]) {
			return false
		}
	}
	return true
}

// series returns the number of the series with these values of all labels.
func (r *SeriesReader) series(labels []string) int {
	r.key = r.key[:0]
	for _, l := range r.by {
		r.key = append(append(r.key, labels[l]...), 0xff)
	}
	i, ok := r.index[string(r.key)]
	if !ok {
		i = len(r.labels)
		own := make([]string, len(r.by))
		for k, l := range r.by {
			own[k] = labels[l]
		}
		r.index[string(r.key)], r.labels = i, append(r.labels, own)
	}
	return i
}

// Projection returns what Read needs of sets.
func (r *SeriesReader) Projection() *allocation.Projection {
	if r.rows != nil {
		return r.rows.projection()
	}
	return r.subject.Projection(*r.family)
}

// isFinite reports whether a value is neither NaN nor infinite.
func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
