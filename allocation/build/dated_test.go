package build_test

import (
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"

	"github.com/promcost/promcost/allocation/signals"
)

// TestNamespaceMadeAgain checks that a namespace that is deleted and created again with other labels does not change the labels of pods
// that ran before.
func TestNamespaceMadeAgain(t *testing.T) {
	series := []given{
		{signal: signals.NamespaceLabelsInfo, key: "c/other/team/red", points: minutes(1, 1, 50)},
		{signal: signals.NamespaceLabelsInfo, key: "c/other/team/blue", points: minutes(1, 55, 121)},
		{signal: signals.NamespaceAnnotationsInfo, key: "c/other/owner/ann", points: minutes(1, 1, 50)},
	}
	for _, x := range []struct {
		pod      string
		from, to int
	}{{"before", 1, 50}, {"after", 56, 121}} {
		key := "c/other/" + x.pod + "/uid-" + x.pod
		series = append(
			series,
			given{signal: signals.PodInfo, key: key + "/n/ip-" + x.pod + "/Job/j", points: minutes(1, x.from, x.to)},
			given{signal: signals.ContainerRunning, key: key + "/main/", points: minutes(1, x.from, x.to)},
		)
	}
	for _, q := range []allocation.Query{{}, {Resolution: time.Minute}, {Step: 30 * time.Minute}} {
		teams := map[string]string{}
		for _, s := range buildGiven(t, q, series) {
			for row := range s.Len() {
				if s.Text(allocation.Namespace, row) == "other" {
					pod := s.Text(allocation.Pod, row)
					for _, p := range []allocation.Property{allocation.Labels, allocation.NamespaceLabels} {
						for _, pair := range s.Pairs(p, row) {
							teams[pod+" "+p.String()] += s.Dict().Text(pair.Value) + " "
						}
					}
				}
			}
		}
		for _, p := range []string{"labels", "namespaceLabels"} {
			if got := teams["before "+p]; got != "red " && got != "red red " {
				t.Errorf("%s: %s of the pod before: %q", q.Step, p, got)
			}
			if got := teams["after "+p]; got != "blue " && got != "blue blue " && got != "blue blue blue " {
				t.Errorf("%s: %s of the pod after: %q", q.Step, p, got)
			}
		}
	}
}

// TestPodLabeledAnew checks that each hour keeps the labels and annotations that a pod had at its end.
func TestPodLabeledAnew(t *testing.T) {
	sets := buildGiven(t, allocation.Query{Step: time.Hour}, []given{
		{signal: signals.PodInfo, key: "c/ns/anew/uid-anew/n/ip9/Job/j", points: minutes(1, 1, 121)},
		{signal: signals.ContainerRunning, key: "c/ns/anew/uid-anew/main/", points: minutes(1, 1, 121)},
		{signal: signals.PodLabels, key: "c/ns/anew/uid-anew/stage/green", points: minutes(1, 1, 80)},
		{signal: signals.PodLabels, key: "c/ns/anew/uid-anew/stage/live", points: minutes(1, 80, 121)},
		{signal: signals.PodAnnotations, key: "c/ns/anew/uid-anew/stage/green", points: minutes(1, 1, 80)},
		{signal: signals.PodAnnotations, key: "c/ns/anew/uid-anew/stage/live", points: minutes(1, 80, 121)},
	})
	for i, want := range []string{"green", "live"} {
		s := sets[i]
		for row := range s.Len() {
			for _, p := range []allocation.Property{allocation.Labels, allocation.Annotations} {
				pairs := s.Pairs(p, row)
				if s.Text(allocation.Pod, row) == "anew" && (len(pairs) != 1 || s.Dict().Text(pairs[0].Value) != want) {
					t.Errorf("hour %d: %s are %v, want %s", i, p, pairs, want)
				}
			}
		}
	}
}
