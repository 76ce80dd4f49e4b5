package metering

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/passes"
)

// Subject is a kind of thing that families describe, such as namespaces, controllers or nodes. The first label is the cluster,
// except for budgets, which are not in sets.
type Subject struct {
	Name    string // mostly also the name of its collector: --collector.<name>
	Help    string // what the families of the collector show, one clause for the flag's help; only set for its first subject
	Always  bool   // cannot be switched off
	Default bool   // served unless switched off
	// Billed says that costs are by bill: sets must have the adjustments of bills. Only PromQL has them, because bills never charge
	// the last closed hour.
	Billed bool
	Labels []string

	collector      string // the collector that switches it, if that has another name
	prefix         string // of its families' names, after promcost_
	of             string // what its families are about, in their help
	noResource     bool   // its families have no label resource
	sparse         bool   // resources that one of it does not have are no series of it, though others have them
	families       []familyTraits
	by             []allocation.Property // that tell rows apart
	names          []labelName           // that tell rows apart, one after the other: of the subject label
	volumes        bool                  // of rows tell it apart, too
	drops          bool                  // what is too much rather than sum it
	expects        bool                  // its families take more than one set, see Past
	costless       bool                  // its totals have amounts or prices and no costs
	ofRows         bool                  // its totals are of assets, and depend on rows: the adjustment of idle is what rows leave
	unsummedLabels int                   // labels besides the cluster that are not summed over where there is too much
	clusterLabel   ClusterLabel          // when its series have the label cluster; empty is always
	totals         func(*Subject, *allocation.Set) []subjectTotal
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

// familyValue returns a family's value for one resource of one subject, and whether there is one. hours is the length of the set.
type familyValue func(t *subjectTotal, r familyResource, hours float64) (value float64, ok bool)

// familyTraits is a row in a table of families.
type familyTraits struct {
	name  string // of the family; * stands for the prefix of its subject
	help  string // * stands for what it is about, and # for ", by resource" if it has that label
	kind  Type
	value familyValue
	// needs are the measures that are read besides costs. A family with needs has only the resources that nodes have.
	needs []allocation.Measure
}

// The gauges are about one closed hour, the …_cost_total counters about all closed hours of the month.
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
	billedFamilies = []familyTraits{{
		name: "promcost_*_billed_hourly_cost", value: hourlyCost,
		help: "Billed cost per hour of *#, in the currency of promcost_currency_info: at list price where no bill charges it, and only up to where the final charges of bills end. Only PromQL has it, not /metrics.",
	}}
	expectedFamilies = []familyTraits{
		{
			name: "promcost_*_expected_cost", value: judgement(expectedCost),
			help: "What * should have cost today up to the end of the last closed hour, in the currency of promcost_currency_info: the median of the same hours of that weekday in four weeks, or else of the last seven days. There is none of fewer than four days. Medians do not add, and growth is not extrapolated.",
		},
		{
			name: "promcost_*_unusual_score", value: judgement(unusualScore),
			help: "How many times further than usual the list cost of * today is above the expected one, or below where negative: from 4 or -4 on it is unusual.",
		},
	}
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
	recommendedFamilies = []familyTraits{{
		name: "promcost_recommended_request",
		help: "What containers should request of CPU, in cores, and of memory, in bytes, by the profile balanced over the last 14 days, renewed every 6 hours. There is none where a HorizontalPodAutoscaler follows the resource, or too little is known. Of the time before the last two hours, PromQL has none.",
		value: func(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
			if r > familyResource(allocation.RAM) {
				return 0, false
			}
			return t.figures[r], t.has.holds(r)
		},
	}}
	budgetFamilies = []familyTraits{
		{
			name: "promcost_budget_limit", value: figure(budgetLimit),
			help: "What the budget of the config file allows for a period, in the currency of promcost_currency_info.",
		},
		{
			name: "promcost_budget_spent", value: figure(budgetSpent),
			help: "Cost of what the budget is for in the closed hours of its current period, in the currency of promcost_currency_info: with idle and shared costs as the config file shares them, and all idle where the budget has no filter. It is at list price, or by bill where the budget has cost: billed.",
		},
		{
			name: "promcost_budget_forecast", value: figure(budgetForecast),
			help: "What will be spent of the budget when its period ends, in the currency of promcost_currency_info, if every hour to come costs what that hour of the week did last week; or, as long as last week is not known, what those of the period did on average.",
		},
		{
			name: "promcost_budget_billed_until_timestamp_seconds", value: figure(budgetBilledUntil),
			help: "Until when the spending of a budget with cost: billed is by bill, in Unix seconds. Later hours count as the last billed days let one estimate. Other budgets have none.",
		},
	}
)

// charged is the table of subjects that have a cost per hour, at list prices; billed makes those by bill of them.
var charged = []Subject{
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
		unsummedLabels: 1, prefix: "label", of: "workloads with that value of the label", families: workloadFamilies, sparse: true, totals: labelTotals,
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
		prefix: "persistentvolume", of: "the volume", families: assetFamilies, noResource: true, totals: volumeTotals,
	},
	{
		Name: "loadbalancer", Help: "cost of load balancers", Default: true,
		Labels: []string{"cluster", "namespace", "service", "ingress_ip"},
		prefix: "loadbalancer", of: "the service's load balancer", families: assetFamilies, noResource: true, totals: balancerTotals,
	},
	{
		Name: "network", Help: "cost of traffic to other zones, other regions and the internet", Default: true,
		Labels: []string{"cluster", "traffic"},
		prefix: "network", of: "the cluster's traffic, by where it goes", families: assetFamilies, totals: networkTotals,
	},
	{
		Name: "attacheddisk", Help: "cost of the disks attached to nodes", Default: true,
		Labels: []string{"cluster", "node"},
		prefix: "attached_disk", of: "the node's own disk", families: assetFamilies, noResource: true, totals: attachedDiskTotals,
	},
	{
		Name: "clustermanagement", Help: "cost of running clusters' control planes", Default: true,
		Labels: []string{"cluster"},
		prefix: "cluster_management", of: "running the cluster's control plane", families: assetFamilies, noResource: true, totals: managementTotals,
	},
}

// subjects is the table of all subjects.
var subjects = slices.Concat(charged, []Subject{
	{
		Name: "budget", Help: "what is spent of the budgets of the config file, and what they will come to", Default: true,
		Labels: []string{"budget", "period"}, families: budgetFamilies, noResource: true, totals: budgetTotals,
	},
	{
		Name: "expected namespace", collector: "expected", Help: "what namespaces and controllers should cost by their last four weeks, and how unusual their cost is", Default: true,
		Labels: []string{"cluster", "namespace"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace},
		prefix: "namespace", of: "the namespace's workloads", families: expectedFamilies, noResource: true, expects: true, drops: true, totals: propertyTotals,
	},
	{
		Name: "expected controller", collector: "expected", Default: true,
		Labels: []string{"cluster", "namespace", "controller_kind", "controller"}, by: []allocation.Property{allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller},
		prefix: "controller", of: "the controller's workloads", families: expectedFamilies, noResource: true, expects: true, drops: true, totals: propertyTotals,
	},
	{
		Name: RecommendedName, Help: "what containers should request, by the last 14 days of the history",
		Labels: []string{"cluster", "namespace", "controller_kind", "controller", "container"}, families: recommendedFamilies, drops: true, totals: recommendedTotals,
	},
	{
		Name: "reconciliation", Help: "what does not add up", Always: true,
		Labels: []string{"cluster"}, families: residualFamilies, totals: residualTotals,
	},
}, billed(charged), openCostSubjects)

// billed returns subjects of the same things that cost what bills charge. Of traffic, bills do not say where it goes.
func billed(list []Subject) []Subject {
	var all []Subject
	for _, s := range list {
		if s.Name == "network" {
			continue
		}
		s.Name, s.Help, s.collector, s.Default, s.Billed, s.families = "billed "+s.Name, "", s.Name, false, true, billedFamilies
		s.ofRows = s.prefix == "idle"
		all = append(all, s)
	}
	return all
}

// Subjects returns all subjects, in the order of the reference documentation. Here the subject label has no labels: Metering.Subjects
// has it with the configured ones.
func Subjects() []Subject { return slices.Clone(subjects) }

// Families returns the families of the subject, in the order of the reference documentation.
func (s *Subject) Families() []Family {
	families := make([]Family, len(s.families))
	for i := range s.families {
		traits := &s.families[i]
		labels, by := slices.Clone(s.Labels), ""
		if !s.noResource {
			labels, by = append(labels, "resource"), ", by resource"
		}
		families[i] = Family{
			Subject: s.Name, Name: strings.Replace(traits.name, "*", s.prefix, 1), Type: traits.kind, Labels: labels, traits: traits,
			Help: strings.NewReplacer("*", s.of, "#", by).Replace(traits.help),
		}
	}
	return families
}

// Projection returns what the families need of the rows of a set; without arguments, what all families of the subject need. Stored
// sets need not be read any further. Most subjects that are made of assets need nothing.
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
	switch {
	case s.ofRows:
		return p.Union(passes.ReconcileNeeds())
	case len(s.by) == 0:
		return p
	}
	if !s.noResource || s.expects {
		p.Columns = append(p.Columns, allocation.Hours.Of(allocation.GPU))
		for r := range familyResources {
			p.Columns = append(p.Columns, s.costColumns(familyResource(r))...)
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

// unsummed is how many of the first labels keep their values in __other__.
func (s *Subject) unsummed() int { return 1 + s.unsummedLabels }

// counts reports whether the subject has counters.
func (s *Subject) counts() bool {
	return slices.ContainsFunc(s.families, func(f familyTraits) bool { return f.kind == Counter })
}

// width is the most series that one item of the subject can have.
func (s *Subject) width() int { return s.weight(allResources) }

// weight is the most series that one item of the subject with these resources can have.
func (s *Subject) weight(has resourceSet) int {
	if s.noResource {
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

// familyResource is a value of the label resource. There is none for the total: queries can sum.
type familyResource uint8

// numFamilyResources is the number of values of the label resource. The first ones are those of Resource.
const numFamilyResources = 6

// networkResource is the resource of traffic.
const networkResource = familyResource(allocation.NumResources) + 1

// familyResources has the values of the label resource and the kind of cost of each. Shared and external costs exist only in
// answers to queries.
var familyResources = [numFamilyResources]struct {
	name string
	kind allocation.SharedKind
}{
	{"cpu", allocation.SharedCPU},
	{"ram", allocation.SharedRAM},
	{"gpu", allocation.SharedGPU},
	{"pv", allocation.SharedPV},
	{"network", allocation.SharedNetwork},
	{"load_balancer", allocation.SharedLoadBalancer},
}

// costColumns are the columns of rows that make the subject's cost of a resource. List costs have no adjustments: these come later,
// and a gauge must agree with its counter.
func (s *Subject) costColumns(r familyResource) []allocation.Column {
	if s.Billed {
		return familyResources[r].kind.Columns()
	}
	return familyResources[r].kind.ListColumns()
}

func hourlyCost(t *subjectTotal, r familyResource, hours float64) (float64, bool) {
	return t.cost[r] / hours, t.has.holds(r)
}

func totalCost(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	return t.cost[r], t.has.holds(r)
}

// figure returns the i-th figure unchanged.
func figure(i familyResource) familyValue {
	return func(t *subjectTotal, _ familyResource, _ float64) (float64, bool) {
		return t.figures[i], t.has.holds(i)
	}
}

// efficiencyRatio is the efficiency of SEMANTICS §4 for resources that are both requested and used, over requests with known usage.
// Without known usage there is no efficiency, which is not the same as 0.
func efficiencyRatio(t *subjectTotal, r familyResource, _ float64) (float64, bool) {
	if r >= familyResource(allocation.NumResources) || !t.has.holds(r) {
		return 0, false
	}
	request, usage := fields.Measured(t.requested[r], t.unknownRequests[r]), t.used[r]
	switch {
	case request > 0:
		return usage / request, true
	case usage > 0 && t.cost[r] > 0:
		return 1, true
	default:
		return 0, usage > 0
	}
}
