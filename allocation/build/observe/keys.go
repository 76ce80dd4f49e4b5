package observe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promcost/promcost/allocation/services"
	"github.com/promcost/promcost/allocation/signals"
)

type (
	// ObjectKey names a namespaced object, or a namespace where name is "".
	ObjectKey struct{ Cluster, Namespace, Name signals.Symbol }
	// PodKey names a pod.
	PodKey struct {
		ObjectKey
		UID signals.Symbol
		Nth int // from 1, numbers pods of one name without a UID by the nodes that they were on; else 0
	}
	// NodeKey names a node, or another object that has no namespace.
	NodeKey struct{ Cluster, Name signals.Symbol }
	// OwnerKey names an object that owns others.
	OwnerKey struct {
		Kind signals.Symbol // replicaset or job
		ObjectKey
	}
)

// None is the symbol of "".
var None signals.Symbol

// SortedSymbols are the keys of m by their texts.
func SortedSymbols[V any](m map[signals.Symbol]V) []signals.Symbol {
	return slices.SortedFunc(maps.Keys(m), signals.Compare)
}

// Named is the name of an object in the index of services.
func (k ObjectKey) Named() services.Object {
	return services.Object{Cluster: k.Cluster, Namespace: k.Namespace, Name: k.Name}
}

// ComparePods orders pods by cluster, namespace, name and UID.
func ComparePods(x, y *Pod) int {
	if x.ObjectKey == y.ObjectKey {
		return signals.Compare(x.UID, y.UID)
	}
	return compareObjects(x.ObjectKey, y.ObjectKey)
}

func compareObjects(x, y ObjectKey) int {
	if x.Cluster == y.Cluster && x.Namespace == y.Namespace {
		return signals.Compare(x.Name, y.Name)
	}
	return cmp.Or(signals.Compare(x.Cluster, y.Cluster), signals.Compare(x.Namespace, y.Namespace))
}

// SortedObjects are the keys of m by cluster, namespace and name.
func SortedObjects[V any](m map[ObjectKey]V) []ObjectKey {
	return slices.SortedFunc(maps.Keys(m), compareObjects)
}

// SortedNodeKeys are the keys of m by cluster and name.
func SortedNodeKeys[V any](m map[NodeKey]V) []NodeKey {
	keys := make([]NodeKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y NodeKey) int {
		return cmp.Or(signals.Compare(x.Cluster, y.Cluster), signals.Compare(x.Name, y.Name))
	})
	return keys
}
