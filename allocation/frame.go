package allocation

import (
	"fmt"
	"slices"
)

// Frame is rows of a set as built, in columns, as they are stored and read. Slices have an element for each row. A nil slice
// of IDs or Values stands for missing properties or zeros.
type Frame struct {
	Special    []Special
	Start, End []int64 // Unix milliseconds
	IDs        [NumProperties][]ID
	Values     [NumColumns][]float64
	// Volumes and Balancers are the shares of all rows, row after row. VolumeEnds and BalancerEnds say where the shares of
	// each row end; rows beyond have none.
	Volumes      []VolumeShare
	VolumeEnds   []int32
	Balancers    []LoadBalancerShare
	BalancerEnds []int32
	// Levels are those of all rows, and LevelEnds say where those of each row end.
	Levels    [len(LevelResources)][]Level
	LevelEnds [len(LevelResources)][]int32
	// Read is what was read of the rows, nil for everything. Slices of the rest are nil.
	Read *Projection
	// Deferred are properties without ids, in place of IDs. They are for sets that go through Apply with options that only
	// merge rows, or that name only rows kept by a filter. Looking at them before that is ErrUnread.
	Deferred [NumProperties]Deferred
}

// Built reports whether the set is as a Builder makes it, before passes.
func (s *Set) Built() bool { return s.table.Names == nil }

// AppendFrame adds the rows of f, whose ids are those of the set's Dict, to a set as built. The set takes the slices over. It
// fails for slices of different lengths and for shares that are not in order.
func (s *Set) AppendFrame(f *Frame) error {
	n := len(f.Special)
	if s.table.Names != nil {
		return fmt.Errorf("append rows to set of %s: passes have made it", s.Window.Text())
	}
	if err := f.check(n); err != nil {
		return fmt.Errorf("append rows to set of %s: %w", s.Window.Text(), err)
	}
	had := len(s.table.Special)
	u := f.Read.unread()
	s.table.Unread.Add(&u)
	s.table.Special = append(s.table.Special, f.Special...)
	s.table.Merged = append(s.table.Merged, make([]Merged, n)...) // oneRow
	s.table.Start, s.table.End = join(s.table.Start, f.Start), join(s.table.End, f.End)
	if had == 0 { // shared: whoever appends or writes must copy them
		s.table.NoID, s.table.Zero = s.table.Dict.blank(n)
	}
	for p := range s.table.IDs {
		if s.table.Unread.Properties[p] {
			s.table.IDs[p] = nil
			continue
		}
		if had > 0 && f.Deferred[p] != nil {
			ids, err := identifyRows(f.Deferred[p], s.table.Dict, n)
			if err != nil {
				return fmt.Errorf("append rows to set of %s: %w", s.Window.Text(), err)
			}
			f.IDs[p] = ids
		}
		if had == 0 && f.IDs[p] == nil {
			s.table.IDs[p], s.table.Deferred[p] = s.table.NoID[:n:n], f.Deferred[p]
			continue
		}
		s.table.IDs[p] = joinOrZero(s.table.IDs[p], f.IDs[p], n)
	}
	for c := range s.table.Values {
		if s.table.Unread.Columns[c] {
			s.table.Values[c] = nil
			continue
		}
		if had == 0 && f.Values[c] == nil {
			s.table.Values[c] = s.table.Zero[:n:n]
			continue
		}
		s.table.Values[c] = joinOrZero(s.table.Values[c], f.Values[c], n)
	}
	s.table.Volumes.appendAll(had, f.VolumeEnds, f.Volumes)
	s.table.Balancers.appendAll(had, f.BalancerEnds, f.Balancers)
	for r := range LevelResources {
		s.table.Levels[r].appendAll(had, f.LevelEnds[r], f.Levels[r])
	}
	return nil
}

// AllZero reports whether a column is known to be all zeros, without looking at the values. Nothing has to be summed then.
func (s *Set) AllZero(c Column) bool { return s.table.AllZero(c) }

// AllZero reports whether a column is known to be all zeros, without looking at the values.
func (t *Table) AllZero(c Column) bool { return same(t.Values[c], t.Zero) }

// IsZero reports whether a column is all zeros. It looks at the values if need be.
func (t *Table) IsZero(c Column) bool {
	return t.AllZero(c) || !slices.ContainsFunc(t.Values[c], func(v float64) bool { return v != 0 })
}

// Missing reports whether a property is known to be missing or deferred in all rows. Nothing has to be compared then.
func (t *Table) Missing(p Property) bool { return same(t.IDs[p], t.NoID) }

// same reports whether two slices share their memory.
func same[T any](a, b []T) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// join appends b to a, or takes b over if a is empty. It clips the capacity, because columns may be shared.
func join[T any](a, b []T) []T {
	if len(a) == 0 {
		return slices.Clip(b)
	}
	return append(a, b...)
}

// joinOrZero is join, with n zeros in place of a nil b.
func joinOrZero[T any](a, b []T, n int) []T {
	if b == nil {
		b = make([]T, n)
	}
	return join(a, b)
}

// appendAll appends the shares of further rows after had rows.
func (s *Shares[T]) appendAll(had int, ends []int32, list []T) {
	if len(list) == 0 {
		return
	}
	for len(s.end) < had {
		s.end = append(s.end, int32(len(s.List)))
	}
	for _, end := range ends {
		s.end = append(s.end, int32(len(s.List))+end)
	}
	s.List = append(s.List, list...)
}

// check verifies that all columns have n rows and that shares are in order.
func (f *Frame) check(n int) error {
	if len(f.Start) != n || len(f.End) != n {
		return fmt.Errorf("%d starts and %d ends of %d rows", len(f.Start), len(f.End), n)
	}
	for p, ids := range f.IDs {
		if ids != nil && len(ids) != n {
			return fmt.Errorf("%s of %d of %d rows", Property(p), len(ids), n)
		}
	}
	for c, values := range f.Values {
		if values != nil && len(values) != n {
			return fmt.Errorf("%s of %d of %d rows", Column(c), len(values), n)
		}
	}
	for _, shares := range [...]struct {
		what string
		ends []int32
		n    int
	}{
		{"volumes", f.VolumeEnds, len(f.Volumes)},
		{"load balancers", f.BalancerEnds, len(f.Balancers)},
		{"levels of CPU usage", f.LevelEnds[CPU], len(f.Levels[CPU])},
		{"levels of RAM usage", f.LevelEnds[RAM], len(f.Levels[RAM])},
	} {
		last := int32(0)
		for _, end := range shares.ends {
			if end < last {
				return fmt.Errorf("%s are out of order", shares.what)
			}
			last = end
		}
		if len(shares.ends) > n || int(last) != shares.n {
			return fmt.Errorf("%s of %d rows end at %d, there are %d rows and %d of them", shares.what, len(shares.ends), last, n, shares.n)
		}
	}
	return nil
}
