package democluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/democluster"
)

// integrateLast returns ∫ series dt in units × hours over a window, each sample holding until the next, the last for an interval.
func integrateLast(s timeSeries, from, to time.Time) (sum float64) {
	for i, p := range s.points {
		if isStale(p) {
			continue
		}
		until := min(to.UnixMilli(), p.t+30_000)
		if i+1 < len(s.points) {
			until = s.points[i+1].t
		}
		sum += p.v * float64(until-max(p.t, from.UnixMilli())) / 3.6e6
	}
	return sum
}

func volumes(t *testing.T, d data) {
	mounts, claims := map[string]int{}, map[string]string{}
	for _, s := range d.name(t, "kube_pod_spec_volumes_persistentvolumeclaims_info") {
		mounts[s.labels["namespace"]+"/"+s.labels["persistentvolumeclaim"]]++
	}
	for _, s := range d.name(t, "kube_persistentvolume_claim_ref") {
		claims[s.labels["persistentvolume"]] = s.labels["claim_namespace"] + "/" + s.labels["name"]
	}
	kinds := map[string]int{}
	for _, v := range d.truth.Volumes {
		claim := v.Namespace + "/" + v.Claim
		if n := mounts[claim]; (n > 0) != v.Mounted || v.Cost <= 0 || v.Claim != "" && claims[v.PersistentVolume] != claim {
			t.Errorf("volume %+v, mounted by %d, claimed by %s", v, n, claims[v.PersistentVolume])
		}
		volumeAgrees(t, d, v)
		for kind, is := range map[string]bool{
			"shared": mounts[claim] > 10, "never mounted": !v.Mounted, "without a claim": v.Claim == "", "deleted": v.End.Before(d.to),
			"mounted at times": v.Mounted && v.UnmountedByteHours > 0.1*v.ByteHours, "mounted but for moments": v.UnmountedByteHours < 0.01*v.ByteHours,
		} {
			if is {
				kinds[kind]++
			}
		}
	}
	for _, kind := range []string{"shared", "never mounted", "without a claim", "deleted", "mounted at times", "mounted but for moments"} {
		if kinds[kind] == 0 {
			t.Errorf("no volume is %s", kind)
		}
	}
}

// volumeAgrees compares the samples of a volume with its truth.
func volumeAgrees(t *testing.T, d data, v democluster.VolumeTruth) {
	t.Helper()
	capacity := d.name(t, "kube_persistentvolume_capacity_bytes", "persistentvolume", v.PersistentVolume)
	if len(capacity) != 1 {
		t.Fatalf("capacity of %s: %d series", v.PersistentVolume, len(capacity))
	}
	// The outage of kube-state-metrics hides 12 minutes of every series.
	sizes := values(capacity[0])
	got := integrateLast(capacity[0], d.from, d.to) + sizes[len(sizes)-1]*12/60
	if off := relative(got, v.ByteHours); off > 0.002 {
		t.Errorf("volume %s: samples give %v byte-hours, the truth is %v", v.PersistentVolume, got, v.ByteHours)
	}
	prices := d.name(t, "pv_hourly_cost", "persistentvolume", v.PersistentVolume)
	if (v.StorageClass == "gp3") != (len(prices) == 1) {
		t.Errorf("volume %s of class %s: %d prices", v.PersistentVolume, v.StorageClass, len(prices))
	}
	if len(prices) == 0 && relative(v.Cost, v.ByteHours/(1<<30)*0.00005479452) > 1e-12 {
		t.Errorf("volume %s costs %v for %v byte-hours, want the default price", v.PersistentVolume, v.Cost, v.ByteHours)
	}
	used, mounted := 0.0, 0.0
	if v.Claim != "" {
		for _, s := range d.name(t, "kubelet_volume_stats_used_bytes", "namespace", v.Namespace, "persistentvolumeclaim", v.Claim) {
			used = max(used, integrateLast(s, d.from, d.to))
		}
		for _, s := range d.name(t, "kubelet_volume_stats_capacity_bytes", "namespace", v.Namespace, "persistentvolumeclaim", v.Claim) {
			mounted = max(mounted, integrateLast(s, d.from, d.to))
		}
	}
	// A kubelet knows no more than all of them together; only the claims of many nodes are mounted on others too.
	if used > v.UsedByteHours*1.01 || mounted > (v.ByteHours-v.UnmountedByteHours)*1.01 || v.Mounted && used == 0 {
		t.Errorf("volume %s: kubelets tell %v and %v byte-hours: %+v", v.PersistentVolume, used, mounted, v)
	}
}

func localDisks(t *testing.T, d data) {
	limits, usages := d.name(t, "container_fs_limit_bytes", "id", "/"), d.name(t, "container_fs_usage_bytes", "id", "/")
	if len(limits) != len(d.truth.LocalDisks) || len(usages) != len(limits) || len(limits) != 11 {
		t.Fatalf("%d limits and %d usages of %d disks", len(limits), len(usages), len(d.truth.LocalDisks))
	}
	for _, disk := range d.truth.LocalDisks {
		for _, row := range []struct {
			list []timeSeries
			want float64
		}{{limits, disk.ByteHours}, {usages, disk.UsedByteHours}} {
			i := slices.IndexFunc(row.list, func(s timeSeries) bool { return s.labels["node"] == disk.Node })
			if got := integrateLast(row.list[i], d.from, d.to); relative(got, row.want) > 0.002 {
				t.Errorf("%s: samples give %v byte-hours, the truth is %v", disk.Node, got, row.want)
			}
		}
		i := slices.IndexFunc(usages, func(s timeSeries) bool { return s.labels["node"] == disk.Node })
		most := 0.0
		for _, p := range usages[i].points {
			if !isStale(p) {
				most = max(most, p.v)
			}
		}
		if relative(most, disk.UsedMax) > 0.002 {
			t.Errorf("%s: samples give at most %v bytes, the truth is %v", disk.Node, most, disk.UsedMax)
		}
	}
}
