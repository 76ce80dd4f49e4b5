package encode

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/fields"
)

// FOCUSVersions are the versions of the FinOps Open Cost and Usage Specification that FOCUS writes, the default first.
func FOCUSVersions() []string { return []string{"1.2", "1.3"} }

// FOCUS writes sets as charges of the FinOps Open Cost and Usage Specification, as CSV. Each kind of service that an allocation
// pays for is a line, so the EffectiveCost of the lines adds up to the cost of the allocations.
type FOCUS struct {
	s        *stream
	version  string
	currency string
	columns  []focusColumn
}

// NewFOCUS begins a file of a version of FOCUSVersions, with its header. currency is its BillingCurrency.
func NewFOCUS(w io.Writer, version, currency string) (*FOCUS, error) {
	f := &FOCUS{s: newStream(w), version: version, currency: currency}
	known := false
	for _, v := range FOCUSVersions() {
		known = known || v == version
	}
	if !known {
		return nil, fmt.Errorf("write FOCUS: version %q is not known: give one of %v", version, FOCUSVersions())
	}
	for _, c := range focusColumns {
		if c.since > version {
			continue
		}
		if len(f.columns) > 0 {
			f.s.b = append(f.s.b, ',')
		}
		f.s.b = append(f.s.b, c.name...)
		f.columns = append(f.columns, c)
	}
	f.s.b = append(f.s.b, '\n')
	return f, nil
}

// Write appends the charges of a set. Charges of zero are left out.
func (f *FOCUS) Write(set *allocation.Set) error {
	nodes := map[allocation.AssetKey][]*allocation.Node{}
	for i := range set.Nodes {
		n := &set.Nodes[i]
		key := allocation.AssetKey{Cluster: n.Cluster, Name: n.Name}
		nodes[key] = append(nodes[key], n)
	}
	for _, named := range byName(set) {
		c := charge{file: f, set: set, row: named.row}
		c.cluster = c.text(allocation.Cluster)
		c.nodes = nodes[allocation.AssetKey{Cluster: c.cluster, Name: c.text(allocation.NodeName)}]
		c.each(func() {
			for i := range f.columns {
				if i > 0 {
					f.s.b = append(f.s.b, ',')
				}
				f.s.b = appendCell(f.s.b, f.columns[i].text(&c))
			}
			f.s.b = append(f.s.b, '\n')
			f.s.checkpoint()
		})
	}
	return f.s.pipes.err
}

// Close writes what is left.
func (f *FOCUS) Close() error { return f.s.close() }

// charge is what a row cost of one kind of service.
type charge struct {
	file    *FOCUS
	set     *allocation.Set
	row     int
	cluster string
	nodes   []*allocation.Node // those of the row's node's name: they followed each other

	what         string // cpu, ram, volume …
	category     string // ServiceCategory
	resource, id string // what was used: the name and id of the node, volume or load balancer
	resourceType string
	quantity     float64
	unit         string
	cost, list   float64
	lower, upper string
}

func (c *charge) text(p allocation.Property) string { return c.set.Text(p, c.row) }

func (c *charge) value(columns ...allocation.Column) (sum float64) {
	for _, column := range columns {
		sum += c.set.Value(column, c.row)
	}
	return sum
}

// listPrice is a cost of the row at list prices. BilledCost also contains what reconciliation adds.
func (c *charge) listPrice(kind allocation.SharedKind) float64 { return c.value(kind.ListColumns()...) }
func (c *charge) billed(kind allocation.SharedKind) float64    { return c.value(kind.Columns()...) }

// focusUnits are what resources are counted in.
var focusUnits = [allocation.NumResources]string{allocation.CPU: "vCPU-Hours", allocation.RAM: "GiB-Hours", allocation.GPU: "GPU-Hours"}

// each calls yield for each charge of the row that is not 0, with the fields of c filled in.
func (c *charge) each(yield func()) {
	put := func(what, category, resourceType, resource, id string, quantity float64, unit string, list, cost float64) {
		if cost == 0 && list == 0 {
			return
		}
		c.what, c.category, c.resourceType, c.resource, c.id = what, category, resourceType, resource, id
		c.quantity, c.unit, c.list, c.cost = quantity, unit, list, cost
		yield()
	}
	if lower, upper, ok := fields.ErrorBounds(c.set, c.row); ok {
		c.lower = focusNumber(lower)
		if upper == upper { // it is known
			c.upper = focusNumber(upper)
		}
	}
	const gib = 1 << 30
	node, nodeID := c.text(allocation.NodeName), billedNodeID(c.node())
	for r := range allocation.NumResources {
		if c.set.Special(c.row) == allocation.Idle && len(c.nodes) > 0 {
			for _, n := range c.nodes { // the row has the idle of all of them
				put(r.String(), "Compute", "Node", node, billedNodeID(n), 0, focusUnits[r], n.Idle[r], n.Idle[r]+n.IdleAdjustment[r])
			}
			continue
		}
		list := c.value(allocation.Cost.Of(r))
		put(r.String(), "Compute", "Node", node, nodeID, c.value(allocation.Hours.Of(r))/r.PerPriceUnit(), focusUnits[r], list, list+c.value(allocation.Adjustment.Of(r)))
	}
	pv, pvAll := c.listPrice(allocation.SharedPV), c.billed(allocation.SharedPV)
	hours := c.value(allocation.PVByteHours)
	d := c.set.Dict()
	for _, v := range c.set.Volumes(c.row) {
		name := volumeName(d.Text(v.Key))
		put("volume", "Storage", "Volume", name, c.volumeID(name, d.Text(v.ProviderID)), v.ByteHours/gib, "GiB-Hours", v.Cost, v.Cost+v.Adjustment)
		pv, pvAll, hours = pv-v.Cost, pvAll-v.Cost-v.Adjustment, hours-v.ByteHours
	}
	if len(c.set.Volumes(c.row)) == 0 {
		put("volume", "Storage", "Volume", "", "", hours/gib, "GiB-Hours", pv, pvAll)
	}
	put("network", "Networking", "Network", node, nodeID, c.value(allocation.NetworkEgressBytes)/gib, "GiB", c.listPrice(allocation.SharedNetwork), c.billed(allocation.SharedNetwork))
	balancers := c.set.LoadBalancerShares(c.row)
	for _, b := range balancers {
		service := d.Text(b.Service)
		put("load balancer", "Networking", "LoadBalancer", service, allocation.OwnID(c.cluster, allocation.LoadBalancerAsset, service), b.Hours, "Hours", b.Cost, b.Cost+b.Adjustment)
	}
	if len(balancers) == 0 {
		put("load balancer", "Networking", "LoadBalancer", "", "", 0, "Hours", c.listPrice(allocation.SharedLoadBalancer), c.billed(allocation.SharedLoadBalancer))
	}
	for _, other := range [...]struct {
		what string
		kind allocation.SharedKind
	}{{"shared", allocation.SharedOverhead}, {"external", allocation.SharedExternal}} {
		put(other.what, "Other", "", "", "", c.set.Window.Duration().Hours(), "Hours", c.listPrice(other.kind), c.billed(other.kind))
	}
}

// node returns the row's node. Of several of that name it is the first if the row names none of them. Rows without a node have
// the zero one.
func (c *charge) node() *allocation.Node {
	id := c.text(allocation.ProviderID)
	for _, n := range c.nodes {
		if n.ProviderID == id {
			return n
		}
	}
	if len(c.nodes) > 0 {
		return c.nodes[0]
	}
	return &allocation.Node{Cluster: c.cluster, Name: c.text(allocation.NodeName), ProviderID: id}
}

// billedNodeID returns the id that the provider's bill has for a node, but for Google's, which end in a number there. It is empty
// for the zero node.
func billedNodeID(n *allocation.Node) string {
	provider, id := allocation.ParseProviderID(n.ProviderID)
	_, path, _ := strings.Cut(n.ProviderID, "://")
	switch at := strings.Split(path, "/"); {
	case provider == "AWS":
		return id
	case provider == "Azure":
		return path
	case provider == "GCP" && len(at) == 3:
		return "//compute.googleapis.com/projects/" + at[0] + "/zones/" + at[1] + "/instances/" + at[2]
	case n.Name == "":
		return ""
	}
	return allocation.OwnID(n.Cluster, allocation.NodeAsset, n.Name)
}

// volumeName returns the name of the volume in the key of its shares.
func volumeName(key string) string {
	if _, name, ok := strings.Cut(key, ":name="); ok {
		return name
	}
	return key
}

// volumeID returns the id that the provider's bill has for a volume. Ids of others need not differ between clusters.
func (c *charge) volumeID(name, id string) string {
	lower := strings.ToLower(id)
	if strings.HasPrefix(lower, "vol-") || strings.HasPrefix(lower, "fs-") || strings.HasPrefix(lower, "aws://") || strings.Contains(lower, "/disks/") {
		return id
	}
	return allocation.OwnID(c.cluster, allocation.DiskAsset, name)
}

// provider is the cloud provider of the row's node.
func (c *charge) provider() string {
	provider, _ := allocation.ParseProviderID(c.node().ProviderID)
	return cmp.Or(provider, "Kubernetes")
}

// region is that of the row's node.
func (c *charge) region() string { return c.node().Region }

// describe is the charge in words. Readers of bills know network charges by "data transfer".
func (c *charge) describe() string {
	what := c.what
	if what == "network" {
		what = "data transfer"
	}
	return what + " of " + c.set.Name(c.row)
}

// tags are the row's labels as a JSON object.
func (c *charge) tags() string {
	d := c.set.Dict()
	b := []byte{'{'}
	for i, pair := range c.set.Pairs(allocation.Labels, c.row) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, d.Text(pair.Key)), ':')
		b = appendString(b, d.Text(pair.Value))
	}
	return string(append(b, '}'))
}

func focusNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func focusTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
