package labelnames

import (
	"slices"
	"strings"
)

// spotLabel is a label that marks spot nodes, the provider whose nodes have it, "" for any provider, and its values on spot nodes, in any
// case.
type spotLabel struct {
	name     Name
	provider string
	values   []string
}

var spotLabels = []spotLabel{
	{NewName("karpenter.sh/capacity-type"), "", []string{"spot"}},
	{NewName("eks.amazonaws.com/capacityType"), "aws", []string{"spot"}},
	{NewName("cloud.google.com/gke-spot"), "gcp", []string{"true"}},
	{NewName("cloud.google.com/gke-preemptible"), "gcp", []string{"true"}},
	{NewName("cloud.google.com/gke-provisioning"), "gcp", []string{"spot", "preemptible"}},
	{NewName("kubernetes.azure.com/scalesetpriority"), "azure", []string{"spot"}},
	{NewName("oci.oraclecloud.com/oke-is-preemptible"), "oci", []string{"true"}},
	{NewName("alibabacloud.com/spot-instance"), "alibaba", []string{"true", "yes"}},
	{NewName("scheduling.cast.ai/spot"), "", []string{"true"}},
	{NewName("spotinst.io/node-lifecycle"), "", []string{"spot"}},
	{NewName("node-role.kubernetes.io/spot-worker"), "", []string{"true"}},
	{NewName("node.kubernetes.io/lifecycle"), "", lifecycles},
	{NewName("lifecycle"), "", lifecycles},
}

// lifecycles are the values of labels of kOps and older tools on spot nodes.
var lifecycles = []string{"spot", "Ec2Spot"}

// SpotLabels are the labels that mark spot nodes of a provider, those of all providers if it is "".
func SpotLabels(provider string) []Name {
	var names []Name
	for _, spot := range spotLabels {
		if provider == "" || spot.provider == "" || spot.provider == provider {
			names = append(names, spot.name)
		}
	}
	return names
}

// IsSpot reports whether labels of a node say that it is a spot node.
func IsSpot(labels map[string]string) bool {
	return slices.ContainsFunc(spotLabels, func(spot spotLabel) bool {
		value, _ := Find(&spot.name, labels)
		return slices.ContainsFunc(spot.values, func(v string) bool { return strings.EqualFold(value, v) })
	})
}

// TellsSpot reports whether labels of a node say whether it is a spot node.
func TellsSpot(labels map[string]string) bool {
	return slices.ContainsFunc(spotLabels, func(spot spotLabel) bool {
		_, ok := Find(&spot.name, labels)
		return ok
	})
}
