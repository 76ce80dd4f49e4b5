package charge

import (
	"cmp"
	"slices"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/build/observe"
	"github.com/promcost/promcost/allocation/signals"
)

// leftKey identifies a row for cost that no pod takes.
type leftKey struct {
	set                int32
	kind               allocation.Special // Unmounted or Unallocated
	cluster, namespace signals.Symbol     // namespace is none for cost of no namespace
}

// left is a row for cost that no pod takes.
type left struct {
	from, to  int64
	volumes   []allocation.VolumeShare
	balancers []allocation.LoadBalancerShare
}

// leftOver returns the row of a key, and extends it to (from, to]. It makes the row if it is new.
func (ch *Charger) leftOver(key leftKey, from, to int64) *left {
	x, ok := ch.left[key]
	if !ok {
		x = &left{from: from, to: to}
		ch.left[key] = x
	}
	x.from, x.to = min(x.from, from), max(x.to, to)
	return x
}

// addVolume adds a share. It sums shares of one volume, which follow each other.
func (x *left) addVolume(s *allocation.VolumeShare) {
	if n := len(x.volumes); n > 0 && x.volumes[n-1].Key == s.Key {
		x.volumes[n-1].Add(s)
		return
	}
	x.volumes = append(x.volumes, *s)
}

// addBalancer adds a share. It sums shares of one balancer, which follow each other.
func (x *left) addBalancer(s *allocation.LoadBalancerShare) {
	if n := len(x.balancers); n > 0 && x.balancers[n-1].Key == s.Key {
		x.balancers[n-1].Add(s)
		return
	}
	x.balancers = append(x.balancers, *s)
}

// makeLeftOvers makes the rows for cost that no pod takes, by cluster and namespace.
func (ch *Charger) makeLeftOvers() {
	keys := make([]leftKey, 0, len(ch.left))
	for key := range ch.left {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y leftKey) int {
		return cmp.Or(cmp.Compare(x.set, y.set), cmp.Compare(x.kind, y.kind), signals.Compare(x.cluster, y.cluster), signals.Compare(x.namespace, y.namespace))
	})
	for _, key := range keys {
		x, rows := ch.left[key], ch.Rows[key.set]
		row := int32(rows.Add(key.kind, x.from, x.to))
		for p, text := range key.names() {
			rows.IDs(allocation.Property(p))[row] = ch.Dict.Add(text)
		}
		if key.namespace != observe.None {
			rows.IDs(allocation.NamespaceLabels)[row], rows.IDs(allocation.NamespaceAnnotations)[row] = ch.Pods.Namespaces[observe.ObjectKey{Cluster: key.cluster, Namespace: key.namespace, Name: observe.None}].Metadata(x.to)
		}
		for _, v := range x.volumes {
			rows.AddVolume(row, v)
		}
		for _, v := range x.balancers {
			rows.AddBalancer(row, v)
		}
	}
}

// names are the properties of the row.
func (k *leftKey) names() (names [allocation.Services]string) {
	name := allocation.UnmountedName
	if k.kind == allocation.Unallocated {
		name = allocation.UnallocatedName
	}
	names[allocation.Cluster], names[allocation.Namespace], names[allocation.Pod], names[allocation.Container] = k.cluster.Name(), k.namespace.Name(), name, name
	switch {
	case k.namespace == observe.None:
		names[allocation.Namespace] = name
	case k.kind == allocation.Unmounted:
		names[allocation.Pod] = allocation.UnmountedPod(k.namespace.Name())
	}
	return names
}
