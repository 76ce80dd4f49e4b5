package allocation

// Rows writes the rows of a set that is being made. Add appends a row of zeros and missing properties; its values are set in
// the slices that Column and IDs return. Set ends writing.
type Rows struct {
	set       *Set
	volumes   []RowShare[VolumeShare]
	balancers []RowShare[LoadBalancerShare]
	levels    [len(LevelResources)][]RowShare[Level]
}

// NewRows writes rows into an empty set. The caller fills in the assets and warnings. Columns to which nothing is written take no
// memory.
func NewRows(set *Set) *Rows {
	for c := range columns {
		set.table.Unread.Columns[c] = true // until Column, or Set
	}
	set.table.Unread.Levels = true // until KeepLevels
	return &Rows{set: set}
}

// Reserve makes room for n more rows.
func (r *Rows) Reserve(n int) { r.set.reserve(n) }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.set.Len() }

// Add adds a row that runs from start to end in Unix milliseconds, and returns its index. It invalidates the slices that
// Column, IDs and Ends returned.
func (r *Rows) Add(kind Special, start, end int64) int { return r.set.AddRow(kind, start, end) }

// Column returns the values of a column, one for each row. They can be changed in place until the next row is added. Several goroutines
// may call it of a column for which it was called before.
func (r *Rows) Column(c Column) []float64 {
	if s := r.set; s.table.Unread.Columns[c] {
		s.table.Values[c], s.table.Unread.Columns[c] = make([]float64, s.Len(), cap(s.table.Special)), false
	}
	return r.set.table.Values[c]
}

// Value returns the value of a column in a row.
func (r *Rows) Value(c Column, row int) float64 {
	if r.set.table.Unread.Columns[c] {
		return 0
	}
	return r.set.table.Values[c][row]
}

// IDs returns the ids of a property in the set's Dict, one for each row. They can be changed in place until the next row is
// added.
func (r *Rows) IDs(p Property) []ID { return r.set.table.IDs[p] }

// Ends returns the ends of the rows in Unix milliseconds. They can be changed in place until the next row is added.
func (r *Rows) Ends() []int64 { return r.set.table.End }

// Window returns when a row started and ended.
func (r *Rows) Window(row int) Window { return Window{r.set.Start(row), r.set.End(row)} }

// AddVolume gives a row a share of a volume. Several shares of one volume are added in the order given.
func (r *Rows) AddVolume(row int32, share VolumeShare) {
	r.volumes = append(r.volumes, RowShare[VolumeShare]{row, share})
}

// AddBalancer gives a row a share of a load balancer. Several shares of one are added in the order given.
func (r *Rows) AddBalancer(row int32, share LoadBalancerShare) {
	r.balancers = append(r.balancers, RowShare[LoadBalancerShare]{row, share})
}

// KeepLevels makes the levels of usage of the rows known. Without, they are unread.
func (r *Rows) KeepLevels() { r.set.table.Unread.Levels = false }

// AddLevel gives a row, or with a time below 0 takes from it, time at a level of usage of CPU or RAM.
func (r *Rows) AddLevel(of Resource, row int32, level Level) {
	r.levels[of] = append(r.levels[of], RowShare[Level]{row, level})
}

// Set returns the set after all rows and shares were added. It sums the shares of volumes and load balancers into their
// columns.
func (r *Rows) Set() *Set {
	s := r.set
	s.table.NoID, s.table.Zero = s.table.Dict.blank(s.Len())
	s.table.Volumes = MergeShares(r.volumes, s.table.Dict.CompareVolumes, (*VolumeShare).Add)
	s.table.Balancers = MergeShares(r.balancers, s.table.Dict.CompareBalancers, (*LoadBalancerShare).Add)
	for row := range s.table.Special {
		for _, v := range s.Volumes(row) {
			r.Column(PVByteHours)[row] += v.ByteHours
			r.Column(PVCost)[row] += v.Cost
		}
		for _, v := range s.LoadBalancerShares(row) {
			r.Column(LoadBalancerCost)[row] += v.Cost
		}
	}
	for of := range LevelResources {
		s.table.Levels[of] = MergeLevels(s.Len(), r.levels[of])
		r.levels[of] = nil
	}
	r.volumes, r.balancers = nil, nil
	for c := range columns {
		if s.table.Unread.Columns[c] || s.table.IsZero(Column(c)) {
			s.table.Values[c], s.table.Unread.Columns[c] = s.table.Zero, false // shared: it takes no memory of its own, and nobody has to sum it
		}
	}
	return s
}
