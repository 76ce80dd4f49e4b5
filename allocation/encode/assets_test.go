package encode_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/assets"
	"github.com/promcost/promcost/allocation/encode"
)

// TestAssetKeys checks what is derived from the provider ids of nodes.
func TestAssetKeys(t *testing.T) {
	type properties struct{ Provider, Project, ProviderID string }
	for name, tc := range map[string]struct {
		id   string
		key  string
		want properties
	}{
		"aws": {
			"aws:///eu-1a/i-0abc", "AWS/__undefined__/__undefined__/Compute/c1/Node/Kubernetes/i-0abc/n", properties{"AWS", "", "i-0abc"},
		},
		"gce": {
			"gce://proj/eu-1/vm-1", "GCP/__undefined__/proj/Compute/c1/Node/Kubernetes/vm-1/n", properties{"GCP", "proj", "vm-1"},
		},
		"azure": {
			"azure:///subscriptions/s/vm", "Azure/__undefined__/__undefined__/Compute/c1/Node/Kubernetes/azure:///subscriptions/s/vm/n", properties{"Azure", "", "azure:///subscriptions/s/vm"},
		},
		"other":   {"kind://docker/x", "__undefined__/__undefined__/__undefined__/Compute/c1/Node/Kubernetes/kind://docker/x/n", properties{"", "", "kind://docker/x"}},
		"plain":   {"i-0abc", "__undefined__/__undefined__/__undefined__/Compute/c1/Node/Kubernetes/i-0abc/n", properties{"", "", "i-0abc"}},
		"unknown": {"", "__undefined__/__undefined__/__undefined__/Compute/c1/Node/Kubernetes/__undefined__/n", properties{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := allocation.NewSet(allocation.Window{Start: start, End: start.Add(time.Hour)}, allocation.NewDict())
			s.Nodes = []allocation.Node{{Cluster: "c1", Name: "n", ProviderID: tc.id, Start: start, End: start.Add(time.Hour)}}
			var b bytes.Buffer
			if err := encode.AssetMap(&b, assets.List(s, assets.Options{}), encode.Options{}); err != nil {
				t.Fatal(err)
			}
			var body struct {
				Data map[string]struct{ Properties properties }
			}
			if err := json.Unmarshal(b.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			got, ok := body.Data[tc.key]
			if !ok {
				t.Fatalf("no asset %s in %s", tc.key, b.Bytes())
			}
			if diff := cmp.Diff(tc.want, got.Properties); diff != "" {
				t.Errorf("properties (-want +got):\n%s", diff)
			}
		})
	}
}
