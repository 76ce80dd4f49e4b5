// Package metadata says which rows show labels and annotations once they are merged, and marks those that were not read for the others. A
// row that is merged from rows of several containers shows none.
package metadata

import (
	"fmt"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// Unread stands in place of the id of labels or annotations that were not read.
const Unread allocation.ID = math.MaxUint32

// Shown reports for each row of a set whether an answer shows its labels and annotations after the rows of a shard are merged by keys.
// It does if the row belongs to the shard and is merged with no row of another container. Shown fails with allocation.ErrUnread if
// a key looks at labels or annotations, or at anything else that was not read.
func Shown(s *allocation.Set, keys []allocation.Key, shard allocation.Shard) ([]bool, error) {
	for _, k := range keys {
		if p := k.Needs().Properties; slices.Contains(p, allocation.Labels) || slices.Contains(p, allocation.Annotations) {
			return nil, fmt.Errorf("%w: labels and annotations, by key %v", allocation.ErrUnread, k)
		}
	}
	groups, err := allocation.GroupBy(s, func(allocation.Special) bool { return true }, nil, keys)
	if err != nil {
		return nil, err
	}
	var cols [len(allocation.InstanceProperties)][]allocation.ID
	for i, p := range allocation.InstanceProperties {
		if cols[i], err = s.IDs(p); err != nil {
			return nil, err
		}
	}
	has := s.RowsOf(shard)
	first, several := make([]int, len(groups.First)), make([]bool, len(groups.First)) // of each group: its first row, counted from 1
	shown := make([]bool, len(groups.Of))
	for row, g := range groups.Of {
		switch {
		case !shard.Whole() && !has(row):
			continue
		case first[g] == 0:
			first[g] = row + 1
		case !several[g]:
			several[g] = slices.ContainsFunc(cols[:], func(ids []allocation.ID) bool { return ids[row] != ids[first[g]-1] })
		}
		shown[row] = true
	}
	for row, g := range groups.Of {
		shown[row] = shown[row] && !several[g]
	}
	return shown, nil
}

// Defer defers labels and annotations of a set if some are Unread. Passes may merge rows whose labels are Unread; looking at them fails
// with allocation.ErrUnread.
func Defer(s *allocation.Set) error {
	for _, p := range [...]allocation.Property{allocation.Labels, allocation.Annotations} {
		ids, err := s.IDs(p)
		if err != nil {
			return err
		}
		if slices.Contains(ids, Unread) {
			s.Defer(p, &partly{property: p, ids: ids, dict: s.Dict()})
		}
	}
	return nil
}

// partly is a property of which some rows are Unread. It implements allocation.Deferred.
type partly struct {
	property allocation.Property
	ids      []allocation.ID
	dict     *allocation.Dict // of ids
}

// Common implements allocation.Deferred.
func (p *partly) Common(d *allocation.Dict, group, first []int32, differ []bool, ids []allocation.ID) error {
	for row, g := range group {
		if differ[g] {
			continue
		}
		if p.ids[row] == Unread {
			return p.unread()
		}
		differ[g] = p.ids[row] != p.ids[first[g]]
	}
	for g, row := range first {
		if row >= 0 && !differ[g] {
			ids[g] = d.AddMap(p.dict.TextMap(p.ids[row]))
		}
	}
	return nil
}

// Latest implements allocation.Deferred. It always fails: merged rows show labels that they have in common, not the latest ones.
func (p *partly) Latest(*allocation.Dict, []int32, []allocation.ID) error { return p.unread() }

func (p *partly) unread() error {
	return fmt.Errorf("%w: %v of rows that are merged with others", allocation.ErrUnread, p.property)
}
