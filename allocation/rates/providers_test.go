package rates_test

import (
	"testing"

	"github.com/promcost/promcost/allocation/rates"
)

// TestRegion reads regions from provider ids.
func TestRegion(t *testing.T) {
	for id, want := range map[string]string{
		"aws:///eu-central-1a/i-0123": "eu-central-1", "aws:///us-gov-west-1b/i-0123": "us-gov-west-1", "aws:///us-west-2-lax-1a/i-0123": "", "gce://project/europe-west3-a/node": "europe-west3",
		"azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/p/virtualMachines/0": "", "kind://docker/kind/n": "", "": "",
	} {
		if got := rates.Region(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
