package allocation

import "slices"

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
