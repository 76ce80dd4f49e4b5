package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// machinesOfGPUs writes blocks of a node of AWS with two GPUs, one of a scale set of Azure, and a volume, of the same hours as those of unpricedNodes, and
// returns their directory.
func machinesOfGPUs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
	var series []promtest.Series
	for _, x := range []struct {
		v      float64
		labels []string
	}{
		{1, []string{"kube_pod_container_status_running", "namespace", "shop", "pod", "web-0", "uid", "u", "container", "app"}},
		{1, []string{"kube_pod_info", "namespace", "shop", "pod", "web-0", "uid", "u", "node", "n1"}},
		{1, []string{"kube_node_info", "node", "n1", "provider_id", "aws:///eu-central-1a/i-0abc"}},
		{1, []string{"kube_node_labels", "node", "n1", "label_nvidia_com_gpu_type", "a100"}},
		{8, []string{"kube_node_status_capacity", "node", "n1", "resource", "cpu"}},
		{32 << 30, []string{"kube_node_status_capacity", "node", "n1", "resource", "memory"}},
		{2, []string{"kube_node_status_capacity", "node", "n1", "resource", "nvidia_com_gpu"}},
		{1, []string{"kube_node_info", "node", "n2", "provider_id", "azure:///subscriptions/12/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/np/virtualMachines/7"}},
		{4, []string{"kube_node_status_capacity", "node", "n2", "resource", "cpu"}},
		{8 << 30, []string{"kube_node_status_capacity", "node", "n2", "resource", "memory"}},
		{1, []string{"kube_persistentvolume_info", "persistentvolume", "pv-1", "storageclass", "fast"}},
		{10 << 30, []string{"kube_persistentvolume_capacity_bytes", "persistentvolume", "pv-1"}},
	} {
		series = append(series, promtest.Series{
			Labels: append([]string{"__name__"}, x.labels...), Samples: promtest.Regular(from, to-1, 60_000, func(int64) float64 { return x.v }),
		})
	}
	promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
	return dir
}

// TestPricesImport makes sheets of files of other programs, and compares what nodes cost by them.
func TestPricesImport(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"default.json": `{
  "provider": "custom",
  "CPU": "0.05",
  "RAM": "0.006",
  "storage": "0.0001",
  "sharedOverhead": "100",
  "awsServiceKeySecret": "secret"
}
`,
		"opencost.csv": "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n" +
			"2026-01-01,n1,,node,metadata.name,,$0.20,\n,,,node,,m5.large,0.10,\n,team-a,,node,metadata.annotations.team,,0.3,\n",
		"machines.csv": "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n" +
			",i-0abc,,node,spec.providerID,,0.30,\n,a100,,gpu,nvidia.com/gpu_type,,0.50,\n,fast,,pv,spec.storageClassName,,0.0001,\n" +
			",/subscriptions/12/RESOURCEGROUPS/RG/providers/Microsoft.Compute/virtualMachineScaleSets/np/virtualMachines/7,,node,spec.providerID,,0.25,\n",
		"monthly.csv":   "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n,,us-east-1,node,,m5.large,70.08,\n",
		"cut.json":      "{\n  \"CPU\": \"0.05\",\n  \"RAM\": \"0.0",
		"asks.json":     `{"CPU": "1"}`,
		"other.json":    `{"a": 1}`,
		"before.yaml":   "defaults: {cpuPerCoreHour: 0.04, ramPerGiBHour: 0.005}\n",
		"config.yaml":   "prices: {file: default.json}\n",
		"truncated.csv": "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n,n1,,no",
	}
	dir := writeFiles(t, files)
	written := time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)
	for name := range files {
		if err := os.Chtimes(filepath.Join(dir, name), written, written); err != nil {
			t.Fatal(err)
		}
	}
	checkTranscript(t, "imports", place{"DIR", dir}, place{"UNPRICED", unpricedNodes(t)}, place{"THINGS", pricedThings(t)}, place{"MACHINES", machinesOfGPUs(t)})
	for _, name := range []string{"cut.yaml", "asked.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s was written: %v", name, err)
		}
	}
}

// TestPricesImportOfStandardInput reads a file that is piped in.
func TestPricesImportOfStandardInput(t *testing.T) {
	var out, diagnostics strings.Builder
	to := streams{in: strings.NewReader(`{"CPU": "0.05", "awsServiceKeySecret": "secret"}`), raw: &out, err: &diagnostics}
	if err := importPrices(&importFlags{}, to); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "from standard input") || !strings.HasSuffix(text, "defaults:\n  cpuPerCoreHour: 0.05\n") || strings.Contains(text, "secret") || diagnostics.Len() > 0 {
		t.Errorf("%s%s", text, diagnostics.String())
	}
}
