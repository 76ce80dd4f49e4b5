package allocation

// Table is the rows of a set in columns: what passes read, and what they make. Slices have an element for each row. Only who
// makes a set may write to its table.
type Table struct {
	Dict      *Dict    // of the ids
	Names     []string // of aggregated rows; nil before aggregation
	Special   []Special
	Merged    []Merged
	Start     []int64 // Unix milliseconds
	End       []int64
	IDs       [NumProperties][]ID
	Values    [NumColumns][]float64
	Zero      []float64 // shared column of zeros; nil if there is none
	NoID      []ID      // shared property that is missing or deferred in all rows; as long as the Frame
	Deferred  [NumProperties]Deferred
	Unread    Unread // IDs and Values are nil for these
	Volumes   Shares[VolumeShare]
	Balancers Shares[LoadBalancerShare]
	Levels    [len(LevelResources)]Shares[Level] // of CPU and RAM
	Parts     Shares[SharedPart]
	Portions  Shares[Portion]              // costs that Proportions are computed from
	Assets    map[PortionKey]*PortionAsset // the assets of Portions
	Books     *Books                       // what passes did with money; nil before passes
	Lost      Lost                         // what IDs do not say of merged rows
}

// Table returns the rows of the set. They must not be changed, unless the caller has made the set.
func (s *Set) Table() *Table { return &s.table }

// Merged says what a row was merged from.
type Merged uint8

// What rows are merged from.
const (
	OneRow           Merged = iota // a row as it was built: one container in one set
	OneInstance                    // one container in several sets
	SeveralInstances               // several containers
)

// CommonProperties are those of which rows of several containers keep what the containers have in common, NewestProperties
// those of which they keep the newest value.
var (
	CommonProperties = [...]Property{Labels, Annotations}
	NewestProperties = [...]Property{NamespaceLabels, NamespaceAnnotations}
)

// Lost is what a set of merged rows does not show but needs for further merging: the values that a row would have shown as a
// row of several containers. With it, merging in steps gives the same as merging all at once.
type Lost struct {
	Common [len(CommonProperties)][]ID // common values of all rows that count; nil where metadata is not kept
	Newest [len(NewestProperties)][]ID // newest values
	GPUs   []bool                      // rows with GPUs
}
