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
	} {
		if tells, spot := labelnames.TellsSpot(x.labels), labelnames.IsSpot(x.labels); tells != x.tells || spot != x.spot {
			t.Errorf("%v: %t, %t, want %t, %t", x.labels, tells, spot, x.tells, x.spot)
		}
	}
	for provider, want := range map[string]int{"": 5, "aws": 2, "gcp": 3, "oracle": 1} {
		if got := labelnames.SpotLabels(provider); len(got) != want {
			t.Errorf("%q has %d labels, want %d", provider, len(got), want)
		}
	}
}
