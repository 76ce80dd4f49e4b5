package labelnames

// Labels of nodes, the current name before the deprecated one.
var (
	InstanceTypeLabels = Aliases("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
	ZoneLabels         = Aliases("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
	ArchLabels         = Aliases("kubernetes.io/arch", "beta.kubernetes.io/arch")
	// PoolLabels name the group that a node was made in: by GKE, EKS, AKS and Karpenter, by the Terraform module of OKE, which itself has
	// only an annotation, and by DigitalOcean, Scaleway, Linode, IBM, Alibaba, Gardener, eksctl and kOps.
	PoolLabels = Aliases("cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "agentpool", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name",
		"oke.oraclecloud.com/pool.name", "doks.digitalocean.com/node-pool", "k8s.scaleway.com/pool-name", "lke.linode.com/pool-id", "ibm-cloud.kubernetes.io/worker-pool-name",
		"alibabacloud.com/nodepool-id", "worker.gardener.cloud/pool", "alpha.eksctl.io/nodegroup-name", "kops.k8s.io/instancegroup")
	GPULabels        = Aliases("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name", "amd.com/gpu.product-name")
	GPUReplicaLabels = Aliases("nvidia.com/gpu.replicas")
	GPUProductLabels = Aliases("nvidia.com/gpu.product")
)
