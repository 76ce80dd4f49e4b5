package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/promquery/promtest"
)

// bucketConfig writes a file that names a directory as an object store.
func bucketConfig(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bucket.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "type: FILESYSTEM\nconfig: {directory: %q}\n", dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestBackfillBucket fills a history from a tenant's blocks in a bucket, with the same files as from the blocks on disk.
func TestBackfillBucket(t *testing.T) {
	t.Parallel()
	days := writeDays(t)
	disk, stored := t.TempDir(), t.TempDir()
	const from = "--from=2026-01-30"
	mustRun(t, backfillArgs(days, disk, from)...)
	config := bucketConfig(t, filepath.Dir(days))
	out := mustRun(t, "backfill", "--blocks.config="+config, "--blocks.tenant="+filepath.Base(days), "--storage.path="+stored, "--history.grace=0s", from)
	if diff := cmp.Diff(historyFiles(t, disk), historyFiles(t, stored)); diff != "" || !strings.Contains(out, "36 hours computed and kept") {
		t.Errorf("%s (-blocks +bucket):\n%s", out, diff)
	}
}

// TestBucketBesideServer reads a bucket for the time before what a Prometheus has, which has other external labels than it shows.
func TestBucketBesideServer(t *testing.T) {
	t.Parallel()
	days := writeDays(t)
	blocks, err := filepath.Glob(filepath.Join(days, "*", "meta.json"))
	if err != nil || len(blocks) < 10 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	recent, all := t.TempDir(), t.TempDir()
	for i, meta := range blocks {
		dir, name := filepath.Dir(meta), filepath.Base(filepath.Dir(meta))
		if i >= len(blocks)/2 {
			if err := os.CopyFS(filepath.Join(recent, name), os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(filepath.Join(all, name), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		labelBlock(t, filepath.Join(all, name, "meta.json"))
	}
	prometheus := promtest.Start(t, recent, promtest.Config{External: map[string]string{"cluster": "prod", "replica": "a"}})
	ask := func(source ...string) (answer, log string) {
		var stdout, stderr bytes.Buffer
		args := append([]string{"query", "allocation", "--cluster.id=prod", "--window=2026-01-29T00:00:00Z,2026-01-31T00:00:00Z", "--step=1d", "--output=csv", "--log.slow-query=1ns"}, source...)
		if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	want, _ := ask("--source=blocks", "--tsdb.path="+days)
	got, log := ask("--blocks.config="+bucketConfig(t, all), "--prometheus.url="+prometheus)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 200 {
		t.Errorf("answers differ (-blocks +joined):\n%s", diff)
	}
	if !regexp.MustCompile(`sources="bucket [^"]*, [1-9]\d+ samples; remote-read [^"]*, [1-9]\d+ samples`).MatchString(log) {
		t.Errorf("not both are read:\n%s", log)
	}
}

// labelBlock adds the labels to a meta.json that Thanos' sidecar adds.
func labelBlock(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]any{}
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	meta["thanos"] = map[string]any{"labels": map[string]string{"cluster": "prod", "replica": "a"}}
	if text, err = json.Marshal(meta); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
