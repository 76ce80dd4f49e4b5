package assets

import (
	"cmp"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
)

// Set is the assets of a window.
type Set struct {
	Window   allocation.Window
	Covered  []allocation.Covered // when clusters have data
	Warnings []string
	Assets   []allocation.Asset // by name
}

// TotalCost is the sum of all its assets' costs and adjustments.
func (s *Set) TotalCost() (cost, adjustment float64) {
	for i := range s.Assets {
		cost += s.Assets[i].TotalCost()
		adjustment += s.Assets[i].Adjustment
	}
	return cost, adjustment
}

// Options say which assets are served, and as what.
type Options struct {
	// Aggregate are the keys that assets are merged by; none keeps each by itself, named by provider, account, project,
	// category, cluster, type, service, provider id and name.
	Aggregate []Dimension
	// Filter selects the assets that stay, before they are merged. nil keeps all.
	Filter func(*allocation.Asset) bool
	// WithoutAdjustments takes adjustments for 0.
	WithoutAdjustments bool
}

// List lists the assets of a set. It does not change the set.
func List(s *allocation.Set, o Options) *Set {
	all := listAll(s)
	out := all[:0]
	for i := range all {
		if o.WithoutAdjustments {
			all[i].Adjustment = 0
		}
		if o.Filter == nil || o.Filter(&all[i].Asset) {
			out = append(out, all[i])
		}
	}
	return &Set{Window: s.Window, Covered: s.Covered, Warnings: s.Warnings, Assets: mergeAssets(out, o.Aggregate)}
}

// listed is an asset on its way into a list.
type listed struct {
	allocation.Asset
	// since distinguishes nodes with the same name and provider id: @ and when Kubernetes created the node.
	since string
}

// nodeName identifies a node, except among nodes of one name that followed each other.
type nodeName struct{ cluster, name, providerID string }

// listAll lists all assets of the set, in the order of its fields.
func listAll(s *allocation.Set) []listed {
	providers, nodes := clusterProviders(s), nodesByName(s)
	list := make([]listed, 0, len(s.Nodes)+len(s.Disks)+len(s.Balancers)+len(s.Networks)+len(s.Management)+len(s.Cloud))
	add := func(a allocation.Asset) { list = append(list, listed{Asset: a}) }
	same := map[nodeName]int{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		same[nodeName{n.Cluster, n.Name, n.ProviderID}]++
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		add(OfNode(n))
		if same[nodeName{n.Cluster, n.Name, n.ProviderID}] > 1 && !n.Created.IsZero() {
			list[len(list)-1].since = "@" + n.Created.UTC().Format(time.RFC3339)
		}
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		a := newAsset(allocation.DiskAsset, d.Cluster, d.Name, d.ProviderID, providers)
		a.Labels, a.Start, a.End, a.Cost, a.Adjustment, a.Disk = d.Labels, d.Start, d.End, d.Cost, d.Adjustment, d
		if n := nodes[allocation.AssetKey{Cluster: d.Cluster, Name: d.Name}]; n != nil && d.Local {
			a.Region, a.Pool = n.Region, n.Pool
		}
		a.Region = cmp.Or(a.Region, labelnames.Region(d.Labels))
		add(a)
	}
	for i := range s.Balancers {
		b := &s.Balancers[i]
		a := newAsset(allocation.LoadBalancerAsset, b.Cluster, b.Namespace+"/"+b.Service, cmp.Or(b.ProviderID, b.IP), providers)
		a.Start, a.End, a.Cost, a.Adjustment, a.Balancer = b.Start, b.End, b.Cost, b.Adjustment, b
		add(a)
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		a := newAsset(allocation.NetworkAsset, n.Cluster, "network", "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = n.Start, n.End, n.TotalCost(), n.Adjustment
		add(a)
	}
	for i := range s.Management {
		m := &s.Management[i]
		a := newAsset(allocation.ManagementAsset, m.Cluster, cmp.Or(m.Provisioner, "management"), "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = m.Start, m.End, m.Cost, m.Adjustment
		add(a)
	}
	for i := range s.Cloud {
		c := &s.Cloud[i]
		add(allocation.Asset{
			Type: allocation.CloudAsset, Title: c.Name, Category: c.Category, Service: c.Service, Provider: c.Provider, Account: c.Account,
			Project: c.Project, Cluster: c.Cluster, ProviderID: c.ProviderID, Labels: c.Labels, Start: c.Start, End: c.End,
			Cost: c.Cost, Adjustment: c.Adjustment, Credit: c.Credit,
		})
	}
	return list
}

// nodeProvider is whose a cluster's nodes are, and in which project.
type nodeProvider struct{ name, project string }

// clusterProviders returns the provider of each cluster's nodes. Assets without a provider of their own take it.
func clusterProviders(s *allocation.Set) map[string]nodeProvider {
	out := map[string]nodeProvider{}
	for i := range s.Nodes {
		n := OfNode(&s.Nodes[i])
		if _, ok := out[n.Cluster]; !ok && n.Provider != "" {
			out[n.Cluster] = nodeProvider{n.Provider, n.Project}
		}
	}
	return out
}

// nodesByName are the nodes by cluster and name; of several, the last.
func nodesByName(s *allocation.Set) map[allocation.AssetKey]*allocation.Node {
	out := make(map[allocation.AssetKey]*allocation.Node, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out[allocation.AssetKey{Cluster: n.Cluster, Name: n.Name}] = n
	}
	return out
}

// kinds are the category and service of the assets of each type; those of the cloud have their own.
var kinds = [allocation.NumAssetTypes]struct{ category, service string }{
	allocation.NodeAsset:         {"Compute", "Kubernetes"},
	allocation.DiskAsset:         {"Storage", "Kubernetes"},
	allocation.LoadBalancerAsset: {"Network", "Kubernetes"},
	allocation.NetworkAsset:      {"Network", "Kubernetes"},
	allocation.ManagementAsset:   {"Management", "Kubernetes"},
}

// newAsset is an asset without times and cost.
func newAsset(t allocation.AssetType, cluster, title, id string, providers map[string]nodeProvider) allocation.Asset {
	traits := kinds[t]
	a := allocation.Asset{Type: t, Category: traits.category, Service: traits.service, Cluster: cluster, Title: title}
	a.Provider, a.ProviderID = allocation.ParseProviderID(id)
	if a.Provider == "" {
		a.Provider, a.Project = providers[cluster].name, providers[cluster].project
	}
	return a
}

// OfNode returns a node as an asset.
func OfNode(n *allocation.Node) allocation.Asset {
	a := newAsset(allocation.NodeAsset, n.Cluster, n.Name, n.ProviderID, nil)
	if rest, ok := strings.CutPrefix(n.ProviderID, "gce://"); ok {
		a.Project, _, _ = strings.Cut(rest, "/")
	}
	a.Labels, a.Start, a.End, a.Cost, a.Node = n.Labels, n.Start, n.End, n.TotalCost(), n
	a.Region, a.Pool = n.Region, n.Pool
	for _, v := range n.Adjustment {
		a.Adjustment += v
	}
	if n.Spot {
		a.Preemptible = 1
	}
	return a
}
