package billing

import "github.com/promcost/promcost/allocation"

// DefaultTags returns the properties that tags stand for in every bill, by the tag's name: kubernetes_namespace, k8s-namespace,
// aws:eks:namespace, and the same for cluster, controller, pod and container.
func DefaultTags() map[string]allocation.Property {
	tags := map[string]allocation.Property{}
	for name, p := range map[string]allocation.Property{
		"cluster": allocation.Cluster, "namespace": allocation.Namespace, "controller": allocation.Controller,
		"pod": allocation.Pod, "container": allocation.Container,
	} {
		for _, prefix := range [...]string{"kubernetes_", "k8s-", "aws:eks:"} {
			tags[prefix+name] = p
		}
	}
	return tags
}
