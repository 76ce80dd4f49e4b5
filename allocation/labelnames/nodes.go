package labelnames

// Labels of nodes, the current name before the deprecated one.
var (
	InstanceTypeLabels = Aliases("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
	ZoneLabels         = Aliases("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
	ArchLabels         = Aliases("kubernetes.io/arch", "beta.kubernetes.io/arch")
	PoolLabels         = Aliases("cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "agentpool", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name")
	GPULabels          = Aliases("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name", "amd.com/gpu.product-name")
	GPUReplicaLabels   = Aliases("nvidia.com/gpu.replicas")
	GPUProductLabels   = Aliases("nvidia.com/gpu.product")
)
