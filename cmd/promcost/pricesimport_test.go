package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

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
	checkTranscript(t, "imports", place{"DIR", dir}, place{"UNPRICED", unpricedNodes(t)}, place{"THINGS", pricedThings(t)})
	for _, name := range []string{"cut.yaml", "asked.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s was written: %v", name, err)
		}
	}
}
