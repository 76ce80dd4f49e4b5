package kubeapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group of promcost, and its version.
var GroupVersion = schema.GroupVersion{Group: "cost.promcost.io", Version: "v1alpha1"}

// NewScheme returns the types of the group. Each is both the internal and the external one: there is nothing to convert.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	internal := schema.GroupVersion{Group: GroupVersion.Group, Version: runtime.APIVersionInternal}
	for _, r := range rows() {
		s.AddKnownTypes(GroupVersion, r.newObject(), r.newList())
		s.AddKnownTypes(internal, r.newObject(), r.newList())
		known := map[string]bool{}
		for i := range r.fields {
			known[r.fields[i].path] = true
		}
		convert := func(path, value string) (string, string, error) {
			if !known[path] {
				return "", "", unsupported(path)
			}
			return path, value, nil
		}
		if err := s.AddFieldLabelConversionFunc(GroupVersion.WithKind(r.kind), convert); err != nil {
			panic("BUG: fields of " + r.kind + ": " + err.Error())
		}
	}
	metav1.AddToGroupVersion(s, GroupVersion)
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}
