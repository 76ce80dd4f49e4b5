package democluster_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// metricLabels compares the metrics and the names of their labels with a golden file: what a reader of the demo can count on.
// A label in brackets is not on all series of the metric; labels that were made from labels or annotations of objects are left out.
func metricLabels(t *testing.T, d data) {
	series, labels := map[string]int{}, map[string]map[string]int{}
	for _, s := range d.series(t) {
		name := s.labels["__name__"]
		series[name]++
		if labels[name] == nil {
			labels[name] = map[string]int{}
		}
		for label := range s.labels {
			if label != "__name__" && !strings.HasPrefix(label, "label_") && !strings.HasPrefix(label, "annotation_") {
				labels[name][label]++
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(series)) {
		var list []string
		for _, label := range slices.Sorted(maps.Keys(labels[name])) {
			if labels[name][label] < series[name] {
				label = "[" + label + "]"
			}
			list = append(list, label)
		}
		fmt.Fprintf(&b, "%s %s\n", name, strings.Join(list, " "))
	}
	path := filepath.Join("testdata", "labels.golden.txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("metrics or labels changed; -update if it was meant to (-want +got):\n%s", diff)
	}
}
