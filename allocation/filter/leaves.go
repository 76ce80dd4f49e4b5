package filter

import (
	"github.com/promcost/promcost/allocation/fields"
)

// leafKind is the type of a leaf of a resource.
type leafKind uint8

const (
	stringLeaf leafKind = iota
	booleanLeaf
	integerLeaf
	numberLeaf
	arrayLeaf
	mapLeaf
)

// String is the type with its article.
func (k leafKind) String() string {
	return [...]string{"a string", "a boolean", "an integer", "a number", "an array", "a map"}[k]
}

// selectable reports whether field selectors may compare it.
func (k leafKind) selectable() bool { return k <= integerLeaf }

// leaf is a place in a resource that a path leads to.
type leaf struct {
	path     string
	kind     leafKind
	field    Field // that a selector compares
	declared bool  // without the configuration
}

// metadataLeaves are the leaves that every resource has.
var metadataLeaves = []leaf{
	{".metadata.name", stringLeaf, objectName, true},
	{".metadata.namespace", stringLeaf, objectNamespace, true},
}

// aliasLeaves are the leaves of every resource that the configuration may declare.
var aliasLeaves = []leaf{
	{path: ".spec.department", field: Department},
	{path: ".spec.environment", field: Environment},
	{path: ".spec.owner", field: Owner},
	{path: ".spec.product", field: Product},
	{path: ".spec.team", field: Team},
	{path: ".spec.labels", kind: mapLeaf},
}

var allocationLeaves = []leaf{
	{".spec.cluster", stringLeaf, Cluster, true},
	{".spec.node", stringLeaf, Node, true},
	{".spec.namespace", stringLeaf, Namespace, true},
	{".spec.controllerKind", stringLeaf, objectKind, true},
	{".spec.controller", stringLeaf, ControllerName, true},
	{".spec.pod", stringLeaf, Pod, true},
	{".spec.container", stringLeaf, Container, true},
	{".spec.service", stringLeaf, firstService, true},
	{path: ".spec.providerID", field: ProviderID},
	{path: ".spec.nodePool", field: NodePool},
	{path: ".status.start", field: startTime},
	{path: ".status.end", field: endTime},
	{path: ".spec.services", kind: arrayLeaf},
	{path: ".spec.annotations", kind: mapLeaf},
	{path: ".spec.namespaceLabels", kind: mapLeaf},
	{path: ".spec.namespaceAnnotations", kind: mapLeaf},
}

var assetLeaves = []leaf{
	{".spec.type", stringLeaf, AssetType, true},
	{".spec.name", stringLeaf, Name, true},
	{".spec.category", stringLeaf, Category, true},
	{".spec.cluster", stringLeaf, Cluster, true},
	{".spec.project", stringLeaf, Project, true},
	{".spec.provider", stringLeaf, Provider, true},
	{".spec.providerID", stringLeaf, ProviderID, true},
	{".spec.account", stringLeaf, Account, true},
	{".spec.service", stringLeaf, Service, true},
	{path: ".spec.region", field: Region},
	{path: ".spec.nodeType", field: nodeType},
	{path: ".spec.nodePool", field: NodePool},
	{path: ".spec.storageClass", field: storageClass},
	{path: ".spec.volumeName", field: volumeName},
	{path: ".spec.claimName", field: claimName},
	{path: ".spec.claimNamespace", field: claimNamespace},
	{path: ".spec.ip", field: ingressIP},
	{path: ".spec.private", kind: booleanLeaf, field: private},
	{path: ".spec.preemptible", kind: booleanLeaf, field: preemptible},
	{path: ".status.totalCost", kind: numberLeaf},
	{path: ".status.adjustment", kind: numberLeaf},
	{path: ".status.minutes", kind: numberLeaf},
}

// leavesOf are all places of a resource, in the order of the documentation.
func leavesOf(r Resource) []leaf {
	leaves := append([]leaf(nil), metadataLeaves...)
	if r == Assets {
		return append(append(leaves, assetLeaves...), aliasLeaves...)
	}
	leaves = append(append(leaves, allocationLeaves...), aliasLeaves...)
	for _, f := range fields.All() {
		leaves = append(leaves, leaf{path: ".status." + f.Name, kind: numberLeaf})
	}
	return leaves
}
