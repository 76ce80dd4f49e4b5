package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// specBounds is the table of the Kubecost Allocation API, as it stands in its documentation.
const specBounds = `
resolution | 30s pod | 5m pod | 1h pod | 1d pod | 7d pod
1m | -1.00, 2.00 | 0.80, 1.00 | 0.98, 1.00 | 1.00, 1.00 | 1.00, 1.00
2m | -1.00, 4.00 | 0.80, 1.20 | 0.97, 1.00 | 1.00, 1.00 | 1.00, 1.00
5m | -1.00, 10.00 | -1.00, 1.00 | 0.92, 1.00 | 1.00, 1.00 | 1.00, 1.00
10m | -1.00, 20.00 | -1.00, 2.00 | 0.83, 1.00 | 0.99, 1.00 | 1.00, 1.00
30m | -1.00, 60.00 | -1.00, 6.00 | 0.50, 1.00 | 0.98, 1.00 | 1.00, 1.00
60m | -1.00, 120.00 | -1.00, 12.00 | -1.00, 1.00 | 0.96, 1.00 | 0.99, 1.00
`

func TestBoundsPrintTheSpecTable(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"bounds"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var got [][]string
	for line := range strings.Lines(stdout.String()) {
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		got = append(got, cells)
	}
	var want [][]string
	for line := range strings.Lines(strings.TrimSpace(specBounds)) {
		want = append(want, strings.Split(strings.TrimSpace(line), " | "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-spec +printed):\n%s", diff)
	}
}

func TestBoundsAsJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"bounds", "-o", "json", "--resolution=2m", "--running=5m, 30s"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var got []bound
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []bound{{"2m", "5m", 0.80, 1.20}, {"2m", "30s", -1, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

func TestBoundsTranscript(t *testing.T) { checkTranscript(t, "bounds") }
