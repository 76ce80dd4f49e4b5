package allocation

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// AssetSet is the assets of a window.
type AssetSet struct {
	Window   Window
	Warnings []string
	Assets   []Asset // by name
}

// TotalCost is the sum of all its assets' costs and adjustments.
func (s *AssetSet) TotalCost() (cost, adjustment float64) {
	for i := range s.Assets {
		cost += s.Assets[i].TotalCost()
		adjustment += s.Assets[i].Adjustment
	}
	return cost, adjustment
}

// AssetOptions say which assets are served, and as what.
type AssetOptions struct {
	// Aggregate are the keys that assets are merged by; none keeps each by itself, named by provider, account, project,
	// category, cluster, type, service, provider id and name.
	Aggregate []AssetDimension
	// Filter selects the assets that stay, before they are merged. nil keeps all.
	Filter func(*Asset) bool
	// WithoutAdjustments takes adjustments for 0.
	WithoutAdjustments bool
}

// ListAssets lists the assets of a set. It does not change the set.
func ListAssets(s *Set, o AssetOptions) *AssetSet {
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
	return &AssetSet{Window: s.Window, Warnings: s.Warnings, Assets: mergeAssets(out, o.Aggregate)}
}

// listed is an asset on its way into a list.
type listed struct {
	Asset
	// since tells nodes apart that have one name and one provider id: @ and when Kubernetes created it.
	since string
}

// nodeName is what tells nodes apart, but for those of one name that came one after the other.
type nodeName struct{ cluster, name, providerID string }

// listAll lists all assets of the set, in the order of its fields.
func listAll(s *Set) []listed {
	providers, regions := clusterProviders(s), nodeRegions(s)
	list := make([]listed, 0, len(s.Nodes)+len(s.Disks)+len(s.Balancers)+len(s.Networks)+len(s.Management)+len(s.Cloud))
	add := func(a Asset) { list = append(list, listed{Asset: a}) }
	same := map[nodeName]int{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		same[nodeName{n.Cluster, n.Name, n.ProviderID}]++
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		add(nodeAsset(n))
		if same[nodeName{n.Cluster, n.Name, n.ProviderID}] > 1 && !n.Created.IsZero() {
			list[len(list)-1].since = "@" + n.Created.UTC().Format(time.RFC3339)
		}
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		a := newAsset(DiskAsset, d.Cluster, d.Name, d.ProviderID, providers)
		a.Labels, a.Start, a.End, a.Cost, a.Adjustment, a.Disk = d.Labels, d.Start, d.End, d.Cost, d.Adjustment, d
		if d.Local {
			a.Region = regions[AssetKey{Cluster: d.Cluster, Name: d.Name}]
		}
		a.Region = cmp.Or(a.Region, LabeledRegion(d.Labels))
		add(a)
	}
	for i := range s.Balancers {
		b := &s.Balancers[i]
		a := newAsset(LoadBalancerAsset, b.Cluster, b.Namespace+"/"+b.Service, cmp.Or(b.ProviderID, b.IP), providers)
		a.Start, a.End, a.Cost, a.Adjustment, a.Balancer = b.Start, b.End, b.Cost, b.Adjustment, b
		add(a)
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		a := newAsset(NetworkAsset, n.Cluster, "network", "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = n.Start, n.End, n.TotalCost(), n.Adjustment
		add(a)
	}
	for i := range s.Management {
		m := &s.Management[i]
		a := newAsset(ManagementAsset, m.Cluster, cmp.Or(m.Provisioner, "management"), "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = m.Start, m.End, m.Cost, m.Adjustment
		add(a)
	}
	for i := range s.Cloud {
		c := &s.Cloud[i]
		add(Asset{
			Type: CloudAsset, Title: c.Name, Category: c.Category, Service: c.Service, Provider: c.Provider, Account: c.Account,
			Project: c.Project, Cluster: c.Cluster, ProviderID: c.ProviderID, Labels: c.Labels, Start: c.Start, End: c.End,
			Cost: c.Cost, Adjustment: c.Adjustment, Credit: c.Credit,
		})
	}
	return list
}

// nodeProvider is whose a cluster's nodes are, and in which project.
type nodeProvider struct{ name, project string }

// clusterProviders are the providers of the clusters' nodes: what has no provider of its own has theirs.
func clusterProviders(s *Set) map[string]nodeProvider {
	out := map[string]nodeProvider{}
	for i := range s.Nodes {
		n := nodeAsset(&s.Nodes[i])
		if _, ok := out[n.Cluster]; !ok && n.Provider != "" {
			out[n.Cluster] = nodeProvider{n.Provider, n.Project}
		}
	}
	return out
}

// nodeRegions are the regions of the nodes.
func nodeRegions(s *Set) map[AssetKey]string {
	out := make(map[AssetKey]string, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out[AssetKey{Cluster: n.Cluster, Name: n.Name}] = n.Region
	}
	return out
}

// kinds are the category and service of the assets of each type; those of the cloud have their own.
var kinds = [NumAssetTypes]struct{ category, service string }{
	NodeAsset:         {"Compute", "Kubernetes"},
	DiskAsset:         {"Storage", "Kubernetes"},
	LoadBalancerAsset: {"Network", "Kubernetes"},
	NetworkAsset:      {"Network", "Kubernetes"},
	ManagementAsset:   {"Management", "Kubernetes"},
}

// newAsset is an asset without times and cost.
func newAsset(t AssetType, cluster, title, id string, providers map[string]nodeProvider) Asset {
	traits := kinds[t]
	a := Asset{Type: t, Category: traits.category, Service: traits.service, Cluster: cluster, Title: title}
	a.Provider, a.ProviderID = ParseProviderID(id)
	if a.Provider == "" {
		a.Provider, a.Project = providers[cluster].name, providers[cluster].project
	}
	return a
}

func nodeAsset(n *Node) Asset {
	a := newAsset(NodeAsset, n.Cluster, n.Name, n.ProviderID, nil)
	if rest, ok := strings.CutPrefix(n.ProviderID, "gce://"); ok {
		a.Project, _, _ = strings.Cut(rest, "/")
	}
	a.Labels, a.Start, a.End, a.Cost, a.Node = n.Labels, n.Start, n.End, n.TotalCost(), n
	a.Region = n.Region
	for _, v := range n.Adjustment {
		a.Adjustment += v
	}
	if n.Spot {
		a.Preemptible = 1
	}
	return a
}

// mergeAssets are the assets by name, those of one name merged in the order given.
func mergeAssets(list []listed, keys []AssetDimension) []Asset {
	index := map[string]int{}
	var out []Asset
	var single []bool
	for i := range list {
		a := list[i].Asset
		a.Name = assetName(&list[i], keys)
		at, ok := index[a.Name]
		if !ok {
			index[a.Name] = len(out)
			out, single = append(out, a), append(single, true)
			continue
		}
		if single[at] {
			own(&out[at])
			single[at] = false
		}
		merge(&out[at], &a)
	}
	slices.SortFunc(out, func(a, b Asset) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// own gives the asset details that it may change.
func own(a *Asset) {
	a.Labels = maps.Clone(a.Labels)
	if a.Node != nil {
		n := *a.Node
		a.Node = &n
	}
	if a.Disk != nil {
		d := *a.Disk
		a.Disk = &d
	}
	if a.Balancer != nil {
		b := *a.Balancer
		a.Balancer = &b
	}
}

// merge adds b to a, which owns its details.
func merge(a, b *Asset) {
	if a.Type != b.Type {
		a.Type, a.Node, a.Disk, a.Balancer = MixedAsset, nil, nil, nil
	}
	for _, p := range [...]struct{ into, from *string }{
		{&a.Category, &b.Category},
		{&a.Service, &b.Service},
		{&a.Provider, &b.Provider},
		{&a.Account, &b.Account},
		{&a.Project, &b.Project},
		{&a.Cluster, &b.Cluster},
		{&a.ProviderID, &b.ProviderID},
		{&a.Title, &b.Title},
		{&a.Region, &b.Region},
	} {
		agree(p.into, *p.from)
	}
	maps.DeleteFunc(a.Labels, func(name, value string) bool {
		other, ok := b.Labels[name]
		return !ok || other != value
	})
	if weight := a.Cost + b.Cost; weight > 0 {
		a.Preemptible = (a.Preemptible*a.Cost + b.Preemptible*b.Cost) / weight
	} else {
		a.Preemptible = (a.Preemptible + b.Preemptible) / 2
	}
	if b.Start.Before(a.Start) {
		a.Start = b.Start
	}
	if b.End.After(a.End) {
		a.End = b.End
	}
	a.Cost += b.Cost
	a.Adjustment += b.Adjustment
	a.Credit += b.Credit
	switch {
	case a.Node != nil:
		mergeNode(a.Node, b.Node)
	case a.Disk != nil:
		mergeDisk(a.Disk, b.Disk)
	case a.Balancer != nil:
		mergeBalancer(a.Balancer, b.Balancer)
	}
}

// mergeNode adds what another node has and costs to n, of which only that stays which both agree on.
func mergeNode(n, o *Node) {
	n.Add(o)
	agree(&n.InstanceType, o.InstanceType)
	agree(&n.Pool, o.Pool)
}

// mergeDisk adds what another disk has and costs to d. How full several are is not known where one of them is not, and the largest use
// of several means nothing.
func mergeDisk(d, o *Disk) {
	used := d.UsedByteHours + o.UsedByteHours
	d.Add(o)
	d.UsedByteHours, d.UsedMax = used, math.NaN()
	agree(&d.StorageClass, o.StorageClass)
	agree(&d.Name, o.Name)
	agree(&d.ClaimName, o.ClaimName)
	agree(&d.ClaimNamespace, o.ClaimNamespace)
	d.Local = d.Local && o.Local
}

// mergeBalancer adds what another load balancer costs to l.
func mergeBalancer(l, o *LoadBalancer) {
	l.Add(o)
	l.Private = l.Private && o.Private
	agree(&l.IP, o.IP)
}

// agree empties a property where another value of it differs.
func agree(into *string, from string) {
	if *into != from {
		*into = ""
	}
}
