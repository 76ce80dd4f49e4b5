package allocation

// Deferred is a property whose values have no ids yet. Giving ids to the values of all rows takes longer than the rest of a
// sum over many hours, and most are never shown: a result shows only what all its rows have in common, and the rows of a
// namespace have no pod in common. A Deferred compares rows as they are stored, and gives ids only to values that are shown.
// It is safe for concurrent use.
type Deferred interface {
	// Common finds the value that all rows of a group have in common. group is the group of each row, first the first row of
	// each group, or -1 if it has none. A group whose rows differ is marked in differ; the other groups get the id of their
	// value. Groups that are marked already are skipped.
	Common(d *Dict, group, first []int32, differ []bool, ids []ID) error
	// Latest gives each group the id of its last row that has a value. Groups without any value are not changed.
	Latest(d *Dict, group []int32, ids []ID) error
}

// Defer puts a deferred property in place of a property's ids.
func (s *Set) Defer(p Property, d Deferred) {
	s.table.NoID, _ = s.table.Dict.blank(s.Len())
	s.table.IDs[p], s.table.Deferred[p] = s.table.NoID, d
}

// identifyRows returns the ids of a deferred property of n rows.
func identifyRows(of Deferred, d *Dict, n int) ([]ID, error) {
	rows, ids := make([]int32, n), make([]ID, n)
	for row := range rows {
		rows[row] = int32(row)
	}
	return ids, of.Common(d, rows, rows, make([]bool, n), ids)
}
