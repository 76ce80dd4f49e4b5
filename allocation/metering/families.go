package metering

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// OtherName stands in labels for all subjects that a series cap folded into one.
const OtherName = "__other__"

// Subject is what families describe, and what is switched as one: namespaces, controllers, nodes. The first label of those
// that are in sets, which budgets are not, is the cluster.
type Subject struct {
	Name    string // mostly of its collector, too: --collector.<name>
	Help    string // what the families of the collector tell, one clause for the flag's help; of its first subject only
	Always  bool   // served whatever is switched off
	Default bool   // served unless switched off
	Labels  []string

	collector string // that switches it, where it is not of its name
	prefix    string // of its families' names, after promcost_
	of        string // what its families are about, in their help
	plain     bool   // its families have no label resource
	sparse    bool   // resources that one of it does not have are no series of it, though others have them
	families  []familyTraits
	by        []allocation.Property // that tell rows apart
	names     []labelName           // that tell rows apart, one after the other: of the subject label
	volumes   bool                  // of rows tell it apart, too
	drops     bool                  // what is too much rather than sum it
	costless  bool                  // its totals have amounts or prices and no costs
	apart     int                   // labels besides the cluster that are not summed over where there is too much
	totals    func(*Subject, *allocation.Set) []subjectTotal
}

// Type is how the values of a family are to be read.
type Type uint8

// The types of families.
const (
	Gauge   Type = iota
	Counter      // grows until it is reset
)

// Family is a metric: the same series on /metrics and for any past time through PromQL.
type Family struct {
	Subject string // Name of the Subject it describes
	Name    string
	Help    string
	Type    Type
	Labels  []string // the subject's and, unless it is one of a whole, resource

	traits *familyTraits
}

// familyValue is a family's value for one resource of one subject, and whether it has one. Hours is the length of the set.
type familyValue func(t *subjectTotal, r familyResource, hours float64) (value float64, ok bool)

// familyTraits are a row of the tables of families, those of one subject or of several.
type familyTraits struct {
	name  string // of the family, * being the prefix of its subject
	help  string // * being what it is about, and # how its resources are told apart
	kind  Type
	value familyValue
	// needs are read besides what costs are made of. A family that needs some has only the resources that nodes sell.
	needs []allocation.Measure
}

// The gauges are of one closed hour, the …_cost_total counters of those since the month began.
var (
	assetFamilies = []familyTraits{
		{
			name: "promcost_*_hourly_cost", value: hourlyCost,
			help: "List cost per hour of * in the last closed hour#, in the currency of promcost_currency_info.",
		},
		{
			name: "promcost_*_cost_total", kind: Counter, value: totalCost,
			help: "List cost of * in the closed hours of this month#, in the currency of promcost_currency_info.",
		},
	}
	workloadFamilies = append(slices.Clip(assetFamilies), familyTraits{
		name: "promcost_*_efficiency_ratio", value: efficiencyRatio, needs: []allocation.Measure{allocation.UsageHours, allocation.RequestHours, allocation.UnknownRequestHours},
		help: "What * used of what they requested in the last closed hour#; 1 if nothing was requested and something used. There is none where nothing is known of usage.",
	})
	residualFamilies = []familyTraits{
		{
			name: "promcost_reconciliation_residual", value: totalCost,
			help: "Cost of allocations and idle less the cost of assets in the last closed hour, in the currency of promcost_currency_info; 0 if everything adds up.",
		},
		{
			name: "promcost_overcommit_cost", value: func(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
				if r >= familyResource(allocation.NumResources) {
					return 0, false
				}
				return t.figures[r], t.has.holds(r)
			},
			help: "Cost not charged in the last closed hour because allocations on a node exceeded its capacity for an instant, in the currency of promcost_currency_info.",
		},
	}
	budgetFamilies = []familyTraits{
		{
			name: "promcost_budget_limit", value: figure(budgetLimit),
			help: "What the budget of the config file allows for a period, in the currency of promcost_currency_info.",
		},
		{
			name: "promcost_budget_spent", value: figure(budgetSpent),
			help: "List cost of what the budget is for in the closed hours of its current period, in the currency of promcost_currency_info: with idle and shared costs as the config file shares them, and all idle where the budget has no filter.",
		},
		{
			name: "promcost_budget_forecast", value: figure(budgetForecast),
			help: "What will be spent of the budget when its period ends, in the currency of promcost_currency_info, if every hour to come costs what that hour of the week did last week; or, as long as last week is not known, what those of the period did on average.",
		},
	}
)

// subjects is the table of what metrics are about.
var subjects = append([]Subject{
	{
		Name: "namespace", Help: "cost and efficiency of namespaces", Default: true,
		Labels: []string{"cluster", "namespace"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace},
		prefix: "namespace", of: "the namespace's workloads", families: workloadFamilies, totals: propertyTotals,
	},
	{
		Name: "controller", Help: "cost and efficiency of controllers (deployments, daemonsets, cronjobs, …)", Default: true,
		Labels: []string{"cluster", "namespace", "controller_kind", "controller"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller},
		prefix: "controller", of: "the controller's workloads", families: workloadFamilies, totals: propertyTotals,
	},
	{
		Name: "pod", Help: "cost and efficiency of pods: many series",
		Labels: []string{"cluster", "namespace", "controller_kind", "controller", "node", "pod"},
		by:     []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.NodeName, allocation.Pod},
		prefix: "pod", of: "the pod's containers", families: workloadFamilies, sparse: true, totals: propertyTotals,
	},
	{
		Name: "container", Help: "cost and efficiency of containers: very many series",
		Labels: []string{"cluster", "namespace", "controller_kind", "controller", "node", "pod", "container"},
		by:     []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.NodeName, allocation.Pod, allocation.Container},
		prefix: "container", of: "the containers of that name", families: workloadFamilies, sparse: true, totals: propertyTotals,
	},
	{
		Name: "label", Help: "cost and efficiency by the values of the labels that --collector.label.names names",
		Labels: []string{"cluster", "label", "value"}, by: []allocation.Property{allocation.Cluster},
		apart: 1, prefix: "label", of: "workloads with that value of the label", families: workloadFamilies, sparse: true, totals: labelTotals,
	},
	{
		Name: "idle", Help: "cost of what nodes have and no workload was allocated", Default: true,
		Labels: []string{"cluster", "node"},
		prefix: "idle", of: "what the node has and no workload was allocated", families: assetFamilies, totals: idleTotals,
	},
	{
		Name: "node", Help: "cost of nodes", Default: true,
		Labels: []string{"cluster", "node", "instance_type", "region", "zone", "provider_id", "spot"},
		prefix: "node", of: "the node", families: assetFamilies, totals: nodeTotals,
	},
	{
		Name: "volume", Help: "cost of persistent volumes", Default: true,
		Labels: []string{"cluster", "persistentvolume", "storageclass", "namespace", "persistentvolumeclaim"},
		prefix: "persistentvolume", of: "the volume", families: assetFamilies, plain: true, totals: volumeTotals,
	},
	{
		Name: "loadbalancer", Help: "cost of load balancers", Default: true,
		Labels: []string{"cluster", "namespace", "service", "ingress_ip"},
		prefix: "loadbalancer", of: "the service's load balancer", families: assetFamilies, plain: true, totals: balancerTotals,
	},
	{
		Name: "network", Help: "cost of traffic to other zones, other regions and the internet", Default: true,
		Labels: []string{"cluster", "traffic"},
		prefix: "network", of: "the cluster's traffic, by where it goes", families: assetFamilies, totals: networkTotals,
	},
	{
		Name: "attacheddisk", Help: "cost of the disks attached to nodes", Default: true,
		Labels: []string{"cluster", "node"},
		prefix: "attached_disk", of: "the node's own disk", families: assetFamilies, plain: true, totals: attachedDiskTotals,
	},
	{
		Name: "clustermanagement", Help: "cost of running clusters' control planes", Default: true,
		Labels: []string{"cluster"},
		prefix: "cluster_management", of: "running the cluster's control plane", families: assetFamilies, plain: true, totals: managementTotals,
	},
	{
		Name: "budget", Help: "what is spent of the budgets of the config file, and what they will come to", Default: true,
		Labels: []string{"budget", "period"}, families: budgetFamilies, plain: true, totals: budgetTotals,
	},
	{
		Name: "reconciliation", Help: "what does not add up", Always: true,
		Labels: []string{"cluster"}, families: residualFamilies, totals: residualTotals,
	},
}, openCostSubjects...)

// Subjects are all subjects, in the order of the reference documentation. That of labels has none to describe: those of a
// Metering have what is configured.
func Subjects() []Subject { return slices.Clone(subjects) }

// Families are the families of the subject, in the order of the reference documentation.
func (s *Subject) Families() []Family {
	families := make([]Family, len(s.families))
	for i := range s.families {
		traits := &s.families[i]
		labels, by := slices.Clone(s.Labels), ""
		if !s.plain {
			labels, by = append(labels, "resource"), ", by resource"
		}
		families[i] = Family{
			Subject: s.Name, Name: strings.Replace(traits.name, "*", s.prefix, 1), Type: traits.kind, Labels: labels, traits: traits,
			Help: strings.NewReplacer("*", s.of, "#", by).Replace(traits.help),
		}
	}
	return families
}

// Projection is what the families need of the rows of a set, all of the subject where none is given: of kept sets, no more
// has to be read. What is made of assets needs nothing.
func (s *Subject) Projection(families ...Family) *allocation.Projection {
	if len(families) == 0 {
		families = s.Families()
	}
	p := &allocation.Projection{Properties: slices.Clone(s.by), Volumes: s.volumes}
	for _, name := range s.names {
		for i := range name.keys {
			p.Properties = append(p.Properties, name.keys[i].Needs().Properties...)
		}
	}
	slices.Sort(p.Properties)
	p.Properties = slices.Compact(p.Properties)
	if len(s.by) == 0 {
		return p
	}
	if !s.plain {
		p.Columns = append(p.Columns, allocation.Hours.Of(allocation.GPU))
		for r := range familyResources {
			p.Columns = append(p.Columns, familyResources[r].cost...)
		}
	}
	for _, f := range families {
		for _, m := range f.traits.needs {
			for r := range allocation.NumResources {
				p.Columns = append(p.Columns, m.Of(r))
			}
		}
	}
	slices.Sort(p.Columns)
	p.Columns = slices.Compact(p.Columns)
	return p
}

// Collector is the name of the collector that switches the subject.
func (s *Subject) Collector() string { return cmp.Or(s.collector, s.Name) }

// unsummed is how many of the first labels stay where what is too much is summed.
func (s *Subject) unsummed() int { return 1 + s.apart }

// counts reports whether the subject has counters.
func (s *Subject) counts() bool {
	return slices.ContainsFunc(s.families, func(f familyTraits) bool { return f.kind == Counter })
}

// width is the most series that one of the subject can have.
func (s *Subject) width() int { return s.weight(allResources) }

// weight is the most series that one of the subject can have that has these resources.
func (s *Subject) weight(has resourceSet) int {
	if s.plain {
		return len(s.families)
	}
	n := 0
	for i := range s.families {
		if len(s.families[i].needs) > 0 {
			n += (has & soldResources).len()
		} else {
			n += has.len()
		}
	}
	return n
}

// familyResource is a value of the label resource. There is none for the total: sums are the query's business.
type familyResource uint8

// numFamilyResources is the number of values of the label resource. The first ones are those of Resource.
const numFamilyResources = 6

// networkResource is the resource that traffic is.
const networkResource = familyResource(allocation.NumResources) + 1

// familyResources are the values of the label resource and the columns that each sums: list prices, as adjustments come
// later and a gauge must not disagree with its counter. Shared and external costs are given to rows by a question, so there
// are none of an hour.
var familyResources = [numFamilyResources]struct {
	name string
	cost []allocation.Column
}{
	{"cpu", allocation.SharedCPU.ListColumns()},
	{"ram", allocation.SharedRAM.ListColumns()},
	{"gpu", allocation.SharedGPU.ListColumns()},
	{"pv", allocation.SharedPV.ListColumns()},
	{"network", allocation.SharedNetwork.ListColumns()},
	{"load_balancer", allocation.SharedLoadBalancer.ListColumns()},
}

func hourlyCost(t *subjectTotal, r familyResource, hours float64) (float64, bool) {
	return t.cost[r] / hours, t.has.holds(r)
}

func totalCost(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	return t.cost[r], t.has.holds(r)
}

// figure is a figure as it is.
func figure(i familyResource) familyValue {
	return func(t *subjectTotal, _ familyResource, _ float64) (float64, bool) {
		return t.figures[i], t.has.holds(i)
	}
}

// efficiencyRatio is the efficiency of SEMANTICS §4 for what is both requested and used, over requests whose usage is known.
// Where none is, there is no efficiency, which is not the same as one of 0.
func efficiencyRatio(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	if r >= familyResource(allocation.NumResources) || !t.has.holds(r) {
		return 0, false
	}
	request, usage := fields.Measured(t.asked[r], t.unknown[r]), t.used[r]
	switch {
	case request > 0:
		return usage / request, true
	case usage > 0 && t.cost[r] > 0:
		return 1, true
	default:
		return 0, usage > 0
	}
}
