package labelnames_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/labelnames"
)

// TestVirtualNodes asks for the labels and taints of nodes that are billed by their pods.
func TestVirtualNodes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		label, value     string
		virtual, fargate bool
	}{
		{"type", "virtual-kubelet", true, false},
		{"type", "kwok", true, false},
		{"type", "worker", false, false},
		{"eks_amazonaws_com_compute_type", "fargate", true, true},
		{"eks.amazonaws.com/compute-type", "auto", false, false},
		{"node_kubernetes_io_instance_type", "eklet", true, false},
		{"node_kubernetes_io_instance_type", "m5.xlarge", false, false},
		{"liqo_io_type", "virtual-node", true, false},
		{"virtual_node_interlink_type", "virtual-kubelet", true, false},
		{"vcluster_loft_sh_fake_node", "true", true, false},
	} {
		labels := map[string]string{x.label: x.value}
		if virtual, fargate := labelnames.IsVirtual(labels), labelnames.IsFargate(labels); virtual != x.virtual || fargate != x.fargate {
			t.Errorf("%v: %t, %t, want %t, %t", labels, virtual, fargate, x.virtual, x.fargate)
		}
	}
	for _, x := range []struct {
		key, value       string
		virtual, fargate bool
	}{
		{"virtual-kubelet.io/provider", "azure", true, false},
		{"eks.amazonaws.com/compute-type", "fargate", true, true},
		{"eks.amazonaws.com/compute-type", "auto", false, false},
		{"virtual-node.liqo.io/not-allowed", "true", true, false},
		{"virtual-node.interlink/no-schedule", "true", true, false},
		{"node.kubernetes.io/unschedulable", "", false, false},
	} {
		if virtual, fargate := labelnames.IsVirtualTaint(x.key, x.value); virtual != x.virtual || fargate != x.fargate {
			t.Errorf("%s=%s: %t, %t, want %t, %t", x.key, x.value, virtual, fargate, x.virtual, x.fargate)
		}
	}
}
