package allocation

import (
	"cmp"
	"slices"
	"time"
)

// Property is a dimension of an allocation, such as its namespace.
type Property uint8

// The properties. Those before Services are strings, Services is a list, the rest are maps.
const (
	Cluster Property = iota
	NodeName
	Namespace
	Pod
	PodUID
	Container
	ControllerKind // in lower case: deployment, daemonset, …
	Controller
	ProviderID // the node's
	Services
	Labels      // those of the node where allow-listed, overwritten by the namespace's, then by the pod's
	Annotations // those of the namespace, overwritten by the pod's
	NamespaceLabels
	NamespaceAnnotations
	GPUDevices // what is known of its GPUs: see GPUDevice
	NumProperties
)

// properties are the names in the API's JSON, in filters and in errors.
var properties = [NumProperties]string{
	"cluster", "node", "namespace", "pod", "uid", "container", "controllerKind", "controller", "providerID",
	"services", "labels", "annotations", "namespaceLabels", "namespaceAnnotations", "gpuDevices",
}

// propertyFields are the names in stored files.
var propertyFields = [NumProperties]string{
	"cluster", "node", "namespace", "pod", "pod_uid", "container", "controller_kind", "controller", "provider_id",
	"services", "labels", "annotations", "namespace_labels", "namespace_annotations", "gpu_devices",
}

// Field returns the property's name in stored files: cluster, controller_kind.
func (p Property) Field() string { return propertyFields[p] }

// String returns the property's name in the API.
func (p Property) String() string { return properties[p] }

// IsList reports whether the property's ids are lists.
func (p Property) IsList() bool { return p == Services }

// IsMap reports whether the property's ids are maps.
func (p Property) IsMap() bool { return p >= Labels }

// InstanceProperties are the properties that identify a container.
var InstanceProperties = [...]Property{Cluster, Namespace, Pod, PodUID, Container}

// Special is the kind of an allocation; all kinds but Workload are special.
type Special uint8

// The kinds of allocations.
const (
	Workload    Special = iota
	Idle                // __idle__: capacity of nodes that nobody was allocated
	Unmounted           // __unmounted__: volumes that no pod mounts
	Unallocated         // __unallocated__: load balancers without endpoints, and costs of clusters in which nothing ran
	External            // __external__: costs outside of clusters that carry properties of allocations
	Shared              // __shared__: shared cost that no row could take
	NumSpecials
)

// specials are the kinds' names in stored files.
var specials = [NumSpecials]string{
	Workload: "workload", Idle: "idle", Unmounted: "unmounted", Unallocated: "unallocated", External: "external", Shared: "shared",
}

// Field returns the kind's name in stored files: workload, idle.
func (s Special) Field() string { return specials[s] }

// Window is the half-open interval [Start, End).
type Window struct{ Start, End time.Time }

// Text returns the window as errors and requests have it, `<start>,<end>`.
func (w Window) Text() string {
	return w.Start.UTC().Format(time.RFC3339) + "," + w.End.UTC().Format(time.RFC3339)
}

// Duration returns End − Start.
func (w Window) Duration() time.Duration { return w.End.Sub(w.Start) }

// Header is what a set says as a whole: its time, its origin and its assets. Passes copy it to the sets that they return.
type Header struct {
	Window     Window        // as asked, or its part for one step; never cut off at the current time
	Resolution time.Duration // distance of the grid; 0 in exact mode
	// ScrapeInterval is the distance of the source's samples in whole seconds. It bounds the error in exact mode. 0 is
	// unknown.
	ScrapeInterval time.Duration
	// Rules is the version of the rules that computed the set, for a sum the oldest one: see RulesVersion.
	Rules      int
	Warnings   []string // what is missing or was assumed, sorted
	Nodes      []Node   // assets, by cluster and name
	Disks      []Disk   // assets, by cluster, kind and name
	Balancers  []LoadBalancer
	Networks   []Network            // one for each cluster
	Management []Management         // one for each cluster
	Cloud      []CloudCost          // occur only in bills
	External   []ExternalAllocation // from bills; Apply makes rows of them if asked to
	Residuals  []Residual           // what does not add up, by cluster and resource; empty where everything does
	Reading    *Reading             // of the computation that made the set; nil where unknown
	// BilledUntil is until when the bills are final, by which the set was reconciled; zero without bills.
	BilledUntil time.Time
	// Estimated is what of the cost of the assets was estimated from bills; the zero value where nothing may be.
	Estimated Estimate
	// Unlabeled means that no series that the set was computed from has the label cluster.
	Unlabeled bool
	// Incomplete means that the source has samples that it did not return. Warnings name them.
	Incomplete bool
	// Covered is when the clusters have data, by cluster and start, without overlap.
	Covered []Covered

	pricedBy map[string]float64 // see PricedBy; nil where the assets say it
}

// Estimate says how much of what assets cost was estimated from what bills charged for the like.
type Estimate struct {
	From  time.Time // start of the first set with estimated costs; zero where there are none
	Cost  float64   // what is estimated, in currency
	Total float64   // what all assets of clusters cost with adjustments, in currency
}

// Add adds the estimate of another set.
func (e *Estimate) Add(o Estimate) {
	e.Cost, e.Total = e.Cost+o.Cost, e.Total+o.Total
	if e.From.IsZero() || !o.From.IsZero() && o.From.Before(e.From) {
		e.From = o.From
	}
}

// Share is the part of the cost that is estimated, 0 where nothing costs anything.
func (e *Estimate) Share() float64 {
	if e.Total == 0 {
		return 0
	}
	return min(1, e.Cost/e.Total) // sums of the same costs in another order differ a little
}

// Covered is a stretch of time in which a cluster has data: a container or a node of it ran.
type Covered struct {
	Cluster    string
	Start, End time.Time
	// Created is when Kubernetes created the oldest node of that time; zero if that is not known of all of them, or if there is none.
	Created time.Time
}

// Set holds the allocations of one window and the assets they ran on. Values are in columns, properties are ids of a Dict.
// Values are sums and averages are derived from them, so sets add. A Set does not change once it is made: passes return new
// ones.
type Set struct {
	Header
	// Sound are functions that return an error if the files behind Deferred properties have changed since they were read.
	// Whoever caches a set calls them before using it again.
	Sound []func() error
	// OtherShards means that the window has data that may belong to other shards. An empty set is then not missing data.
	OtherShards bool

	table Table
}

// NewSet returns an empty set over dict.
func NewSet(w Window, dict *Dict) *Set {
	return &Set{Header: Header{Window: w, Rules: RulesVersion}, table: Table{Dict: dict}}
}

// Row is an allocation to be appended to a set. Zero fields are missing properties and zero amounts.
type Row struct {
	Special       Special
	Text          [Services]string // by Property
	Services      []string
	Labels        map[string]string
	Annotations   map[string]string
	NSLabels      map[string]string
	NSAnnotations map[string]string
	GPU           GPUDevice
	Volumes       []VolumeShare                // in any order; PVByteHours and PVCost of Values must be their sums
	LoadBalancers []LoadBalancerShare          // in any order; LoadBalancerCost of Values must be their sum
	Levels        [len(LevelResources)][]Level // of CPU and RAM, by bucket
	Start, End    time.Time
	Values        [NumColumns]float64
}

// Append adds r, which is one instance, and returns its index. It leaves out what was not read of the other rows.
func (s *Set) Append(r *Row) int {
	i := s.AddRow(r.Special, r.Start.UnixMilli(), r.End.UnixMilli())
	for p, text := range r.Text {
		if !s.table.Unread.Properties[p] {
			s.table.IDs[p][i] = s.table.Dict.Add(text)
		}
	}
	if !s.table.Unread.Properties[Services] {
		s.table.IDs[Services][i] = s.table.Dict.AddList(r.Services)
	}
	for p, m := range map[Property]map[string]string{
		Labels: r.Labels, Annotations: r.Annotations, NamespaceLabels: r.NSLabels, NamespaceAnnotations: r.NSAnnotations, GPUDevices: r.GPU.Map(),
	} {
		if !s.table.Unread.Properties[p] {
			s.table.IDs[p][i] = s.table.Dict.AddMap(m)
		}
	}
	for c := range s.table.Values {
		if !s.table.Unread.Columns[c] {
			s.table.Values[c][i] = r.Values[c]
		}
	}
	byText := func(a, b ID) int { return cmp.Compare(s.table.Dict.Text(a), s.table.Dict.Text(b)) }
	for _, share := range slices.SortedFunc(slices.Values(r.Volumes), func(a, b VolumeShare) int { return byText(a.Key, b.Key) }) {
		s.table.Volumes.Add(i, share)
	}
	for _, share := range slices.SortedFunc(slices.Values(r.LoadBalancers), func(a, b LoadBalancerShare) int { return byText(a.Key, b.Key) }) {
		s.table.Balancers.Add(i, share)
	}
	for of, levels := range r.Levels {
		for _, l := range levels {
			s.table.Levels[of].Add(i, l)
		}
	}
	return i
}

// AddRow adds a row of zeros and missing properties and returns its index.
func (s *Set) AddRow(kind Special, start, end int64) int {
	s.table.Special, s.table.Merged = append(s.table.Special, kind), append(s.table.Merged, OneRow)
	s.table.Start, s.table.End = append(s.table.Start, start), append(s.table.End, end)
	for p := range s.table.IDs {
		if !s.table.Unread.Properties[p] {
			s.table.IDs[p] = append(s.table.IDs[p], 0)
		}
	}
	for c := range s.table.Values {
		if !s.table.Unread.Columns[c] {
			s.table.Values[c] = append(s.table.Values[c], 0)
		}
	}
	return len(s.table.Special) - 1
}

// reserve makes room for n rows.
func (s *Set) reserve(n int) {
	s.table.Special, s.table.Merged = slices.Grow(s.table.Special, n), slices.Grow(s.table.Merged, n)
	s.table.Start, s.table.End = slices.Grow(s.table.Start, n), slices.Grow(s.table.End, n)
	for p := range s.table.IDs {
		s.table.IDs[p] = slices.Grow(s.table.IDs[p], n)
	}
	for c := range s.table.Values {
		if !s.table.Unread.Columns[c] {
			s.table.Values[c] = slices.Grow(s.table.Values[c], n)
		}
	}
}

// Like returns an empty set with s's header and dictionary.
func (s *Set) Like() *Set { return &Set{Header: s.Header, table: Table{Dict: s.table.Dict}} }

// Dict returns the dictionary of the set's ids.
func (s *Set) Dict() *Dict { return s.table.Dict }

// Len returns the number of rows.
func (s *Set) Len() int { return len(s.table.Special) }

// IDs returns the ids of a property, one for each row, or ErrUnread if it was not read. The slice must not be changed.
func (s *Set) IDs(p Property) ([]ID, error) {
	if s.table.Unread.Properties[p] || s.table.Deferred[p] != nil {
		return nil, s.notRead(p)
	}
	return s.table.IDs[p], nil
}

// Text returns a string property of a row, "" if it is missing. It panics if the property was not read.
func (s *Set) Text(p Property, row int) string { return s.table.Dict.Text(s.table.IDs[p][row]) }

// List returns the ids of a list property of a row, none if it is missing. It panics if the property was not read.
func (s *Set) List(p Property, row int) []ID { return s.table.Dict.List(s.table.IDs[p][row]) }

// Pairs returns a map property of a row, none if it is missing. It panics if the property was not read.
func (s *Set) Pairs(p Property, row int) []Pair { return s.table.Dict.Map(s.table.IDs[p][row]) }

// Column returns the values of a column, one for each row, or ErrUnread if it was not read. The slice must not be changed.
func (s *Set) Column(c Column) ([]float64, error) {
	if s.table.Unread.Columns[c] {
		return nil, s.notRead(c)
	}
	return s.table.Values[c], nil
}

// Value returns the value of a column in a row. It panics if the column was not read.
func (s *Set) Value(c Column, row int) float64 { return s.table.Values[c][row] }

// Special returns the kind of a row.
func (s *Set) Special(row int) Special { return s.table.Special[row] }

// Single reports whether a row is one container in one set. Only then are maxima meaningful.
func (s *Set) Single(row int) bool { return s.table.Merged[row] == OneRow }

// Several reports whether a row was merged from several containers. It may then have run for longer than its window.
func (s *Set) Several(row int) bool { return s.table.Merged[row] == SeveralInstances }

// Start returns when the row's first instance began to run inside the window.
func (s *Set) Start(row int) time.Time { return time.UnixMilli(s.table.Start[row]).UTC() }

// End returns when the row's last instance ended inside the window.
func (s *Set) End(row int) time.Time { return time.UnixMilli(s.table.End[row]).UTC() }

// Minutes returns the running minutes of a single instance, which add over sets, or end − start of a row that was merged from
// several (SEMANTICS §3).
func (s *Set) Minutes(row int) float64 {
	if s.table.Special[row] == Workload && !s.Several(row) {
		return s.Value(RunningSeconds, row) / 60
	}
	return float64(s.table.End[row]-s.table.Start[row]) / 60e3
}

// TotalCost returns the sum of all costs and adjustments of a row.
func (s *Set) TotalCost(row int) float64 {
	sum := 0.0
	for c := range s.table.Values {
		if Column(c).Money() {
			sum += s.Value(Column(c), row)
		}
	}
	return sum
}

// Name returns the row's key in an answer: the values of its aggregation keys, or cluster/node/namespace/pod/container. Idle
// rows of an unaggregated set are __idle__.
func (s *Set) Name(row int) string {
	if s.table.Names != nil {
		return s.table.Names[row]
	}
	if s.table.Special[row] == Idle {
		return IdleName
	}
	name := appendCluster(make([]byte, 0, 96), s.Text(Cluster, row))
	for _, p := range [...]Property{NodeName, Namespace, Pod, Container} {
		name = append(append(name, '/'), s.Text(p, row)...)
	}
	return string(name)
}

// Residual is money that does not add up in a cluster: allocated while no known node ran, or more than a node has. It is
// exported, never hidden.
type Residual struct {
	Cluster  string
	Resource Resource
	Cost     float64 // Σ allocations + idle − Σ assets
	// Overcommit is the cost that was not charged because the allocations on a node exceeded its capacity.
	Overcommit float64
}

// Node is a node asset over its life inside the window.
type Node struct {
	Cluster, Name, ProviderID  string
	InstanceType, Region, Zone string
	Arch, Pool                 string
	Spot                       bool
	Labels                     map[string]string
	Created                    time.Time // by Kubernetes; zero where unknown
	Start, End                 time.Time
	RunningSeconds             float64
	Hours                      [NumResources]float64 // ∫ capacity dt, in amount × hours
	Cost                       [NumResources]float64 // ∫ capacity × price dt
	Idle                       [NumResources]float64 // Cost without what was allocated
	PriceSource                [NumResources]string  // where the price came from: the metric, or the row of the price sheet
	Discount                   float64               // of CPU and RAM, 0 to 1; Cost is after the discount
	Listed                     [NumResources]float64 // cost of CPU and RAM before discounts that changed; 0 where Discount was constant
	Adjustment                 [NumResources]float64 // what reconciliation with the bill adds to Cost
	IdleAdjustment             [NumResources]float64 // the part of Adjustment that belongs to Idle
	Overhead                   [NumResources]float64 // part of the capacity that Kubernetes cannot allocate, 0 to 1
	CPUBreakdown, RAMBreakdown Breakdown
	Charged                    Charged // what bills say of it; the zero value where they say nothing
}

// Charged is what bills say of commitments, such as savings plans and reservations, that a node used.
type Charged struct {
	Listed    float64 // the list cost of the time that lines charge with a known amortized cost
	Committed float64 // what they charge for that time under commitments, amortized: it is due without the node, too
}

// add adds what bills say of another time.
func (c *Charged) add(o Charged) {
	c.Listed += o.Listed
	c.Committed += o.Committed
}

// TotalCost returns the cost of the node.
func (n *Node) TotalCost() float64 { return n.Cost[CPU] + n.Cost[RAM] + n.Cost[GPU] }

// SortWarnings sorts warnings and removes duplicates.
func SortWarnings(w []string) []string {
	slices.Sort(w)
	return slices.Compact(w)
}
