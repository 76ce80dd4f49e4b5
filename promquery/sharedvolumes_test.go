package promquery_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
)

const (
	kib = 1 << 10
	gib = 1 << 30
)

// claimed is a volume with a claim of its namespace.
type claimed struct {
	namespace string
	size      float64 // of the PersistentVolume, 0 for unknown
	seen      float64 // by kubelets while a pod runs, 0 for never
	from, to  int
	info      []string // labels of kube_persistentvolume_info
}

// mounting is a pod of a namespace that mounts the claims of volumes.
type mounting struct {
	namespace, name string
	from, to        int
	volumes         []int
}

// volumeCluster has a node, and volumes called pv-0, pv-1 and so on, at a price of 1 a GiB.
func volumeCluster(volumes []claimed, pods []mounting) *madeUp {
	m := &madeUp{}
	m.node(clusterBegin, clusterEnd, "n1", "aws:///zone/i-1", 8)
	for i, v := range volumes {
		pv := fmt.Sprintf("pv-%d", i)
		if v.size > 0 {
			m.add(v.from, v.to, v.size, "kube_persistentvolume_capacity_bytes", "persistentvolume", pv)
		}
		m.add(v.from, v.to, 1, "kube_persistentvolume_info", append([]string{"persistentvolume", pv, "storageclass", "fast"}, v.info...)...)
		m.add(v.from, v.to, 1, "kube_persistentvolumeclaim_info", "namespace", v.namespace, "persistentvolumeclaim", "claim-"+pv, "volumename", pv)
		m.scraped("opencost", v.from, v.to, always(1), "pv_hourly_cost", "persistentvolume", pv)
	}
	for i, p := range pods {
		uid := fmt.Sprintf("29290000-0000-4000-8000-%012d", i)
		m.pod(p.from, p.to, p.namespace, p.name, uid, "n1")
		for _, k := range p.volumes {
			v, pv := volumes[k], fmt.Sprintf("pv-%d", k)
			m.add(p.from, p.to, 1, "kube_pod_spec_volumes_persistentvolumeclaims_info", "namespace", p.namespace, "pod", p.name, "uid", uid, "volume", "v", "persistentvolumeclaim", "claim-"+pv)
			if v.seen > 0 {
				m.scraped("kubelet", p.from, p.to, always(v.seen), "kubelet_volume_stats_capacity_bytes", "namespace", p.namespace, "persistentvolumeclaim", "claim-"+pv)
				m.scraped("kubelet", p.from, p.to, always(v.seen/4), "kubelet_volume_stats_used_bytes", "namespace", p.namespace, "persistentvolumeclaim", "claim-"+pv)
			}
		}
	}
	return m
}

// TestVolumesThatAreOne checks that a share behind several persistent volumes costs once, and that the pods divide it that mount any of them (SEMANTICS §5).
func TestVolumesThatAreOne(t *testing.T) {
	t.Parallel()
	nfs := func(path string) []string { return []string{"nfs_server", "filestore", "nfs_path", path} }
	csi := func(driver, handle string) []string {
		return []string{"csi_driver", driver, "csi_volume_handle", handle}
	}
	volume := func(namespace string, size float64, info []string) claimed {
		return claimed{namespace, size * gib, 300 * gib, clusterBegin, clusterEnd, info}
	}
	pod := func(namespace string, volumes ...int) mounting {
		return mounting{namespace, "p", clusterBegin, clusterEnd, volumes}
	}
	for _, tt := range []struct {
		name    string
		volumes []claimed
		pods    []mounting
		cost    map[string]float64 // by namespace, an hour
		disks   map[string]float64 // GiB by name
		used    float64            // GiB
	}{
		{
			"an NFS share",
			[]claimed{volume("a", 300, nfs("/x")), volume("b", 300, nfs("/x")), volume("c", 300, nfs("/x"))},
			[]mounting{pod("a", 0), pod("b", 1), pod("c", 2)},
			map[string]float64{"a": 100, "b": 100, "c": 100},
			map[string]float64{"pv-0": 300},
			75,
		},
		{
			"an NFS share that is spelled in two ways",
			[]claimed{volume("a", 300, []string{"nfs_server", "filestore.internal", "nfs_path", "/x"}), volume("b", 300, []string{"nfs_server", "Filestore.internal", "nfs_path", "/x/"})},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 150, "b": 150},
			map[string]float64{"pv-0": 300},
			75,
		},
		{
			"directories of one server",
			[]claimed{volume("a", 300, nfs("/x")), volume("b", 300, nfs("/y"))},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 300, "b": 300},
			map[string]float64{"pv-0": 300, "pv-1": 300},
			150,
		},
		{
			"one handle, the second the largest",
			[]claimed{volume("a", 100, csi("efs", "fs-1")), volume("b", 300, csi("efs", "fs-1"))},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 150, "b": 150},
			map[string]float64{"pv-1": 300},
			75,
		},
		{
			"one handle of two drivers",
			[]claimed{volume("a", 100, csi("efs", "1")), volume("b", 300, csi("ebs", "1"))},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 100, "b": 300},
			map[string]float64{"pv-0": 100, "pv-1": 300},
			150,
		},
		{
			"no handle",
			[]claimed{volume("a", 100, nil), volume("b", 300, nil)},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 100, "b": 300},
			map[string]float64{"pv-0": 100, "pv-1": 300},
			150,
		},
		{
			"a pod that mounts two of them",
			[]claimed{volume("a", 300, nfs("/x")), volume("a", 300, nfs("/x")), volume("b", 300, nfs("/x"))},
			[]mounting{pod("a", 0, 1), pod("b", 2)},
			map[string]float64{"a": 150, "b": 150},
			map[string]float64{"pv-0": 300},
			75,
		},
		{
			"pods that mount only the second",
			[]claimed{volume("a", 300, nfs("/x")), volume("b", 300, nfs("/x"))},
			[]mounting{pod("b", 1)},
			map[string]float64{"b": 300},
			map[string]float64{"pv-0": 300},
			75,
		},
		{
			"nobody mounts it",
			[]claimed{volume("a", 300, nfs("/x")), volume("b", 400, nfs("/x"))},
			nil,
			map[string]float64{"b": 400},
			map[string]float64{"pv-1": 400},
			0,
		},
		{
			"the largest goes after an hour",
			[]claimed{volume("a", 200, nfs("/x")), {"b", 300 * gib, 0, clusterBegin, 3600, nfs("/x")}},
			[]mounting{pod("a", 0), pod("b", 1)},
			map[string]float64{"a": 175, "b": 75},
			map[string]float64{"pv-0": 100, "pv-1": 150},
			75,
		},
	} {
		db := volumeCluster(tt.volumes, append(tt.pods, mounting{"other", "o", clusterBegin, clusterEnd, nil})).blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				set := compute(t, db, twoHours(resolution))[0]
				areNear(t, "cost an hour", 0.01, sums(set, allocation.Namespace, allocation.PVCost), tt.cost, 2)
				disks, used := map[string]float64{}, 0.0
				for _, d := range set.Disks {
					disks[d.Name] += d.ByteHours / gib
					if d.UsedByteHours == d.UsedByteHours {
						used += d.UsedByteHours / 2 / gib
					}
				}
				areNear(t, "size", 0.01, disks, tt.disks, 2)
				if math.Abs(used-tt.used) > 0.01*tt.used {
					t.Errorf("%g GiB are used, want %g", used, tt.used)
				}
				q := twoHours(resolution)
				q.Step = 30 * time.Minute
				partsAddUp(t, db, q, nil)
			})
		}
	}
}

// TestClaimsOfVolumesThatAreOne checks who pays for a share whose claim was made again with another persistent volume, while the one before stayed (SEMANTICS §5).
func TestClaimsOfVolumesThatAreOne(t *testing.T) {
	t.Parallel()
	share := []string{"csi_driver", "efs", "csi_volume_handle", "fs-1"}
	for _, tt := range []struct {
		name string
		gap  int // seconds without a claim
		want map[string]float64
	}{
		{"at once", 0, map[string]float64{"p": 900, "q": 6300}},
		{"after two minutes", 120, map[string]float64{"p": 1020, "q": 6180}},
	} {
		made := 900 + tt.gap
		m := volumeCluster([]claimed{{"a", 100 * gib, 0, made, clusterEnd, share}}, []mounting{{"a", "p", clusterBegin, 900, []int{0}}, {"a", "q", made, clusterEnd, []int{0}}, {"other", "o", clusterBegin, clusterEnd, nil}})
		m.add(clusterBegin, clusterEnd, 100*gib, "kube_persistentvolume_capacity_bytes", "persistentvolume", "before")
		m.add(clusterBegin, clusterEnd, 1, "kube_persistentvolume_info", append([]string{"persistentvolume", "before", "storageclass", "fast"}, share...)...)
		m.add(clusterBegin, 900, 1, "kube_persistentvolumeclaim_info", "namespace", "a", "persistentvolumeclaim", "claim-pv-0", "volumename", "before")
		m.scraped("opencost", clusterBegin, clusterEnd, always(1), "pv_hourly_cost", "persistentvolume", "before")
		db := m.blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				q := twoHours(resolution)
				q.After = time.Hour
				areNear(t, "seconds", 0.02, sums(compute(t, db, q)[0], allocation.Pod, allocation.PVCost), tt.want, 100./3600)
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}

// areNear compares numbers, given by so many hours, with what they are to be.
func areNear(t *testing.T, what string, within float64, got, want map[string]float64, hours float64) {
	t.Helper()
	for _, of := range []map[string]float64{got, want} {
		for name := range of {
			if g, w := got[name]/hours, want[name]; math.Abs(g-w) > within*max(g, w) {
				t.Errorf("%s of %q is %g, want %g", what, name, g, w)
			}
		}
	}
}

// TestVolumeSizes checks of which size a volume is of which kubelets and the PersistentVolume tell differently (SEMANTICS §5).
func TestVolumeSizes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		size, seen float64
		want       float64 // GiB
		warning    string
	}{
		{"a forgotten unit", 51, 50 * gib, 50, "1 volume is said to have less than 1 MiB (pv-0)"},
		{"a unit of KiB", 50 * kib, 50 * gib, 50, "1 volume is said to have less than 1 MiB (pv-0)"},
		{"a forgotten unit of a file system without a bound", 51, 8 << 60, 0, ""},
		{"a forgotten unit of what no kubelet sees", 51, 0, 0, ""},
		{"a file system without a bound", 5 * gib, 8 << 60, 5, ""},
		{"another size by kubelets", 50 * gib, 49 * gib, 50, ""},
		{"a large one", 2000 << 40, 2000 << 40, 2000 << 10, ""},
		{"only kubelets", 0, 50 * gib, 50, ""},
		{"only kubelets, and no bound", 0, 8 << 60, 0, "its capacity is not known (pv-0)"},
	} {
		db := volumeCluster([]claimed{{"a", tt.size, tt.seen, clusterBegin, clusterEnd, nil}}, []mounting{{"a", "p", clusterBegin, clusterEnd, []int{0}}}).blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				set := compute(t, db, twoHours(resolution))[0]
				if got := sums(set, allocation.Namespace, allocation.PVCost)["a"] / 2; math.Abs(got-tt.want) > 1e-6*max(tt.want, 1) {
					t.Errorf("a costs %g an hour, want %g", got, tt.want)
				}
				says := func(text string) bool {
					return slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, text) })
				}
				if !says(tt.warning) || tt.warning == "" && (says("1 volume is said to") || says("is not known")) {
					t.Errorf("warnings %q, want %q", set.Warnings, tt.warning)
				}
				q := twoHours(resolution)
				q.Step = 30 * time.Minute
				partsAddUp(t, db, q, nil)
			})
		}
	}
}

// TestMomentsBetweenMounts checks who pays for a volume between two pods that mount it: the first one for up to five minutes, else nobody (SEMANTICS §4).
func TestMomentsBetweenMounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		pods []mounting
		want map[string]float64 // seconds paid by pod
	}{
		{"a minute", []mounting{{"a", "p", clusterBegin, 1810, []int{0}}, {"a", "q", 1870, clusterEnd, []int{0}}}, map[string]float64{"p": 1870, "q": 5330}},
		{"over the border of an hour", []mounting{{"a", "p", clusterBegin, 3570, []int{0}}, {"a", "q", 3690, clusterEnd, []int{0}}}, map[string]float64{"p": 3690, "q": 3510}},
		{"from the border of an hour", []mounting{{"a", "p", clusterBegin, 3600, []int{0}}, {"a", "q", 3690, clusterEnd, []int{0}}}, map[string]float64{"p": 3690, "q": 3510}},
		{"over the start of the window", []mounting{{"a", "p", clusterBegin, -30, []int{0}}, {"a", "q", 90, clusterEnd, []int{0}}}, map[string]float64{"p": 90, "q": 7110}},
		{"over the end of the window", []mounting{{"a", "p", clusterBegin, 7170, []int{0}}, {"a", "q", 7290, clusterEnd, []int{0}}}, map[string]float64{"p": 7200}},
		{"two pods end at once", []mounting{{"a", "p", clusterBegin, 1810, []int{0}}, {"a", "o", clusterBegin, 1810, []int{0}}, {"a", "q", 1870, clusterEnd, []int{0}}}, map[string]float64{"p": 935, "o": 935, "q": 5330}},
		{"ten minutes", []mounting{{"a", "p", clusterBegin, 1800, []int{0}}, {"a", "q", 2400, clusterEnd, []int{0}}}, map[string]float64{"p": 1800, "a-unmounted-pvcs": 600, "q": 4800}},
		{"before any pod", []mounting{{"a", "q", 60, clusterEnd, []int{0}}}, map[string]float64{"a-unmounted-pvcs": 60, "q": 7140}},
		{"after the last pod", []mounting{{"a", "p", clusterBegin, 7140, []int{0}}}, map[string]float64{"p": 7140, "a-unmounted-pvcs": 60}},
	} {
		db := volumeCluster([]claimed{{"a", 100 * gib, 0, clusterBegin, clusterEnd, nil}}, append(tt.pods, mounting{"other", "o", clusterBegin, clusterEnd, nil})).blocks(t)
		for _, resolution := range grids() {
			t.Run(tt.name+" "+allocation.ResolutionText(resolution), func(t *testing.T) {
				q := twoHours(resolution)
				q.After = time.Hour
				got := sums(compute(t, db, q)[0], allocation.Pod, allocation.PVCost)
				for name := range tt.want {
					if seconds := got[name] / 100 * 3600; math.Abs(seconds-tt.want[name]) > 60 {
						t.Errorf("%s pays for %g s, want %g", name, seconds, tt.want[name])
					}
				}
				if len(got) != len(tt.want) {
					t.Errorf("costs %v, want of %v", got, tt.want)
				}
				for _, q.Step = range []time.Duration{time.Hour, 25 * time.Minute} {
					partsAddUp(t, db, q, nil)
				}
			})
		}
	}
}
