package kubeapi

import (
	"context"
	"fmt"
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// row is a row of the table of resources.
type row struct {
	plural, singular, kind string
	short                  []string
	namespaced             bool
	windowed               bool // its objects have a window
	fields                 []field
	columns                []column
	newObject, newList     func() runtime.Object
	read                   func(context.Context, *reading) error
	// object makes an object of an item in a window.
	object func(snap *snapshot, it *item, window, suffix string) runtime.Object
	// fill fills a list with the objects of items.
	fill func(list runtime.Object, m metav1.ListMeta, snap *snapshot, indices []int, sel *selected)
}

// column is a column of tables.
type column struct {
	name, help string
	priority   int32 // above 0 only in wide tables
	format     string
	cell       func(o runtime.Object) string
}

// rows is the table of resources.
func rows() []*row {
	name := field{namePath, "The name of the object. = chooses the window, too: that behind its colon.", func(it *item) string { return it.name }}
	window := field{path: windowPath, help: "The window of the list, 24h if it is not given: a whole number of hours such as 7d. Another window is computed when it is first asked for."}
	return []*row{allocationRow(name, window), clusterAllocationRow(name), assetRow(name, window)}
}

// bodyText is the text of a field of an item's body.
func bodyText[B any](text func(b *B) string) func(*item) string {
	return func(it *item) string { return text(it.body.(*B)) } //nolint:forcetypeassert // of the row's read
}

// cells makes a cell of an object of the row's type.
func cells[T any](text func(o *T) string) func(runtime.Object) string {
	return func(o runtime.Object) string { return text(any(o).(*T)) } //nolint:forcetypeassert // of the row's type
}

// filled fills lists of T.
func filled[T any, L runtime.Object](fields func(L) (*metav1.ListMeta, *[]T), object func(dst *T, snap *snapshot, it *item, window, suffix string)) func(runtime.Object, metav1.ListMeta, *snapshot, []int, *selected) {
	return func(list runtime.Object, m metav1.ListMeta, snap *snapshot, indices []int, sel *selected) {
		listMeta, items := fields(list.(L)) //nolint:forcetypeassert // of the row's newList
		*listMeta, *items = m, make([]T, len(indices))
		for i, at := range indices {
			object(&(*items)[i], snap, &snap.items[at], sel.window, sel.suffix)
		}
	}
}

// made makes one object.
func made[T any, P interface {
	*T
	runtime.Object
}](object func(dst *T, snap *snapshot, it *item, window, suffix string)) func(*snapshot, *item, string, string) runtime.Object {
	return func(snap *snapshot, it *item, window, suffix string) runtime.Object {
		o := P(new(T))
		object(o, snap, it, window, suffix)
		return o
	}
}

func allocationRow(name, window field) *row {
	object := func(dst *Allocation, snap *snapshot, it *item, window, suffix string) {
		b := it.body.(*allocationBody) //nolint:forcetypeassert // of readAllocations
		dst.ObjectMeta, dst.Spec, dst.Status = snap.meta(it, suffix), b.spec, b.status
		dst.Spec.Window = window
	}
	type body = allocationBody
	cost := func(name, help string, cost func(c *Costs) float64) column {
		return column{name: name, help: help, cell: cells(func(a *Allocation) string { return money(cost(&a.Status.Costs)) })}
	}
	return &row{
		plural: "allocations", singular: "allocation", kind: "Allocation", short: []string{"alloc"}, namespaced: true, windowed: true,
		fields: []field{
			name,
			{"metadata.namespace", "The namespace of the pod.", func(it *item) string { return it.namespace }},
			window,
			{"spec.pod", "The name of the pod.", bodyText(func(b *body) string { return b.spec.Pod })},
			{"spec.node", "The node that it ran on; empty if there were several.", bodyText(func(b *body) string { return b.spec.Node })},
			{"spec.controller", "The name of its controller.", bodyText(func(b *body) string { return b.spec.Controller })},
			{"spec.controllerKind", "The kind of its controller in small letters.", bodyText(func(b *body) string { return b.spec.ControllerKind })},
		},
		columns: []column{
			{name: "Name", help: "The name of the pod, and the window if it is not 24h.", format: "name", cell: cells(func(a *Allocation) string { return a.Name })},
			{name: "Controller", help: "The controller of the pod.", cell: cells(func(a *Allocation) string { return joined(a.Spec.ControllerKind, a.Spec.Controller) })},
			cost("CPU", "Cost of CPU.", func(c *Costs) float64 { return c.CPUCost }),
			cost("Memory", "Cost of memory.", func(c *Costs) float64 { return c.RAMCost }),
			cost("Other", "All other costs: GPUs, volumes, network, load balancers, shared and external costs.", func(c *Costs) float64 {
				return c.GPUCost + c.PVCost + c.NetworkCost + c.LoadBalancerCost + c.SharedCost + c.ExternalCost
			}),
			cost("Cost", "All costs.", func(c *Costs) float64 { return c.TotalCost }),
			{name: "Currency", help: "Currency of the costs.", cell: cells(func(a *Allocation) string { return a.Status.Currency })},
			{name: "Change", help: changeHelp, priority: 1, cell: cells(func(a *Allocation) string { return a.Status.text() })},
			{name: "Owner", help: "The team, else the owner, by the labelMapping of promcost's configuration.", priority: 1, cell: cells(func(a *Allocation) string { return orNone(a.Spec.Owner) })},
			{name: "Efficiency", help: "Usage over request, weighted by cost.", priority: 1, cell: cells(func(a *Allocation) string { return percent(a.Status.Efficiency) })},
			{name: "Cores", help: "Allocated cores.", priority: 1, cell: cells(func(a *Allocation) string { return short(a.Status.CPUCores) })},
			{name: "GiB", help: "Allocated memory.", priority: 1, cell: cells(func(a *Allocation) string { return short(a.Status.RAMBytes / (1 << 30)) })},
			{name: "Bounds", help: "How far running time and requests can be off: counted over true.", priority: 1, cell: cells(func(a *Allocation) string { return bounds(a.Status.ErrorBounds) })},
			{name: "Node", help: "The node that it ran on.", priority: 1, cell: cells(func(a *Allocation) string { return orNone(a.Spec.Node) })},
		},
		newObject: func() runtime.Object { return &Allocation{} }, newList: func() runtime.Object { return &AllocationList{} },
		read: readAllocations, object: made[Allocation](object),
		fill: filled(func(l *AllocationList) (*metav1.ListMeta, *[]Allocation) { return &l.ListMeta, &l.Items }, object),
	}
}

func clusterAllocationRow(name field) *row {
	object := func(dst *ClusterAllocation, snap *snapshot, it *item, _, suffix string) {
		b := it.body.(*clusterAllocationBody) //nolint:forcetypeassert // of readClusterAllocations
		dst.ObjectMeta, dst.Spec, dst.Status = snap.meta(it, suffix), b.spec, b.status
	}
	name.help = "The name of the question."
	return &row{
		plural: "clusterallocations", singular: "clusterallocation", kind: "ClusterAllocation", short: []string{"calloc"},
		fields: []field{name},
		columns: []column{
			{name: "Name", help: "The name of the question.", format: "name", cell: cells(func(a *ClusterAllocation) string { return a.Name })},
			{name: "Rows", help: "Rows of the answer.", cell: cells(func(a *ClusterAllocation) string { return strconv.Itoa(len(a.Status.Rows)) })},
			{name: "Cost", help: "All costs.", cell: cells(func(a *ClusterAllocation) string {
				switch {
				case a.Status.Error != "":
					return "<error>"
				case len(a.Status.Rows) == 0:
					return "<none>"
				}
				return money(a.Status.TotalCost)
			})},
			{name: "Currency", help: "Currency of the costs.", cell: cells(func(a *ClusterAllocation) string { return a.Status.Currency })},
			{name: "Change", help: changeHelp, priority: 1, cell: cells(func(a *ClusterAllocation) string { return a.Status.text() })},
			{name: "Query", help: "The question.", cell: cells(func(a *ClusterAllocation) string { return a.Spec.Query })},
			{name: "Error", help: "Why there is no answer.", priority: 1, cell: cells(func(a *ClusterAllocation) string { return orNone(a.Status.Error) })},
		},
		newObject: func() runtime.Object { return &ClusterAllocation{} }, newList: func() runtime.Object { return &ClusterAllocationList{} },
		read: readClusterAllocations, object: made[ClusterAllocation](object),
		fill: filled(func(l *ClusterAllocationList) (*metav1.ListMeta, *[]ClusterAllocation) { return &l.ListMeta, &l.Items }, object),
	}
}

func assetRow(name, window field) *row {
	object := func(dst *Asset, snap *snapshot, it *item, window, suffix string) {
		b := it.body.(*assetBody) //nolint:forcetypeassert // of readAssets
		dst.ObjectMeta, dst.Spec, dst.Status = snap.meta(it, suffix), b.spec, b.status
		dst.Spec.Window = window
	}
	type body = assetBody
	return &row{
		plural: "assets", singular: "asset", kind: "Asset", windowed: true,
		fields: []field{
			name, window,
			{"spec.type", "The type of the asset, such as Node.", bodyText(func(b *body) string { return b.spec.Type })},
			{"spec.category", "Its category, such as Compute.", bodyText(func(b *body) string { return b.spec.Category })},
			{"spec.provider", "The cloud provider.", bodyText(func(b *body) string { return b.spec.Provider })},
			{"spec.nodeType", "The instance type of a node.", bodyText(func(b *body) string { return b.spec.NodeType })},
			{"spec.nodePool", "The pool that a node is of.", bodyText(func(b *body) string { return b.spec.NodePool })},
		},
		columns: []column{
			{name: "Name", help: "The type and the name of the asset, and the window if it is not 24h.", format: "name", cell: cells(func(a *Asset) string { return a.Name })},
			{name: "Type", help: "The type of the asset.", cell: cells(func(a *Asset) string { return a.Spec.Type })},
			{name: "Cost", help: "All costs.", cell: cells(func(a *Asset) string { return money(a.Status.TotalCost) })},
			{name: "Currency", help: "Currency of the costs.", cell: cells(func(a *Asset) string { return a.Status.Currency })},
			{name: "Change", help: changeHelp, priority: 1, cell: cells(func(a *Asset) string { return a.Status.text() })},
			{name: "Provider", help: "The cloud provider.", priority: 1, cell: cells(func(a *Asset) string { return orNone(a.Spec.Provider) })},
			{name: "NodeType", help: "The instance type of a node.", priority: 1, cell: cells(func(a *Asset) string { return orNone(a.Spec.NodeType) })},
		},
		newObject: func() runtime.Object { return &Asset{} }, newList: func() runtime.Object { return &AssetList{} },
		read: readAssets, object: made[Asset](object),
		fill: filled(func(l *AssetList) (*metav1.ListMeta, *[]Asset) { return &l.ListMeta, &l.Items }, object),
	}
}

// money is a cost: of less than 1, with more decimals.
func money(v float64) string {
	const least = 0.0001
	switch {
	case v != 0 && math.Abs(v) < least:
		return "<0.0001"
	case v != 0 && math.Abs(v) < 1:
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// short is a number of three digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// percent is a ratio, <unknown> where there is none.
func percent(v *float64) string {
	if v == nil {
		return "<unknown>"
	}
	return strconv.FormatFloat(100**v, 'f', 0, 64) + "%"
}

// changeHelp describes the column of a Comparison.
const changeHelp = "How the cost of an hour changed against the window before; new if there was none of it, <unknown> if that window has too few data."

// text is the change in percent.
func (c *Comparison) text() string {
	const shown, whole = 0.05, 10 // percent: the least that is not 0, and from when on decimals do not matter
	switch {
	case c.New:
		return "new"
	case c.Change == nil:
		return "<unknown>"
	}
	switch v := 100 * *c.Change; {
	case math.Abs(v) < shown:
		return "0%"
	case math.Abs(v) < whole:
		return fmt.Sprintf("%+.1f%%", v)
	default:
		return fmt.Sprintf("%+.0f%%", v)
	}
}

// bounds are two factors, <unknown> where there are none.
func bounds(b *Bounds) string {
	if b == nil {
		return "<unknown>"
	}
	text := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	return text(b.Lower) + "-" + text(b.Upper)
}

// joined is kind/name, <none> without a name.
func joined(kind, name string) string {
	if kind == "" || name == "" {
		return orNone(name)
	}
	return kind + "/" + name
}

// orNone is text, <none> where it is empty.
func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}
