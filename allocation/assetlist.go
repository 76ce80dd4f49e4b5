package allocation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// AssetType is what an asset is.
type AssetType uint8

// The types of assets.
const (
	NodeAsset AssetType = iota
	DiskAsset
	LoadBalancerAsset
	NetworkAsset
	ManagementAsset
	CloudAsset // what only bills know
	MixedAsset // what assets of different types were merged into
	NumAssetTypes
)

// assetTypes are the name of each type in the API, and the category and service of its assets.
var assetTypes = [NumAssetTypes]struct{ name, category, service string }{
	NodeAsset:         {"Node", "Compute", "Kubernetes"},
	DiskAsset:         {"Disk", "Storage", "Kubernetes"},
	LoadBalancerAsset: {"LoadBalancer", "Network", "Kubernetes"},
	NetworkAsset:      {"Network", "Network", "Kubernetes"},
	ManagementAsset:   {"ClusterManagement", "Management", "Kubernetes"},
	CloudAsset:        {"Cloud", "", ""}, // have their own
	MixedAsset:        {},
}

// String is the type's name in the API; that of a mixed one is empty.
func (t AssetType) String() string { return assetTypes[t].name }

// Asset is an asset of any type as the API serves it, or several that were merged. Properties are empty where they are
// missing, or where those merged disagree.
type Asset struct {
	Type AssetType
	Name string // of a merged one: its key
	// since tells nodes apart that have one name and one provider id: @ and when Kubernetes created it.
	since string

	Category, Service, Provider, Account, Project, Cluster, ProviderID string
	// Title is the property name: that of the node, the volume, namespace/service of a load balancer, …
	Title      string
	Region     string            // of nodes, of the disks in them, and of volumes that are labeled with it
	Labels     map[string]string // those that all merged have in common
	Start, End time.Time
	Cost       float64 // after discounts, without the adjustment
	Adjustment float64
	Credit     float64 // of Cloud, negative
	// Preemptible is 1 for spot nodes, 0 for others, between them for merged ones, by cost.
	Preemptible float64
	// Node, Disk and Balancer are the details of an asset of that type, nil for others. They must not be changed.
	Node     *Node
	Disk     *Disk
	Balancer *LoadBalancer
}

// TotalCost is the cost with its adjustment and credit.
func (a *Asset) TotalCost() float64 { return a.Cost + a.Adjustment + a.Credit }

// Minutes are those from start to end.
func (a *Asset) Minutes() float64 { return a.End.Sub(a.Start).Minutes() }

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

// ListAssets are the assets of a set. The set is not changed.
func (s *Set) ListAssets(o AssetOptions) *AssetSet {
	all := s.listAll()
	out := all[:0]
	for i := range all {
		if o.WithoutAdjustments {
			all[i].Adjustment = 0
		}
		if o.Filter == nil || o.Filter(&all[i]) {
			out = append(out, all[i])
		}
	}
	return &AssetSet{Window: s.Window, Warnings: s.Warnings, Assets: mergeAssets(out, o.Aggregate)}
}

// listAll are the assets of the set in the order of its fields.
func (s *Set) listAll() []Asset {
	providers, regions := s.clusterProviders(), s.nodeRegions()
	list := make([]Asset, 0, s.assetCount())
	same := map[identity]int{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		same[identity{n.Cluster, n.Name, n.ProviderID}]++
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		a := nodeAsset(n)
		if same[identity{n.Cluster, n.Name, n.ProviderID}] > 1 && !n.Created.IsZero() {
			a.since = "@" + timeText(n.Created)
		}
		list = append(list, a)
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		a := newAsset(DiskAsset, d.Cluster, d.Name, d.ProviderID, providers)
		a.Labels, a.Start, a.End, a.Cost, a.Adjustment, a.Disk = d.Labels, d.Start, d.End, d.Cost, d.Adjustment, d
		if d.Local {
			a.Region = regions[AssetKey{Cluster: d.Cluster, Name: d.Name}]
		}
		a.Region = cmp.Or(a.Region, LabeledRegion(d.Labels))
		list = append(list, a)
	}
	for i := range s.Balancers {
		b := &s.Balancers[i]
		a := newAsset(LoadBalancerAsset, b.Cluster, b.Namespace+"/"+b.Service, cmp.Or(b.ProviderID, b.IP), providers)
		a.Start, a.End, a.Cost, a.Adjustment, a.Balancer = b.Start, b.End, b.Cost, b.Adjustment, b
		list = append(list, a)
	}
	for i := range s.Networks {
		n := &s.Networks[i]
		a := newAsset(NetworkAsset, n.Cluster, "network", "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = n.Start, n.End, n.TotalCost(), n.Adjustment
		list = append(list, a)
	}
	for i := range s.Management {
		m := &s.Management[i]
		a := newAsset(ManagementAsset, m.Cluster, cmp.Or(m.Provisioner, "management"), "", providers)
		a.Start, a.End, a.Cost, a.Adjustment = m.Start, m.End, m.Cost, m.Adjustment
		list = append(list, a)
	}
	for i := range s.Cloud {
		c := &s.Cloud[i]
		list = append(list, Asset{
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
func (s *Set) clusterProviders() map[string]nodeProvider {
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
func (s *Set) nodeRegions() map[AssetKey]string {
	out := make(map[AssetKey]string, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out[AssetKey{Cluster: n.Cluster, Name: n.Name}] = n.Region
	}
	return out
}

// newAsset is an asset without times and cost.
func newAsset(t AssetType, cluster, title, id string, providers map[string]nodeProvider) Asset {
	traits := assetTypes[t]
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

// ParseProviderID reads the provider of a node from the id that Kubernetes has for it, and the id that the provider's bill
// and tools have: AWS, GCP or Azure. Where the form is unknown, the provider is empty and the id as given.
func ParseProviderID(full string) (provider, id string) {
	scheme, rest, ok := strings.Cut(full, "://")
	if !ok {
		return "", full
	}
	switch scheme {
	case "aws", "gce":
		// aws:///zone/instance and gce://project/zone/instance
		provider = map[string]string{"aws": "AWS", "gce": "GCP"}[scheme]
		return provider, rest[strings.LastIndexByte(rest, '/')+1:]
	case "azure":
		return "Azure", full
	}
	return "", full
}

// mergeAssets are the assets by name, those of one name merged in the order given.
func mergeAssets(list []Asset, keys []AssetDimension) []Asset {
	index := map[string]int{}
	var out []Asset
	var single []bool
	for i := range list {
		a := list[i]
		a.Name = assetName(&a, keys)
		at, ok := index[a.Name]
		if !ok {
			index[a.Name] = len(out)
			out, single = append(out, a), append(single, true)
			continue
		}
		if single[at] {
			out[at].own()
			single[at] = false
		}
		out[at].merge(&a)
	}
	slices.SortFunc(out, func(a, b Asset) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// own gives the asset details that it may change.
func (a *Asset) own() {
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
func (a *Asset) merge(b *Asset) {
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
	a.Start, a.End = earlier(a.Start, b.Start), later(a.End, b.End)
	a.Cost += b.Cost
	a.Adjustment += b.Adjustment
	a.Credit += b.Credit
	switch {
	case a.Node != nil:
		a.Node.mergeNode(b.Node)
	case a.Disk != nil:
		a.Disk.mergeDisk(b.Disk)
	case a.Balancer != nil:
		a.Balancer.mergeBalancer(b.Balancer)
	}
}

// agree empties a property where another value of it differs.
func agree(into *string, from string) {
	if *into != from {
		*into = ""
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// assetCount is how many assets the set has.
func (s *Set) assetCount() int {
	return len(s.Nodes) + len(s.Disks) + len(s.Balancers) + len(s.Networks) + len(s.Management) + len(s.Cloud)
}
