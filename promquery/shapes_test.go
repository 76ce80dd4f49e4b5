package promquery_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/democluster"
	"github.com/promcost/promcost/promquery/promtest"
	"github.com/promcost/promcost/promquery/promtest/soak"
)

// setLabel sets a label of a series, which may lack it.
func setLabel(s *promtest.Series, name, value string) {
	for i := 0; i+1 < len(s.Labels); i += 2 {
		if s.Labels[i] == name {
			s.Labels[i+1] = value
			return
		}
	}
	s.Labels = append(s.Labels, name, value)
}

// shapes change the series of a demo cluster into what real clusters have. Each gets a number of its own to choose by.
var shapes = []struct {
	name   string
	change func(r *rand.Rand, list []promtest.Series) []promtest.Series
}{
	{"static pods whose mirror is made anew", func(r *rand.Rand, list []promtest.Series) (out []promtest.Series) {
		some := r.IntN(5)
		for _, s := range list {
			uid := label(&s, "uid")
			if label(&s, "namespace") != "kube-system" || uid == "" || int(uid[0])%5 != some || len(s.Samples) < 2 {
				out = append(out, s)
				continue
			}
			at := len(s.Samples) / 2 // of all series of a pod at about the same time; its cgroup has the hash of its manifest, which stays
			for name, span := range map[string][]promtest.Sample{"mirror-1" + uid[8:]: s.Samples[:at], "mirror-2" + uid[8:]: s.Samples[at:]} {
				part := promtest.Series{Labels: slices.Clone(s.Labels), Samples: span}
				setLabel(&part, "uid", name)
				out = append(out, part)
			}
		}
		return out
	}},
	{"series of cAdvisor that linger", func(r *rand.Rand, list []promtest.Series) []promtest.Series {
		linger := 30 + r.IntN(150)
		for i := range list {
			s := &list[i]
			n := len(s.Samples)
			if name := label(s, "__name__"); n == 0 || name != "container_cpu_usage_seconds_total" && name != "container_memory_working_set_bytes" {
				continue
			}
			last := s.Samples[n-1]
			if last.V != last.V { // the marker of its end
				s.Samples, n = s.Samples[:n-1:n-1], n-1
			}
			if n == 0 {
				continue
			}
			last = s.Samples[n-1]
			for after := 30; after <= linger; after += 30 {
				s.Samples = append(s.Samples, promtest.Sample{T: last.T + int64(after)*1000, V: last.V})
			}
		}
		return list
	}},
	{"a virtual node", func(r *rand.Rand, list []promtest.Series) []promtest.Series {
		return labelSome(r, list, "node", func(s *promtest.Series) bool { return label(s, "__name__") == "kube_node_labels" }, "label_type", "virtual-kubelet")
	}},
	{"one share behind several volumes", func(_ *rand.Rand, list []promtest.Series) []promtest.Series {
		for i := range list {
			if s := &list[i]; label(s, "__name__") == "kube_persistentvolume_info" {
				setLabel(s, "csi_driver", "")
				setLabel(s, "nfs_server", "filestore")
				setLabel(s, "nfs_path", fmt.Sprintf("/%d", len(label(s, "persistentvolume"))+int(label(s, "persistentvolume")[4])%3))
			}
		}
		return list
	}},
	{"a metric that is dropped", func(r *rand.Rand, list []promtest.Series) []promtest.Series {
		dropped := []string{"kube_replicaset_owner", "kube_persistentvolumeclaim_info", "kube_service_spec_type", "kube_pod_container_state_started", "kube_pod_start_time", "container_cpu_usage_seconds_total", "kube_node_created"}
		metric := dropped[r.IntN(len(dropped))]
		return slices.DeleteFunc(list, func(s promtest.Series) bool { return label(&s, "__name__") == metric })
	}},
	{"only cgroups of pods", func(r *rand.Rand, list []promtest.Series) []promtest.Series {
		some := r.IntN(4)
		return slices.DeleteFunc(list, func(s promtest.Series) bool {
			pod := label(&s, "pod")
			return strings.HasPrefix(label(&s, "__name__"), "container_") && label(&s, "container") != "" && pod != "" && int(pod[len(pod)-1])%4 == some
		})
	}},
}

// labelSome sets a label of the series that want names, if they are of one object among those that of names.
func labelSome(r *rand.Rand, list []promtest.Series, of string, want func(*promtest.Series) bool, name, value string) []promtest.Series {
	var objects []string
	for i := range list {
		if want(&list[i]) {
			objects = append(objects, label(&list[i], of))
		}
	}
	chosen := objects[r.IntN(len(objects))]
	for i := range list {
		if s := &list[i]; want(s) && label(s, of) == chosen {
			setLabel(s, name, value)
		}
	}
	return list
}

// TestShapesOfClusters checks the laws on demo clusters that are changed into what real ones have, several shapes at a time: costs are conserved by node
// and for volumes, and hours add up to the window.
func TestShapesOfClusters(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 2, 18, 0, 0, 0, time.UTC)
	for seed := range soak.Of(3, 300) {
		r := rand.New(rand.NewPCG(uint64(seed), 42))
		chosen := r.Perm(len(shapes))[:1+r.IntN(len(shapes))]
		names := make([]string, len(chosen))
		for k, i := range chosen {
			names[k] = shapes[i].name
		}
		t.Run(fmt.Sprintf("%d: %s", seed, strings.Join(names, ", ")), func(t *testing.T) {
			c, _ := newDemoBlocks(t, democluster.Config{End: end, Duration: 6 * time.Hour, Nodes: 4, Pods: 60, Seed: int64(seed + 1)})
			list := seriesOfCluster(t, c)
			for _, i := range chosen {
				list = shapes[i].change(r, list)
			}
			db := edited(t, list, func(*promtest.Series) bool { return true })
			q := allocation.Query{Window: allocation.Window{Start: c.End().Add(-4 * time.Hour), End: c.End().Add(-time.Hour)}, Resolution: []time.Duration{0, time.Minute}[seed%2]}
			set := compute(t, db, q)[0]
			nodesConserve(t, set)
			volumesConserve(t, set)
			q.Step = time.Hour
			partsAddUp(t, db, q, overOutages)
		})
	}
}

// volumesConserve checks that rows are charged what volumes cost (SEMANTICS §5).
func volumesConserve(t *testing.T, set *allocation.Set) {
	t.Helper()
	rows, disks := 0.0, 0.0
	for row := range set.Len() {
		rows += set.Value(allocation.PVCost, row)
	}
	for i := range set.Disks {
		if !set.Disks[i].Local {
			disks += set.Disks[i].Cost
		}
	}
	if math.Abs(rows-disks) > 1e-9*disks {
		t.Errorf("rows are charged %v for volumes, which cost %v", rows, disks)
	}
}
