package resolve

import (
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/metadata"
	"github.com/promcost/promcost/allocation/signals"
)

// reserveRows makes room for the rows of all containers in the sets that they are seen in.
func (rs *Resolver) reserveRows() {
	for _, r := range allocation.LevelResources {
		rs.scaled[r] = rs.Autoscaled(r)
	}
	more := make([]int, len(rs.Sets)+1) // rows more than in the set before
	for _, c := range observe.Each(&rs.Limits, slices.All(rs.Pods.Order)) {
		first, last := rs.SetsOf(c)
		more[first]++
		more[last]--
	}
	n := 0
	for i, rows := range observe.Each(&rs.Limits, slices.All(rs.Rows)) {
		n += more[i]
		rows.Reserve(n)
		for _, r := range [...]allocation.Resource{allocation.CPU, allocation.RAM} { // usage is added to these
			for _, measure := range [...]allocation.Measure{allocation.Hours, allocation.UsageHours, allocation.UsageMax, allocation.Cost} {
				rows.Column(measure.Of(r))
			}
		}
	}
}

// DescribeMetadata fills in the labels and annotations of a row: those at its end.
func (rs *Resolver) DescribeMetadata(c *observe.Container, rows *allocation.Rows, row int32) {
	p, end := c.Pod, rows.Ends()[row]
	labels, annotations := rs.Pods.Namespaces[observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: observe.None}].Metadata(end)
	rows.IDs(allocation.Labels)[row] = rs.labelsOf(c, end, labels, p.Labels.At(end))
	rows.IDs(allocation.Annotations)[row] = rs.Dict.Overlay(annotations, p.Annotations.At(end))
}

// joinedLabels are the labels of a pod, its namespace and its node that were joined last: the containers of a pod follow each other.
type joinedLabels struct {
	of  [3]allocation.ID // labels of the node, of the namespace, and its own
	all allocation.ID    // all three joined
}

// nodeKind is the kind of the owner of static pods. A node is no controller.
const nodeKind = "node"

// controller follows a pod's chain of owners: pod → replicaset → deployment or rollout, pod → job → cronjob.
func (rs *Resolver) controller(p *observe.Pod) observe.Owner {
	o := p.Owner.Value
	if o == (observe.Owner{}) {
		o = p.CreatedBy.Value
	}
	if up, ok := rs.Pods.Owners[observe.OwnerKey{Kind: o.Kind, ObjectKey: observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: o.Name}}]; ok {
		o = up
	}
	if o.Kind.Value() == nodeKind {
		return observe.Owner{}
	}
	return o
}

// row returns the row of c in the set that (from, to] lies in, and counts that time as running. It makes the row if it is new and of this
// shard.
func (rs *Resolver) row(c *observe.Container, from, to int64) observe.RowRef {
	set := rs.SetAt(to)
	if n := len(c.Rows); n == 0 || c.Rows[n-1].Set != set {
		rs.addRow(c, set, from, to)
	}
	ref := c.Rows[len(c.Rows)-1]
	if ref.Row != observe.NoRow {
		rs.Rows[set].Ends()[ref.Row] = to
	}
	rs.AddTo(ref, allocation.RunningSeconds, float64(to-from)/1000)
	if c.Init && !c.Alone { // of which usage alone says nothing
		rs.AddTo(ref, allocation.InitSeconds, float64(to-from)/1000)
	}
	rs.addScaled(c, ref, from, to)
	return ref
}

// scaledColumns are the columns of the time in which controllers are scaled by the usage of a resource.
var scaledColumns = [len(allocation.LevelResources)]allocation.Column{allocation.CPU: allocation.CPUScaledSeconds, allocation.RAM: allocation.RAMScaledSeconds}

// addScaled counts the time in which the controller of c is scaled by the usage of a resource.
func (rs *Resolver) addScaled(c *observe.Container, ref observe.RowRef, from, to int64) {
	for r, scaled := range rs.scaled {
		if len(scaled) == 0 {
			continue
		}
		o := rs.controller(c.Pod)
		when := scaled[observe.OwnerKey{Kind: o.Kind, ObjectKey: observe.ObjectKey{Cluster: c.Pod.Cluster, Namespace: c.Pod.Namespace, Name: o.Name}}]
		rs.AddTo(ref, scaledColumns[r], float64(when.Clip(from, to).Length())/1000)
	}
}

// addRow makes the row of c in a set, from from to to, if that is of this shard and no margin.
func (rs *Resolver) addRow(c *observe.Container, set int32, from, to int64) observe.RowRef {
	ref := observe.RowRef{Set: set, Row: observe.NoRow}
	switch {
	case int(set) < rs.First || int(set) >= rs.Last:
	case rs.HasRows(c.Pod):
		ref.Row = int32(rs.Rows[set].Add(allocation.Workload, from, to))
	default:
		rs.Sets[set].OtherShards = true
	}
	c.Rows = append(c.Rows, ref)
	return ref
}

// AddTo adds v to a column of a row, where there is one.
func (rs *Resolver) AddTo(ref observe.RowRef, c allocation.Column, v float64) {
	if ref.Row != observe.NoRow && v != 0 {
		rs.Rows[ref.Set].Column(c)[ref.Row] += v
	}
}

// describe fills in a row's properties after its running time is known: those at the end of that time.
func (rs *Resolver) describe(c *observe.Container, rows *allocation.Rows, row int32) {
	p, end := c.Pod, rows.Ends()[row]
	controller := rs.controller(p)
	text := [allocation.Services]signals.Symbol{
		allocation.Cluster: p.Cluster, allocation.Namespace: p.Namespace, allocation.Pod: p.Name, allocation.PodUID: p.UID,
		allocation.Container: c.Name, allocation.ControllerKind: controller.Kind, allocation.Controller: controller.Name,
	}
	if p.Node.Known() {
		text[allocation.NodeName] = p.Node.Value
	}
	for prop, symbol := range text {
		if id := &rows.IDs(allocation.Property(prop))[row]; prop == int(allocation.ProviderID) && c.Node != nil {
			*id = c.Node.Provider
		} else {
			*id = rs.ID(symbol)
		}
	}
	labels, annotations := rs.Pods.Namespaces[observe.ObjectKey{Cluster: p.Cluster, Namespace: p.Namespace, Name: observe.None}].Metadata(end)
	rows.IDs(allocation.Services)[row] = rs.Dict.AddList(rs.servicesAt(p, end))
	if len(rs.Pods.Metadata.By) == 0 {
		rs.DescribeMetadata(c, rows, row)
	} else {
		rows.IDs(allocation.Labels)[row], rows.IDs(allocation.Annotations)[row] = metadata.Unread, metadata.Unread
	}
	rows.IDs(allocation.NamespaceLabels)[row], rows.IDs(allocation.NamespaceAnnotations)[row] = labels, annotations
	rows.IDs(allocation.GPUDevices)[row] = c.GPU
}

// labelsOf joins the labels of a pod, its namespace and its node at t. The pod's win over the namespace's, and these over the node's.
func (rs *Resolver) labelsOf(c *observe.Container, t int64, in, own allocation.ID) allocation.ID {
	of := [3]allocation.ID{0, in, own}
	if c.Node != nil {
		of[0] = c.Node.Reported.Labels.At(t)
	}
	if rs.cuts.joined.of != of {
		rs.cuts.joined = joinedLabels{of, rs.Dict.Overlay(of[:]...)}
	}
	return rs.cuts.joined.all
}

// MetadataLast reports whether labels and annotations are added last, and only those of the pods that Labeled returns. It may turn
// false before usage is added: if services select pods by labels, or pods have no UID, all must be added before.
func (rs *Resolver) MetadataLast() bool {
	if len(rs.Pods.Metadata.By) == 0 || rs.Phase != observe.Gathering {
		return len(rs.Pods.Metadata.By) > 0
	}
	for key := range rs.Pods.ByKey {
		if key.UID == observe.None && len(rs.Pods.ByName[key.ObjectKey]) == 1 {
			return false
		}
	}
	return !rs.Services.Behind.HasSelectors()
}

// Labeled returns the names of the pods whose labels and annotations are shown after rows are merged. Call it once, after usage, and
// add these labels and annotations next.
func (rs *Resolver) Labeled() (names []string, err error) {
	if len(rs.Pods.Metadata.By) == 0 {
		return nil, nil
	}
	shown := make([][]bool, len(rs.Sets))
	for i, s := range rs.Sets {
		if shown[i], err = metadata.Shown(s, rs.Pods.Metadata.By, rs.Shard); err != nil {
			return nil, err
		}
	}
	for c := range rs.Every() {
		if slices.ContainsFunc(c.Rows, func(ref observe.RowRef) bool { return ref.Row != observe.NoRow && shown[ref.Set][ref.Row] }) {
			rs.Pods.Metadata.Shown, names = append(rs.Pods.Metadata.Shown, c), append(names, c.Pod.Name.Value())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), rs.Stopped
}
