package labelnames_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/labelnames"
)

// TestSpot asks for the labels of spot nodes, by their names in Kubernetes and as they are exported.
func TestSpot(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		labels      map[string]string
		tells, spot bool
	}{
		{nil, false, false},
		{map[string]string{"karpenter.sh/capacity-type": "Spot"}, true, true},
		{map[string]string{"karpenter_sh_capacity_type": "on-demand"}, true, false},
		{map[string]string{"cloud_google_com_gke_spot": "true"}, true, true},
		{map[string]string{"cloud_google_com_gke_provisioning": "spot"}, true, true},
		{map[string]string{"cloud_google_com_gke_provisioning": "standard"}, true, false},
		{map[string]string{"oci_oraclecloud_com_oke_is_preemptible": "true"}, true, true},
		{map[string]string{"oci.oraclecloud.com/oke-is-preemptible": "false"}, true, false},
		{map[string]string{"alibabacloud_com_spot_instance": "yes"}, true, true},
		{map[string]string{"scheduling_cast_ai_spot": "true"}, true, true},
		{map[string]string{"spotinst_io_node_lifecycle": "spot"}, true, true},
		{map[string]string{"spotinst_io_node_lifecycle": "od"}, true, false},
		{map[string]string{"node_role_kubernetes_io_spot_worker": "true"}, true, true},
		{map[string]string{"node_kubernetes_io_lifecycle": "spot"}, true, true},
		{map[string]string{"lifecycle": "Ec2Spot"}, true, true},
		{map[string]string{"lifecycle": "OnDemand"}, true, false},
		{map[string]string{"lifecycles": "spot"}, false, false},
	} {
		if tells, spot := labelnames.TellsSpot(x.labels), labelnames.IsSpot(x.labels); tells != x.tells || spot != x.spot {
			t.Errorf("%v: %t, %t, want %t, %t", x.labels, tells, spot, x.tells, x.spot)
		}
	}
	for provider, want := range map[string]int{"": 13, "aws": 7, "gcp": 9, "oci": 7, "other": 6} {
		if got := labelnames.SpotLabels(provider); len(got) != want {
			t.Errorf("%q has %d labels, want %d", provider, len(got), want)
		}
	}
}
