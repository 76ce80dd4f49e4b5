package promquery_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/labelnames"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/pricing"
	"github.com/promcost/promcost/promquery"
)

// TestVirtualNodes checks that nodes that are billed by their pods cost what these do, each at the size that it is billed for (SEMANTICS §5). A core and a GiB cost
// 1 an hour.
func TestVirtualNodes(t *testing.T) {
	t.Parallel()
	type pod struct {
		cores, gibs float64
		annotation  []string // a label of kube_pod_annotations
	}
	none := []string{}
	fargate := []string{"label_eks_amazonaws_com_compute_type", "fargate"}
	for _, tt := range []struct {
		name          string
		cores         float64
		labels, taint []string
		pods          []pod
		cpu, ram      float64 // of all pods, an hour
		idle, warned  bool
	}{
		{"a virtual kubelet", 10000, []string{"label_type", "virtual-kubelet"}, none, []pod{{1, 1, nil}, {2, 3, nil}}, 3, 4, false, false},
		{"one without pods", 10000, []string{"label_type", "virtual-kubelet"}, none, nil, 0, 0, false, false},
		{"known by its taint", 100, none, []string{"virtual-kubelet.io/provider", "azure"}, []pod{{1, 1, nil}}, 1, 1, false, false},
		{"another provider's", 100, none, []string{"eks.tke.cloud.tencent.com/eklet", ""}, []pod{{1, 1, nil}}, 1, 1, false, false},
		{"of Liqo", 100, none, []string{"virtual-node.liqo.io/not-allowed", "true"}, []pod{{1, 1, nil}}, 1, 1, false, false},
		{"larger than any machine", 10000, none, none, []pod{{1, 1, nil}}, 1, 1, false, true},
		{"more is requested than it has", 1, []string{"label_type", "virtual-kubelet"}, none, []pod{{2, 2, nil}, {2, 2, nil}}, 4, 4, false, false},
		{"Fargate", 2, fargate, none, []pod{{0.15, 0.25, []string{"annotation_CapacityProvisioned", "0.25vCPU 0.5GB"}}}, 0.25, 0.5, false, false},
		{"Fargate, as kube-state-metrics spells it", 2, fargate, none, []pod{{0.15, 0.25, []string{"annotation_capacity_provisioned", "0.5vCPU 1GB"}}}, 0.5, 1, false, false},
		{"Fargate by its taint", 2, none, []string{"eks.amazonaws.com/compute-type", "fargate"}, []pod{{0.15, 0.25, nil}}, 0.25, 0.5, false, false},
		{"Fargate's sizes", 2, fargate, none, []pod{{1, 1, nil}}, 1, 2, false, false},
		{"Fargate's sizes, by memory", 2, fargate, none, []pod{{0.2, 3, nil}}, 0.5, 4, false, false},
		{"Fargate's largest sizes", 20, fargate, none, []pod{{5, 17, nil}}, 8, 20, false, false},
		{"a node of EKS Auto Mode", 8, []string{"label_eks_amazonaws_com_compute_type", "auto"}, none, []pod{{1, 1, nil}}, 8, 8, true, false},
		{"a large machine", 1900, none, none, []pod{{1, 1, nil}}, 1900, 1900, true, false},
		{"a rule of the price sheet", 8, []string{"label_pool", "autopilot"}, none, []pod{{1, 1, nil}}, 1, 1, false, false},
	} {
		m := nodeObjects(nil)
		m.node(clusterBegin, clusterEnd, "v", "", tt.cores)
		m.add(clusterBegin, clusterEnd, 1, "kube_node_labels", append([]string{"node", "v"}, tt.labels...)...)
		m.add(clusterBegin, clusterEnd, 100*gib, "kube_node_status_capacity", "node", "v", "resource", "ephemeral_storage", "unit", "byte")
		if len(tt.taint) > 0 {
			m.add(clusterBegin, clusterEnd, 1, "kube_node_spec_taint", "node", "v", "key", tt.taint[0], "value", tt.taint[1], "effect", "NoSchedule")
		}
		for i, p := range tt.pods {
			name, uid := []string{"p", "q"}[i], []string{"39390000-0000-4000-8000-000000000001", "39390000-0000-4000-8000-000000000002"}[i]
			m.requesting(clusterBegin, clusterEnd, "a", name, uid, "v", p.cores, p.gibs)
			if p.annotation != nil {
				m.add(clusterBegin, clusterEnd, 1, "kube_pod_annotations", append([]string{"namespace", "a", "pod", name, "uid", uid}, p.annotation...)...)
			}
		}
		db := m.blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				set := computeRated(t, db, twoHours(resolution), "nodes: [{labels: {pool: autopilot}, billedBy: pods, cpuPerCoreHour: 1, ramPerGiBHour: 1}]")
				for r, want := range map[allocation.Resource]float64{allocation.CPU: tt.cpu, allocation.RAM: tt.ram} {
					node, idle := 0.0, 0.0
					for _, n := range set.Nodes {
						if n.Name == "v" {
							node, idle = n.Cost[r], n.Idle[r]
							if math.Abs(n.Hours[r]/r.PerPriceUnit()-n.Cost[r]) > 1e-9 {
								t.Errorf("%s: %g hours cost %g", r, n.Hours[r]/r.PerPriceUnit(), n.Cost[r])
							}
						}
					}
					pods := sums(set, allocation.NodeName, allocation.Cost.Of(r))["v"]
					if math.Abs(node/2-want) > 0.01*want || (idle > 1e-9) != tt.idle || math.Abs(pods+idle-node) > 1e-9 {
						t.Errorf("%s: the node costs %g an hour, want %g; pods %g, idle %g", r, node/2, want, pods/2, idle/2)
					}
				}
				for _, d := range set.Disks {
					if d.Local && d.Name == "v" && !tt.idle {
						t.Errorf("it has a disk of its own: %+v", d)
					}
				}
				if r := residual(set); r > 1e-9 {
					t.Errorf("%g belongs to no node", r)
				}
				if warned := slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, "1 node has more than 2,000 cores") }); warned != tt.warned {
					t.Errorf("warnings %q", set.Warnings)
				}
				q := twoHours(resolution)
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}

// TestVirtualNodesOfOneProviderID checks that virtual nodes with one provider id cost what their pods do, each of them (SEMANTICS §5).
func TestVirtualNodesOfOneProviderID(t *testing.T) {
	t.Parallel()
	m := nodeObjects(nil)
	for i, name := range []string{"v1", "v2"} {
		m.node(clusterBegin, clusterEnd, name, "external", 10000)
		m.add(clusterBegin, clusterEnd, 1, "kube_node_spec_taint", "node", name, "key", "virtual-kubelet.io/provider", "value", "cloud", "effect", "NoSchedule")
		m.pod(clusterBegin, clusterEnd, "a", "p"+name, fmt.Sprintf("39390000-0000-4000-8000-%012d", i), name)
	}
	db := m.blocks(t)
	for _, resolution := range grids() {
		set := compute(t, db, twoHours(resolution))[0]
		nodes, pods := nodeFigures(set)
		areNear(t, "cost of node", 1e-6, nodes, map[string]float64{"v1": 2, "v2": 2}, 1)
		areNear(t, "cost of pod", 1e-6, pods, map[string]float64{"pv1": 2, "pv2": 2}, 1)
		if n := warnedCount(set, "of another ("); n > 0 {
			t.Errorf("warnings %q", set.Warnings)
		}
	}
}

// TestVirtualTaints checks that all taints of virtual nodes are asked for.
func TestVirtualTaints(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(promquery.Inputs, func(in promquery.Input) bool { return in.Name == "node taints" })
	asked := promquery.Inputs[i].Alternatives[0].Matchers[0].Value
	if want := strings.Join(labelnames.VirtualTaints(), "|"); asked != want {
		t.Errorf("keys %s are asked for, want %s", asked, want)
	}
}

// computeRated computes a set with a price sheet.
func computeRated(t *testing.T, src promquery.Source, q allocation.Query, sheet string) *allocation.Set {
	t.Helper()
	rated := config
	parsed, err := pricing.Parse("prices.yaml", []byte(sheet))
	if err != nil {
		t.Fatal(err)
	}
	rated.Rates = parsed.WithList(listprices.Embedded())
	sets, err := promquery.NewEngine(src, rated).Compute(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// TestSpotLabelsOfSheet checks that nodes with a label that the price sheet names cost what spot nodes do (SEMANTICS §4).
func TestSpotLabelsOfSheet(t *testing.T) {
	t.Parallel()
	m := nodeObjects(nil)
	for _, x := range [][]string{{"spot", "label_example_com_pool_kind", "preemptible"}, {"regular", "label_example_com_pool_kind", "regular"}, {"unlabeled"}} {
		m.add(clusterBegin, clusterEnd, 1, "kube_node_info", "node", x[0])
		m.add(clusterBegin, clusterEnd, 1, "kube_node_status_capacity", "node", x[0], "resource", "cpu", "unit", "core")
		m.add(clusterBegin, clusterEnd, 1, "kube_node_labels", append([]string{"node"}, x...)...)
	}
	db := m.blocks(t)
	for _, resolution := range grids() {
		set := computeRated(t, db, twoHours(resolution), "defaults: {cpuPerCoreHour: 1, spotCPUPerCoreHour: 0.25}\nspotLabels: {example.com/poolKind: [spot, preemptible]}")
		got := map[string]float64{}
		for _, n := range set.Nodes {
			got[n.Name] = n.Cost[allocation.CPU] / 2
			if n.Spot != (n.Name == "spot") {
				t.Errorf("%s is a spot node: %t", n.Name, n.Spot)
			}
		}
		delete(got, "other")
		areNear(t, "cost of an hour", 1e-6, got, map[string]float64{"spot": 0.25, "regular": 1, "unlabeled": 1}, 1)
	}
}
