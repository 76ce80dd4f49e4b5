package assets

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
)

// mergeAssets are the assets by name, those of one name merged in the order given.
func mergeAssets(list []listed, keys []Dimension) []allocation.Asset {
	index := map[string]int{}
	var out []allocation.Asset
	var single []bool
	for i := range list {
		a := list[i].Asset
		a.Name = name(&list[i], keys)
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
	slices.SortFunc(out, func(a, b allocation.Asset) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// own gives the asset details that it may change.
func own(a *allocation.Asset) {
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
func merge(a, b *allocation.Asset) {
	if a.Type != b.Type {
		a.Type, a.Node, a.Disk, a.Balancer = allocation.MixedAsset, nil, nil, nil
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
		{&a.Pool, &b.Pool},
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

// mergeNode adds the hours and costs of another node to n. Other values stay only where both agree.
func mergeNode(n, o *allocation.Node) {
	n.Add(o)
	agree(&n.InstanceType, o.InstanceType)
	agree(&n.Pool, o.Pool)
}

// mergeDisk adds what another disk has and costs to d. How full several are is not known where one of them is not, and the largest use
// of several means nothing.
func mergeDisk(d, o *allocation.Disk) {
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
func mergeBalancer(l, o *allocation.LoadBalancer) {
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
