package kubeapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The help of fields is in their tags: the OpenAPI definitions are made from these types.

// typeHelp is what each type is, by its name.
var typeHelp = map[string]string{
	"Allocation":              "What a pod costs over a window, which ends where the newest closed hour does. Pods of one name in the window are one Allocation with several uids. Nobody makes Allocations: promcost computes them.",
	"AllocationSpec":          "Which pod, and which window.",
	"AllocationStatus":        "The cost of a pod. Costs are money over the window, adjustments included.",
	"AllocationList":          "What the pods of a namespace, or of all, cost over a window: 24h, or that of the field selector spec.window.",
	"ClusterAllocation":       "The answer to a question that promcost's configuration saves, such as what teams cost.",
	"ClusterAllocationSpec":   "A saved question.",
	"ClusterAllocationStatus": "The answer to a saved question. Costs are money over its window, adjustments included.",
	"ClusterAllocationRow":    "A row of the answer to a saved question.",
	"ClusterAllocationList":   "The answers to all saved questions.",
	"Asset":                   "What something that the cluster is made of costs over a window: a node, a volume, a load balancer, network or management.",
	"AssetSpec":               "Which asset, and which window.",
	"AssetStatus":             "The cost of an asset: money over the window.",
	"AssetList":               "What all assets cost over a window: 24h, or that of the field selector spec.window.",
	"Bounds":                  "Factors between which counted running time lies relative to the true one.",
}

// Allocation is what a pod costs over a window. Pods of one name in the window are one Allocation with several uids.
type Allocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Spec   AllocationSpec   `json:"spec" help:"Which pod, and which window."`
	Status AllocationStatus `json:"status" help:"What it costs."`
}

// AllocationSpec says what an Allocation is about.
type AllocationSpec struct {
	Window         string   `json:"window" help:"The window, a whole number of hours such as 24h or 7d. It ends where the newest closed hour does."`
	Pod            string   `json:"pod" help:"The name of the pod."`
	UIDs           []string `json:"uids,omitempty" help:"The uids of the pods that had the name in the window, sorted."`
	Node           string   `json:"node,omitempty" help:"The node that it ran on, if it was one."`
	ControllerKind string   `json:"controllerKind,omitempty" help:"The kind of its controller in small letters, such as deployment."`
	Controller     string   `json:"controller,omitempty" help:"The name of its controller."`
	Owner          string   `json:"owner,omitempty" help:"Who owns it: the team by the labelMapping of promcost's configuration, else the owner; with commas between where pods of the name had several. Absent where there is neither."`
	Services       []string `json:"services,omitempty" help:"The services that select it."`
}

// AllocationStatus is the cost of a pod. Costs are money over the window, adjustments included.
type AllocationStatus struct {
	Start      metav1.Time `json:"start" help:"When the first of the pods began to run inside the window."`
	End        metav1.Time `json:"end" help:"When the last of the pods ended inside the window."`
	Costs      `json:",inline"`
	Comparison `json:",inline"`

	CPUCores              float64  `json:"cpuCores" help:"Allocated cores, the larger of request and usage, while it ran."`
	CPUCoreRequestAverage float64  `json:"cpuCoreRequestAverage" help:"Requested cores."`
	CPUCoreUsageAverage   *float64 `json:"cpuCoreUsageAverage,omitempty" help:"Used cores; absent where unknown."`
	RAMBytes              float64  `json:"ramBytes" help:"Allocated bytes of memory, the larger of request and usage, while it ran."`
	RAMByteRequestAverage float64  `json:"ramByteRequestAverage" help:"Requested bytes of memory."`
	RAMByteUsageAverage   *float64 `json:"ramByteUsageAverage,omitempty" help:"Used bytes of memory; absent where unknown."`
	GPUCount              float64  `json:"gpuCount" help:"Allocated GPUs."`
	Efficiency            *float64 `json:"efficiency,omitempty" help:"Usage over request of CPU and memory, weighted by cost; absent where unknown."`
	ErrorBounds           *Bounds  `json:"errorBounds,omitempty" help:"How far running time and requests can be off; absent where nothing was counted."`
}

// Costs are money over a window, adjustments included.
type Costs struct {
	Currency         string  `json:"currency" help:"ISO 4217 code of all costs."`
	TotalCost        float64 `json:"totalCost" help:"The sum of all costs."`
	CPUCost          float64 `json:"cpuCost" help:"Cost of CPU."`
	RAMCost          float64 `json:"ramCost" help:"Cost of memory."`
	GPUCost          float64 `json:"gpuCost" help:"Cost of GPUs."`
	PVCost           float64 `json:"pvCost" help:"Cost of persistent volumes."`
	NetworkCost      float64 `json:"networkCost" help:"Cost of network traffic."`
	LoadBalancerCost float64 `json:"loadBalancerCost" help:"Cost of load balancers."`
	SharedCost       float64 `json:"sharedCost" help:"Share of costs that all bear."`
	ExternalCost     float64 `json:"externalCost" help:"Costs outside of the cluster."`
}

// Comparison compares the cost of an hour that has data with that in the window before.
type Comparison struct {
	Change *float64 `json:"change,omitempty" help:"How much the cost of an hour changed against the window before: 0.5 is half as much again. Absent where it is new, or where either window has data of less than a fifth of its hours."`
	New    bool     `json:"new,omitempty" help:"There was none of it in the window before."`
}

// Bounds are factors between which counted running time lies relative to the true one.
type Bounds struct {
	Lower *float64 `json:"lower,omitempty" help:"The smallest factor; -1 if it could have been missed altogether."`
	Upper *float64 `json:"upper,omitempty" help:"The largest factor; absent where there is no bound."`
}

// AllocationList is a list of Allocations.
type AllocationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Items []Allocation `json:"items" help:"The allocations, by namespace and name."`
}

// ClusterAllocation is the answer to a saved question of promcost's configuration.
type ClusterAllocation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Spec   ClusterAllocationSpec   `json:"spec" help:"The question."`
	Status ClusterAllocationStatus `json:"status" help:"The answer."`
}

// ClusterAllocationSpec is a saved question.
type ClusterAllocationSpec struct {
	Query string `json:"query" help:"Parameters of promcost's /model/allocation."`
}

// ClusterAllocationStatus is the answer to a saved question. Costs are money over its window, adjustments included.
type ClusterAllocationStatus struct {
	Start      *metav1.Time `json:"start,omitempty" help:"When the window begins."`
	End        *metav1.Time `json:"end,omitempty" help:"When the window ends."`
	Costs      `json:",inline"`
	Comparison `json:",inline"`
	Rows       []ClusterAllocationRow `json:"rows,omitempty" help:"The rows of the answer, the dearest first."`
	Truncated  bool                   `json:"truncated,omitempty" help:"There are more rows than these, which the costs above lack, too."`
	Warnings   []string               `json:"warnings,omitempty" help:"What promcost warns of."`
	Error      string                 `json:"error,omitempty" help:"Why there is no answer."`
}

// ClusterAllocationRow is a row of the answer to a saved question.
type ClusterAllocationRow struct {
	Name  string `json:"name" help:"The name of the row, by what the question aggregates."`
	Costs `json:",inline"`
}

// ClusterAllocationList is a list of ClusterAllocations.
type ClusterAllocationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Items []ClusterAllocation `json:"items" help:"The answers, by name."`
}

// Asset is what something that a cluster is made of costs over a window. Assets of one type and name are one Asset.
type Asset struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Spec   AssetSpec   `json:"spec" help:"Which asset, and which window."`
	Status AssetStatus `json:"status" help:"What it costs."`
}

// AssetSpec says what an Asset is about.
type AssetSpec struct {
	Window      string   `json:"window" help:"The window, a whole number of hours such as 24h or 7d. It ends where the newest closed hour does."`
	Type        string   `json:"type" help:"Node, Disk, LoadBalancer, Network or ClusterManagement."`
	Name        string   `json:"name,omitempty" help:"The name of the asset."`
	Category    string   `json:"category,omitempty" help:"Compute, Storage, Network or Management."`
	Provider    string   `json:"provider,omitempty" help:"The cloud provider."`
	ProviderIDs []string `json:"providerIDs,omitempty" help:"The provider's ids of what had the name in the window, sorted."`
	NodeType    string   `json:"nodeType,omitempty" help:"The instance type of a node."`
	NodePool    string   `json:"nodePool,omitempty" help:"The pool that a node is of."`
}

// AssetStatus is the cost of an asset: money over the window.
type AssetStatus struct {
	Start      metav1.Time `json:"start" help:"When it began inside the window."`
	End        metav1.Time `json:"end" help:"When it ended inside the window."`
	Currency   string      `json:"currency" help:"ISO 4217 code of all costs."`
	TotalCost  float64     `json:"totalCost" help:"The sum of all costs and the adjustment."`
	CPUCost    float64     `json:"cpuCost" help:"Cost of the CPU of a node."`
	RAMCost    float64     `json:"ramCost" help:"Cost of the memory of a node."`
	GPUCost    float64     `json:"gpuCost" help:"Cost of the GPUs of a node."`
	Adjustment float64     `json:"adjustment" help:"What reconciliation with the bill adds."`
	Comparison `json:",inline"`
}

// AssetList is a list of Assets.
type AssetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"` //nolint:modernize // the library streams lists only where they have this tag

	Items []Asset `json:"items" help:"The assets, by name."`
}
