package promquery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestOwners verifies that kube_pod_owner is asked for those pods only whose creator kube_pod_info does not name: one without a
// controller, which somebody else may own, and all where that label was dropped.
func TestOwners(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const scrape = 60_000
	steady := func(v float64, labels ...string) promtest.Series {
		first, last := start.UnixMilli()-10*scrape, start.Add(time.Hour).UnixMilli()
		return promtest.Series{Labels: labels, Samples: promtest.Regular(first, last, scrape, func(int64) float64 { return v })}
	}
	type pod struct{ name, creator, owner, controls string } // a creator with a comma has no name
	for _, tt := range []struct {
		name string
		pods []pod
		read int64 // series of kube_pod_owner
		want []string
	}{
		{
			"creators are named",
			[]pod{{"a", "StatefulSet", "StatefulSet", "true"}, {"b", "Node", "Node", "true"}},
			0,
			[]string{"a statefulset/a-owner", "b /"},
		},
		{
			"one has no controller",
			[]pod{{"a", "StatefulSet", "StatefulSet", "true"}, {"b", "", "Workflow", "false"}, {"c", "", "", ""}},
			2,
			[]string{"a statefulset/a-owner", "b workflow/b-owner", "c /"},
		},
		{
			"only the kind is named",
			[]pod{{"a", "Job,", "Job", "true"}},
			1,
			[]string{"a job/a-owner"},
		},
		{
			"none is named",
			[]pod{{"a", "", "StatefulSet", "true"}, {"b", "", "DaemonSet", "true"}},
			2,
			[]string{"a statefulset/a-owner", "b daemonset/b-owner"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := []promtest.Series{
				steady(1, "__name__", "kube_node_info", "node", "n1"),
				steady(4, "__name__", "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core"),
			}
			for _, p := range tt.pods {
				of := []string{"namespace", "shop", "pod", p.name, "uid", p.name}
				info := append([]string{"__name__", "kube_pod_info", "node", "n1"}, of...)
				if kind, unnamed := strings.CutSuffix(p.creator, ","); kind != "" {
					info = append(info, "created_by_kind", kind)
					if !unnamed {
						info = append(info, "created_by_name", p.name+"-owner")
					}
				}
				owner := append([]string{"__name__", "kube_pod_owner"}, of...)
				if p.owner != "" {
					owner = append(owner, "owner_kind", p.owner, "owner_name", p.name+"-owner", "owner_is_controller", p.controls)
				}
				running := append([]string{"__name__", "kube_pod_container_status_running", "container", "main"}, of...)
				list = append(list, steady(1, info...), steady(1, owner...), steady(1, running...))
			}
			dir := t.TempDir()
			promtest.WriteBlocks(t, dir, 2*time.Hour, list...)
			db := openBlocks(t, dir)
			for _, shards := range []int{1, 3} {
				var got []string
				read := int64(0)
				for i := range shards {
					q := allocation.Query{Window: allocation.Window{Start: start, End: start.Add(time.Hour)}}
					if shards > 1 {
						q.Shard = allocation.Shard{Index: i + 1, Of: shards}
					}
					s := compute(t, db, q)[0]
					for row := range s.Len() {
						if pod := s.Text(allocation.Pod, row); pod != "" {
							got = append(got, pod+" "+s.Text(allocation.ControllerKind, row)+"/"+s.Text(allocation.Controller, row))
						}
					}
					read += seriesRead(s, "kube_pod_owner")
				}
				slices.Sort(got)
				if each := tt.read * int64(shards); !slices.Equal(got, tt.want) || read != each { // each shard reads pods of the whole cluster
					t.Errorf("%d shards: controllers are %q, want %q; %d series of kube_pod_owner were read, want %d", shards, got, tt.want, read, each)
				}
			}
		})
	}
}
