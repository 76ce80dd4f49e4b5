package allocation

// Rows writes the rows of a set that is being made, in columns: a row is added with zeros and missing properties, and its values are
// set in the slices that Column and IDs hand out. Set ends it.
type Rows struct {
	set       *Set
	volumes   []rowShare[VolumeShare]
	balancers []rowShare[LoadBalancerShare]
}

// NewRows writes rows into set, whose assets and warnings the caller fills in by itself.
func NewRows(set *Set) *Rows { return &Rows{set: set} }

// Reserve makes room for n more rows.
func (r *Rows) Reserve(n int) { r.set.reserve(n) }

// Len is the number of rows.
func (r *Rows) Len() int { return r.set.Len() }

// Add adds a row that runs from start to end, Unix milliseconds, and returns its index. Slices of columns and properties that were
// handed out before are not valid any more.
func (r *Rows) Add(kind Special, start, end int64) int { return r.set.grow(kind, start, end) }

// Column is the values of a column, one a row, to be changed in place until the next row is added.
func (r *Rows) Column(c Column) []float64 { return r.set.values[c] }

// IDs are the ids of a property in the set's Dict, one a row, to be changed in place until the next row is added.
func (r *Rows) IDs(p Property) []ID { return r.set.ids[p] }

// Ends are when the rows end, Unix milliseconds, to be changed in place until the next row is added.
func (r *Rows) Ends() []int64 { return r.set.end }

// Window is when a row started and ended.
func (r *Rows) Window(row int) Window { return Window{r.set.Start(row), r.set.End(row)} }

// AddVolume gives a row a share of a volume. A row may get several of one volume, which are added in the order given.
func (r *Rows) AddVolume(row int32, share VolumeShare) {
	r.volumes = append(r.volumes, rowShare[VolumeShare]{row, share})
}

// AddBalancer gives a row a share of a load balancer. A row may get several of one, which are added in the order given.
func (r *Rows) AddBalancer(row int32, share LoadBalancerShare) {
	r.balancers = append(r.balancers, rowShare[LoadBalancerShare]{row, share})
}

// Set is the set, once all rows and shares are added: what rows have of volumes and load balancers is summed into their columns.
func (r *Rows) Set() *Set {
	s := r.set
	s.volumes = mergeRowShares(r.volumes, s.dict.orderVolumes, (*VolumeShare).Add)
	s.balancers = mergeRowShares(r.balancers, s.dict.orderBalancers, (*LoadBalancerShare).Add)
	for row := range s.special {
		for _, v := range s.Volumes(row) {
			s.values[PVByteHours][row] += v.ByteHours
			s.values[PVCost][row] += v.Cost
		}
		for _, v := range s.LoadBalancerShares(row) {
			s.values[LoadBalancerCost][row] += v.Cost
		}
	}
	r.volumes, r.balancers = nil, nil
	return s
}
