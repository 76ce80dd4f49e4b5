package kubeapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject implements runtime.Object.
func (a *Allocation) DeepCopyObject() runtime.Object {
	c := *a
	c.ObjectMeta = *a.DeepCopy()
	c.Spec.UIDs, c.Spec.Services = slices.Clone(a.Spec.UIDs), slices.Clone(a.Spec.Services)
	s := &c.Status
	s.Change = copied(s.Change)
	s.CPUCoreUsageAverage, s.RAMByteUsageAverage, s.Efficiency = copied(s.CPUCoreUsageAverage), copied(s.RAMByteUsageAverage), copied(s.Efficiency)
	if s.ErrorBounds != nil {
		s.ErrorBounds = &Bounds{copied(s.ErrorBounds.Lower), copied(s.ErrorBounds.Upper)}
	}
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *AllocationList) DeepCopyObject() runtime.Object {
	return &AllocationList{l.TypeMeta, *l.DeepCopy(), copies(l.Items)}
}

// DeepCopyObject implements runtime.Object.
func (a *ClusterAllocation) DeepCopyObject() runtime.Object {
	c := *a
	c.ObjectMeta = *a.DeepCopy()
	c.Status.Change = copied(a.Status.Change)
	c.Status.Start, c.Status.End = copied(a.Status.Start), copied(a.Status.End)
	c.Status.Rows, c.Status.Warnings = slices.Clone(a.Status.Rows), slices.Clone(a.Status.Warnings)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *ClusterAllocationList) DeepCopyObject() runtime.Object {
	return &ClusterAllocationList{l.TypeMeta, *l.DeepCopy(), copies(l.Items)}
}

// DeepCopyObject implements runtime.Object.
func (a *Asset) DeepCopyObject() runtime.Object {
	c := *a
	c.ObjectMeta = *a.DeepCopy()
	c.Spec.ProviderIDs = slices.Clone(a.Spec.ProviderIDs)
	c.Status.Change = copied(a.Status.Change)
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *AssetList) DeepCopyObject() runtime.Object {
	return &AssetList{l.TypeMeta, *l.DeepCopy(), copies(l.Items)}
}

// object is a pointer to an API type.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// copies are deep copies of the items of a list.
func copies[T any, P object[T]](items []T) []T {
	if items == nil {
		return nil
	}
	out := make([]T, len(items))
	for i := range items {
		out[i] = *P(&items[i]).DeepCopyObject().(P)
	}
	return out
}

// copied is a pointer to a copy; nil stays nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
