package allocation

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// OtherName stands in labels for all subjects that a series cap folded into one.
const OtherName = "__other__"

// Subject is what families describe, and what is switched as one: namespaces, controllers, nodes. The first label of every
// subject is the cluster.
type Subject struct {
	Name    string // of the collector: --collector.<name>
	Help    string // what its families tell, one clause for the flag's help
	Always  bool   // served whatever is switched off
	Default bool   // served unless switched off
	Labels  []string
	totals  func(*Set) []*subjectTotal
}

// FamilyType is how the values of a family are to be read.
type FamilyType uint8

// The types of families.
const (
	GaugeFamily   FamilyType = iota
	CounterFamily            // grows until it is reset
)

// Family is a metric: the same series on /metrics and for any past time through PromQL.
type Family struct {
	Subject string // Name of the Subject it describes
	Name    string
	Help    string
	Type    FamilyType
	Labels  []string // the subject's and resource

	value familyValue
}

// familyValue is a family's value for one resource of one subject, and whether it has one. Hours is the length of the set.
type familyValue func(t *subjectTotal, r familyResource, hours float64) (value float64, ok bool)

var subjects = []Subject{
	{
		Name: "namespace", Help: "cost and efficiency of namespaces", Default: true,
		Labels: []string{"cluster", "namespace"}, totals: totalsBy(Cluster, Namespace),
	},
	{
		Name: "controller", Help: "cost of controllers (deployments, daemonsets, cronjobs, …)", Default: true,
		Labels: []string{"cluster", "namespace", "controller_kind", "controller"},
		totals: totalsBy(Cluster, Namespace, ControllerKind, Controller),
	},
	{
		Name: "idle", Help: "cost of what nodes have and no workload was allocated", Default: true,
		Labels: []string{"cluster", "node"}, totals: idleTotals,
	},
	{
		Name: "node", Help: "cost of nodes", Default: true,
		Labels: []string{"cluster", "node", "instance_type", "region", "zone", "provider_id", "spot"}, totals: nodeTotals,
	},
	{
		Name: "reconciliation", Help: "what does not add up", Always: true,
		Labels: []string{"cluster"}, totals: residualTotals,
	},
}

// families is the table of metrics: a new metric is a row. The gauges are of one closed hour, the …_cost_total counters of
// those since the month began.
var families = makeFamilies([]Family{
	{
		Subject: "namespace", Name: "promcost_namespace_hourly_cost", value: hourlyCost,
		Help: "List cost per hour of the namespace's workloads in the last closed hour, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "namespace", Name: "promcost_namespace_cost_total", Type: CounterFamily, value: totalCost,
		Help: "List cost of the namespace's workloads in the closed hours of this month, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "namespace", Name: "promcost_namespace_efficiency_ratio", value: efficiencyRatio,
		Help: "What the namespace's workloads used of what they requested in the last closed hour, by resource; 1 if nothing was requested and something used.",
	},
	{
		Subject: "controller", Name: "promcost_controller_hourly_cost", value: hourlyCost,
		Help: "List cost per hour of the controller's workloads in the last closed hour, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "controller", Name: "promcost_controller_cost_total", Type: CounterFamily, value: totalCost,
		Help: "List cost of the controller's workloads in the closed hours of this month, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "idle", Name: "promcost_idle_hourly_cost", value: hourlyCost,
		Help: "List cost per hour of what the node has and no workload was allocated in the last closed hour, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "idle", Name: "promcost_idle_cost_total", Type: CounterFamily, value: totalCost,
		Help: "List cost of what the node has and no workload was allocated in the closed hours of this month, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "node", Name: "promcost_node_hourly_cost", value: hourlyCost,
		Help: "List cost per hour of the node in the last closed hour, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "node", Name: "promcost_node_cost_total", Type: CounterFamily, value: totalCost,
		Help: "List cost of the node in the closed hours of this month, by resource, in the currency of promcost_currency_info.",
	},
	{
		Subject: "reconciliation", Name: "promcost_reconciliation_residual", value: sumOf(residualSum),
		Help: "Cost of allocations and idle less the cost of assets in the last closed hour, in the currency of promcost_currency_info; 0 if everything adds up.",
	},
	{
		Subject: "reconciliation", Name: "promcost_overcommit_cost", value: sumOf(overcommitSum),
		Help: "Cost not charged in the last closed hour because allocations on a node exceeded its capacity for an instant, in the currency of promcost_currency_info.",
	},
})

// makeFamilies completes rows with the labels of their subject.
func makeFamilies(rows []Family) []Family {
	for i := range rows {
		for _, s := range subjects {
			if s.Name == rows[i].Subject {
				rows[i].Labels = append(slices.Clone(s.Labels), "resource")
			}
		}
	}
	return rows
}

// Subjects are all subjects, in the order of the reference documentation.
func Subjects() []Subject { return slices.Clone(subjects) }

// Families are the families of the subject, in the order of the reference documentation.
func (s *Subject) Families() []Family {
	var own []Family
	for _, f := range families {
		if f.Subject == s.Name {
			own = append(own, f)
		}
	}
	return own
}

// MaxSubjectSeries is the most series that a family has of one subject: one a resource.
const MaxSubjectSeries = numFamilyResources

// familyResource is a value of the label resource. There is none for the total: sums are the query's business.
type familyResource uint8

// numFamilyResources is the number of values of the label resource. The first ones are those of Resource.
const numFamilyResources = 8

// familyResources are the values of the label resource and the columns that each sums: list prices, as adjustments come
// later and a gauge must not disagree with its counter.
var familyResources = [numFamilyResources]struct {
	name string
	cost []Column
}{
	{"cpu", []Column{Cost.Of(CPU)}},
	{"ram", []Column{Cost.Of(RAM)}},
	{"gpu", []Column{Cost.Of(GPU)}},
	{"pv", []Column{PVCost}},
	{"network", []Column{NetworkCrossZoneCost, NetworkCrossRegionCost, NetworkInternetCost}},
	{"load_balancer", []Column{LoadBalancerCost}},
	{"shared", []Column{SharedCost}},
	{"external", []Column{ExternalCost}},
}

// subjectSum is a sum that a subject has for each resource.
type subjectSum uint8

const (
	costSum subjectSum = iota
	usageSum
	requestSum
	residualSum
	overcommitSum
	numSubjectSums
)

// subjectTotal is one subject and its sums over a set.
type subjectTotal struct {
	labels []string // values of the Subject's labels
	has    [numFamilyResources]bool
	sums   [numSubjectSums][numFamilyResources]float64
}

// add merges o's sums into t.
func (t *subjectTotal) add(o *subjectTotal) {
	for r, has := range o.has {
		t.has[r] = t.has[r] || has
	}
	for s := range t.sums {
		for r := range t.sums[s] {
			t.sums[s][r] += o.sums[s][r]
		}
	}
}

func hourlyCost(t *subjectTotal, r familyResource, hours float64) (float64, bool) {
	return t.sums[costSum][r] / hours, t.has[r]
}

func totalCost(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	return t.sums[costSum][r], t.has[r]
}

// efficiencyRatio is the efficiency of SEMANTICS §4 for what is both requested and used. A GPU whose usage nobody measured
// has none, which is not the same as an efficiency of 0.
func efficiencyRatio(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	if r >= familyResource(NumResources) || !t.has[r] {
		return 0, false
	}
	request, usage := t.sums[requestSum][r], t.sums[usageSum][r]
	switch {
	case r == familyResource(GPU) && usage == 0:
		return 0, false
	case request > 0:
		return usage / request, true
	case usage > 0 && t.sums[costSum][r] > 0:
		return 1, true
	default:
		return 0, true
	}
}

// sumOf is the value of a family that is a plain sum of the set.
func sumOf(s subjectSum) familyValue {
	return func(t *subjectTotal, r familyResource, _ float64) (float64, bool) { return t.sums[s][r], t.has[r] }
}

// Totals are the sums of all subjects of one kind over a set, sorted by labels, each label set once. They are not changed
// once made.
type Totals struct {
	hours float64
	rows  []*subjectTotal
}

// Totals sums the set by subject. The set must be a base set: neither aggregated, filtered nor shared; its length is what
// hourly costs are divided by.
func (s *Subject) Totals(set *Set) *Totals {
	hours := set.Window.Duration().Hours()
	if hours <= 0 {
		return &Totals{hours: 1}
	}
	return &Totals{hours: hours, rows: mergeTotals(s.totals(set))}
}

// Len is the number of subjects.
func (t *Totals) Len() int { return len(t.rows) }

// Labels are the values of the Subject's labels for the subject i. The slice must not be changed.
func (t *Totals) Labels(i int) []string { return t.rows[i].labels }

// Cost is the cost of the subject i over the set, all resources together: what its rank under a cap depends on.
func (t *Totals) Cost(i int) float64 {
	sum := 0.0
	for _, c := range t.rows[i].sums[costSum] {
		sum += c
	}
	return sum
}

// Fold sums the subjects that keep does not hold into subjects all of whose labels but the first fixed are OtherName. No
// sum is lost: ratios of what was folded are made from its sums.
func (t *Totals) Fold(keep func(i int) bool, fixed int) *Totals {
	rows := make([]*subjectTotal, len(t.rows))
	for i := range rows {
		row := *t.rows[i]
		if !keep(i) {
			row.labels = slices.Clone(row.labels)
			for l := fixed; l < len(row.labels); l++ {
				row.labels[l] = OtherName
			}
		}
		rows[i] = &row
	}
	return &Totals{hours: t.hours, rows: mergeTotals(rows)}
}

// Emit calls emit for every series of the family: the subject's index, the values of the family's Labels, which are valid
// during the call only, and the value. It returns how many values were left out because they are not finite.
func (f *Family) Emit(t *Totals, emit func(subject int, labels []string, value float64)) (notFinite int) {
	labels := make([]string, 0, len(f.Labels))
	for i, row := range t.rows {
		labels = append(labels[:0], row.labels...)
		for r := range familyResources {
			value, ok := f.value(row, familyResource(r), t.hours)
			switch {
			case !ok:
			case math.IsNaN(value) || math.IsInf(value, 0):
				notFinite++
			default:
				emit(i, append(labels, familyResources[r].name), value)
			}
		}
	}
	return notFinite
}

// mergeTotals sorts rows by their labels and sums those that have the same, in the order given. The rows are its own.
func mergeTotals(rows []*subjectTotal) []*subjectTotal {
	slices.SortStableFunc(rows, func(a, b *subjectTotal) int { return slices.Compare(a.labels, b.labels) })
	merged := rows[:0]
	for _, row := range rows {
		if last := len(merged) - 1; last >= 0 && slices.Equal(merged[last].labels, row.labels) {
			merged[last].add(row)
		} else {
			merged = append(merged, row)
		}
	}
	return merged
}

// totalsBy sums the allocations of a set by properties. Idle rows are not theirs: idle is a subject of its own.
func totalsBy(by ...Property) func(*Set) []*subjectTotal {
	return func(s *Set) []*subjectTotal {
		has := presentResources(s)
		index := map[[4]ID]int{}
		var rows []*subjectTotal
		for row := range s.Len() {
			if s.Special(row) == Idle {
				continue
			}
			var key [4]ID
			for k, p := range by {
				key[k] = s.IDs(p)[row]
			}
			i, ok := index[key]
			if !ok {
				i = len(rows)
				index[key] = i
				rows = append(rows, &subjectTotal{labels: propertyLabels(s, row, by), has: has})
			}
			rows[i].addRow(s, row)
		}
		return rows
	}
}

// addRow adds an allocation's values to t.
func (t *subjectTotal) addRow(s *Set, row int) {
	for r := range familyResources {
		for _, c := range familyResources[r].cost {
			t.sums[costSum][r] += s.Value(c, row)
		}
	}
	for r := range NumResources {
		t.sums[usageSum][r] += s.Value(UsageHours.Of(r), row)
		t.sums[requestSum][r] += s.Value(RequestHours.Of(r), row)
	}
}

// presentResources are the resources that allocations of the set have series of. CPU and RAM always are; another one only
// where some allocation of the set has it, as a zero would claim that it was looked for: volumes, network and load
// balancers are columns of their own, but no input fills them yet.
func presentResources(s *Set) (has [numFamilyResources]bool) {
	nonZero := func(c Column) bool { return slices.ContainsFunc(s.Column(c), func(v float64) bool { return v != 0 }) }
	for r := range familyResources {
		has[r] = slices.ContainsFunc(familyResources[r].cost, nonZero)
	}
	has[CPU], has[RAM] = true, true
	has[GPU] = has[GPU] || nonZero(Hours.Of(GPU))
	return has
}

// propertyLabels are the values of properties of a row. What a row lacks is __unallocated__, as in every answer.
func propertyLabels(s *Set, row int, by []Property) []string {
	labels := make([]string, len(by))
	for i, p := range by {
		missing := UnallocatedName
		if p != Cluster && s.Special(row) == Unmounted {
			missing = UnmountedName
		}
		labels[i] = validLabel(cmp.Or(s.Text(p, row), missing))
	}
	return labels
}

// validLabel replaces what is not UTF-8, which would make a whole scrape fail.
func validLabel(v string) string { return strings.ToValidUTF8(v, "\uFFFD") }

// ofNode is whether the node has a resource: a node without GPUs has no series of them.
func ofNode(n *Node) (has [numFamilyResources]bool) {
	for r := range NumResources {
		has[r] = n.Hours[r] != 0 || n.Cost[r] != 0
	}
	return has
}

func idleTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		labels := []string{validLabel(cmp.Or(n.Cluster, UnallocatedName)), validLabel(n.Name)}
		rows[i] = &subjectTotal{labels: labels, has: ofNode(n)}
		copy(rows[i].sums[costSum][:], n.Idle[:])
	}
	return rows
}

func nodeTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		spot := "false"
		if n.Spot {
			spot = "true"
		}
		labels := []string{cmp.Or(n.Cluster, UnallocatedName), n.Name, n.InstanceType, n.Region, n.Zone, n.ProviderID, spot}
		for l := range labels {
			labels[l] = validLabel(labels[l])
		}
		rows[i] = &subjectTotal{labels: labels, has: ofNode(n)}
		copy(rows[i].sums[costSum][:], n.Cost[:])
	}
	return rows
}

// residualTotals has every cluster that has nodes, so that what adds up says 0 rather than nothing.
func residualTotals(s *Set) []*subjectTotal {
	rows := make([]*subjectTotal, 0, len(s.Nodes)+len(s.Residuals))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		rows = append(rows, &subjectTotal{labels: []string{validLabel(cmp.Or(n.Cluster, UnallocatedName))}, has: ofNode(n)})
	}
	for _, residual := range s.Residuals {
		row := &subjectTotal{labels: []string{validLabel(cmp.Or(residual.Cluster, UnallocatedName))}}
		row.has[residual.Resource] = true
		row.sums[residualSum][residual.Resource] = residual.Cost
		row.sums[overcommitSum][residual.Resource] = residual.Overcommit
		rows = append(rows, row)
	}
	return rows
}
