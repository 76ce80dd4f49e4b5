package promquery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestUnseenInits checks how long an init container runs that no scrape saw, but whose start kube-state-metrics reports (SEMANTICS §2): up to the start
// of what follows it, a part of which may have been image pulls.
func TestUnseenInits(t *testing.T) {
	t.Parallel()
	init := func(name string, from, to int) []promtest.Series {
		of := []string{"container", name}
		return []promtest.Series{
			life(603, 5000, func(s int) float64 {
				if from <= s && s < to {
					return 1
				}
				return 0
			}, "kube_pod_init_container_status_running", of...),
			life(from, 5000, moment(from), "kube_pod_init_container_state_started", of...),
			life(603, 5000, always(2), "kube_pod_init_container_resource_requests", append(of, "resource", "cpu")...),
		}
	}
	main := func(from int) []promtest.Series {
		return []promtest.Series{
			life(from, 5000, always(1), "kube_pod_container_status_running", "container", "main"),
			life(from, 5000, moment(from), "kube_pod_container_state_started", "container", "main"),
		}
	}
	pod := []promtest.Series{life(601, 5000, always(1), "kube_pod_info", "node", "n1"), life(601, 5000, moment(601), "kube_pod_start_time")}
	for _, tt := range []struct {
		name   string
		series []promtest.Series
		want   map[string]float64 // seconds charged
	}{
		{"one between two scrapes", slices.Concat(init("a", 610, 630), main(633)), map[string]float64{"a": 23}},
		{"two between two scrapes", slices.Concat(init("a", 609, 619), init("b", 620, 630), main(633)), map[string]float64{"a": 11, "b": 13}},
		{"one that follows one that was seen", slices.Concat(init("a", 610, 650), init("b", 672, 690), main(693)), map[string]float64{"b": 21}},
		{"an image that is pulled for ten minutes", slices.Concat(init("a", 610, 630), main(1230)), map[string]float64{"a": 620}},
		{"across an hour", slices.Concat(init("a", 3595, 3605), main(3612)), map[string]float64{"a": 17}},
		{"nothing follows", init("a", 610, 630), map[string]float64{"a": 4407}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := lived(t, 0, slices.Concat(pod, tt.series)...)
			for container, want := range tt.want {
				if x := got[container]; x.counted != want || x.least != 0 || x.most < want {
					t.Errorf("%s: %+v, want %v s, of which none is certain", container, x, want)
				}
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, slices.Concat(pod, tt.series, []promtest.Series{life(0, 7200, always(1), "kube_node_info", "node", "n1")})...)
			partsAddUp(t, openBlocks(t, dir), allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}, Step: time.Hour}, nil)
		})
	}
}
