package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilter holds what promcost filter prints.
func TestFilter(t *testing.T) { checkTranscript(t, "filter") }

// TestFilterReadsStandardInput pipes an answer into the program.
func TestFilterReadsStandardInput(t *testing.T) {
	answer, err := os.Open(filepath.Join("testdata", "filter", "allocations.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for _, tc := range []struct {
		args        []string
		out, failed string
		code        int
	}{
		{[]string{`namespace:"kubecost" container:"cost-model"`}, "cluster-one/n1/kubecost/kubecost-0/cost-model\n", "", exitOK},
		{[]string{"-i", "-", "--label-selector", "tier in (node, edge)"}, "cluster-one/n2/kube-system/dns-0/dns\n", "", exitOK},
		{[]string{""}, "", "promcost: parse filter: column 1: expected a comparison such as namespace:\"web\" or \"(\", found the end\n", exitError},
		{[]string{`namespace:"a" trailing`}, "", "promcost: parse filter: column 15: unknown field \"trailing\"", exitError},
	} {
		if _, err := answer.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"filter"}, tc.args...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = answer, &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if cmd.ProcessState.ExitCode() != tc.code || stdout.String() != tc.out || !strings.HasPrefix(stderr.String(), tc.failed) {
			t.Errorf("promcost filter %q: exit %d, %q, %q", tc.args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
		}
	}
}

// TestFilterAgreesWithTheAPI applies filters to a saved answer, and in the request for it.
func TestFilterAgreesWithTheAPI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	p := start(t, append([]string{"demo", "--write=" + dir, "--demo.end=2026-01-31T12:00:00Z"}, smallDemo...)...)
	if code := <-p.code; code != exitOK {
		t.Fatalf("demo --write: exit %d: %s", code, p.err.String())
	}
	p = start(t, "serve", "--web.listen-address=127.0.0.1:0", "--source=blocks", "--tsdb.path="+dir)
	defer p.end(t)
	base := p.url(t)
	answerOf := func(path string, parameters ...string) []byte {
		form := url.Values{"window": {"2026-01-31T06:00:00Z,2026-01-31T12:00:00Z"}}
		for i := 0; i < len(parameters); i += 2 {
			form.Set(parameters[i], parameters[i+1])
		}
		resp, err := http.PostForm(base+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %v: %s, %v: %.300s", path, form, resp.Status, err, body)
		}
		return body
	}
	for _, tc := range []struct {
		api, path     string
		filter        string
		field, labels string
	}{
		{api: allocationAPI, path: "/allocation", filter: `namespace:"payments"`},
		{api: allocationAPI, path: "/allocation", filter: `namespace!:"payments"+controllerKind:"deployment","statefulset"`},
		{api: allocationAPI, path: "/allocation", filter: `label<~:"app"`},
		{api: allocationAPI, path: "/allocation", filter: `services!:""`},
		{api: allocationAPI, path: "/allocation", filter: `team!:"__unallocated__"`},
		{api: allocationAPI, path: "/allocation", field: "metadata.namespace!=payments,spec.service!="},
		{api: allocationAPI, path: "/allocation", labels: "app.kubernetes.io/name in (checkout-api,indexer),tier"},
		{api: allocationAPI, path: "/allocation", labels: "app_kubernetes_io_part_of!=payments", field: "spec.controller!=", filter: `pod~:"-"`},
		{api: assetAPI, path: "/assets", filter: `assetType:"node","disk"`},
		{api: assetAPI, path: "/assets", filter: `category!:"Compute"+account:"__unallocated__"`},
		{api: assetAPI, path: "/assets", labels: "!pool", field: "spec.type!=Disk"},
	} {
		f := &filterFlags{api: tc.api, expr: tc.filter, given: tc.filter != "", fieldSelector: tc.field, labelSelector: tc.labels}
		selects, err := f.parse()
		if err != nil {
			t.Fatal(err)
		}
		var saved bytes.Buffer
		err = f.print(selects, streams{in: bytes.NewReader(answerOf(tc.path)), out: &saved})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(saved.String())
		slices.Sort(got)
		want := namesOf(t, answerOf(tc.path, "filter", tc.filter, "fieldSelector", tc.field, "labelSelector", tc.labels))
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%+v (-API +saved): %s", tc, diff)
		}
	}
	_, metrics := get(t, base+"/metrics")
	for _, want := range []string{
		`promcost_http_requests_total{code="200",handler="/allocation",has_field_selector="true",has_label_selector="false",method="post"} 1`,
		`promcost_http_requests_total{code="200",handler="/allocation",has_field_selector="true",has_label_selector="true",method="post"} 1`,
		`promcost_http_requests_total{code="200",handler="/allocation",has_field_selector="false",has_label_selector="true",method="post"} 1`,
		`promcost_http_requests_total{code="200",handler="/assets",has_field_selector="true",has_label_selector="true",method="post"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// namesOf are the names in an answer, sorted.
func namesOf(t *testing.T, answer []byte) []string {
	t.Helper()
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &envelope); err != nil {
		t.Fatal(err)
	}
	sets := []map[string]json.RawMessage{nil}
	if err := json.Unmarshal(envelope.Data, &sets[0]); err != nil {
		if err := json.Unmarshal(envelope.Data, &sets); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, set := range sets {
		names = append(names, sortedKeys(set)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
