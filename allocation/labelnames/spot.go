package labelnames

import (
	"slices"
	"strings"
)

// spotLabel is a label that marks spot nodes, its value in any case, and the provider whose nodes have it; "" for any
// provider.
type spotLabel struct {
	name            Name
	value, provider string
}

var spotLabels = []spotLabel{
	{NewName("karpenter.sh/capacity-type"), "spot", ""},
	{NewName("eks.amazonaws.com/capacityType"), "spot", "aws"},
	{NewName("cloud.google.com/gke-spot"), "true", "gcp"},
	{NewName("cloud.google.com/gke-preemptible"), "true", "gcp"},
	{NewName("kubernetes.azure.com/scalesetpriority"), "spot", "azure"},
}

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
		return strings.EqualFold(value, spot.value)
	})
}

// TellsSpot reports whether labels of a node say whether it is a spot node.
func TellsSpot(labels map[string]string) bool {
	return slices.ContainsFunc(spotLabels, func(spot spotLabel) bool {
		_, ok := Find(&spot.name, labels)
		return ok
	})
}
