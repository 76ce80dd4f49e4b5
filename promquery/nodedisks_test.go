package promquery_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/promquery/promtest"
)

// TestNodeDisks checks the size of a node's own disk, and how full it is, by the file systems that kubelets see and by what the node offers as ephemeral storage
// (SEMANTICS §5). All file systems are half full.
func TestNodeDisks(t *testing.T) {
	t.Parallel()
	const gib, tib = 1 << 30, 1 << 40
	type devices map[string]float64
	for _, tt := range []struct {
		name       string
		devices    devices
		ephemeral  float64
		size, used float64 // GiB
		warned     bool
	}{
		{"one partition", devices{"/dev/nvme0n1p1": 100 * gib}, 0, 100, 50, false},
		{"a partition to boot from", devices{"/dev/nvme0n1p1": 100 * gib, "/dev/nvme0n1p128": 10e6}, 0, 100, 50, false},
		{"partitions of one disk", devices{"/dev/sda1": 98 * gib, "/dev/sda15": 106e6, "/dev/sda16": 2 * gib}, 0, 98, 49, false},
		{"a disk and its partition", devices{"/dev/vda": 100 * gib, "/dev/vda1": 100 * gib}, 0, 100, 50, false},
		{"overlays", devices{"/dev/xvda1": 100 * gib, "overlay_0-1": 100 * gib, "tmpfs": 8 * gib, "/dev/loop3": 2 * gib, "shm": 2 * gib}, 0, 100, 50, false},
		{"a device mapper", devices{"/dev/dm-0": 100 * gib}, 0, 100, 50, false},
		{"a stack of devices", devices{"/dev/mapper/vg-root": 100 * gib, "/dev/dm-0": 100 * gib, "/dev/md127": 100 * gib, "/dev/root": 100 * gib}, 0, 100, 50, false},
		{"a stack on a partition", devices{"/dev/mmcblk0p2": 100 * gib, "/dev/root": 100 * gib}, 0, 100, 50, false},
		{"two volumes of LVM", devices{"/dev/mapper/vg-root": 40 * gib, "/dev/mapper/vg-var": 60 * gib}, 0, 100, 50, false},
		{"two disks of one size", devices{"/dev/sda1": 50 * gib, "/dev/sdb1": 50 * gib}, 0, 100, 50, false},
		{"a small disk of the system and one of data", devices{"/dev/nvme0n1p3": 2 * gib, "/dev/nvme1n1p1": 100 * gib}, 0, 102, 51, false},
		{"many disks", devices{"/dev/nvme10n1p1": 60 * gib, "/dev/nvme1n1p1": 40 * gib}, 0, 100, 50, false},
		{"only small ones", devices{"/dev/sda1": 1e9}, 0, 0, 0, false},
		{"an impossible one beside another", devices{"/dev/sda1": 5000 * tib, "/dev/sdb1": 100 * gib}, 0, 100, 50, true},
		{"an impossible one", devices{"/dev/sda1": 5000 * tib}, 0, 0, 0, true},

		{"ephemeral storage of the disk of data", devices{"/dev/nvme0n1p3": 2 * gib, "/dev/nvme1n1p1": 100 * gib}, 100 * gib, 100, 50, false},
		{"ephemeral storage beside disks of volumes", devices{"/dev/sda1": 100 * gib, "/dev/sdb": 500 * gib, "/dev/sdc": 500 * gib}, 100 * gib, 100, 50, false},
		{"ephemeral storage of no device", devices{"rpool/ROOT": 100 * gib}, 100 * gib, 100, 0, false},
		{"ephemeral storage that is nearly a device", devices{"/dev/dm-0": 102 * gib, "/dev/sdb": 30 * gib}, 100 * gib, 100, 51, false},
		{"ephemeral storage that is impossible", devices{"/dev/sda1": 100 * gib}, 5000 * tib, 100, 50, true},
		{"ephemeral storage of 0", devices{"/dev/sda1": 100 * gib}, 0, 100, 50, false},
		{"only ephemeral storage", nil, 100 * gib, 100, 0, false},
	} {
		for _, node := range []string{"n1", "10.0.0.1:10250"} { // how kubelets' series name it
			t.Run(tt.name+" of "+node, func(t *testing.T) {
				const ksm = "kube-state-metrics"
				series := []promtest.Series{
					life(-600, 7800, always(1), "kube_node_info", "node", "n1", "internal_ip", "10.0.0.1", "job", ksm),
					life(-600, 7800, always(4), "kube_node_status_capacity", "node", "n1", "resource", "cpu", "unit", "core", "job", ksm),
					life(-600, 7800, always(1), "kube_pod_container_status_running", "container", "c", "job", ksm),
					life(-600, 7800, always(1), "kube_pod_info", "node", "n1", "job", ksm),
				}
				if tt.ephemeral > 0 {
					series = append(series, life(-600, 7800, always(tt.ephemeral), "kube_node_status_capacity", "node", "n1", "resource", "ephemeral_storage", "unit", "byte", "job", ksm))
				}
				for name, size := range tt.devices {
					of := []string{"id", "/", "device", name, "instance", node, "job", "kubelet"}
					series = append(series, life(-600, 7800, always(size), "container_fs_limit_bytes", of...), life(-600, 7800, always(size/2), "container_fs_usage_bytes", of...))
				}
				dir := t.TempDir()
				promtest.WriteBlocks(t, dir, 2*time.Hour, series...)
				db := openBlocks(t, dir)
				q := allocation.Query{Window: allocation.Window{Start: lifeStart, End: lifeStart.Add(2 * time.Hour)}}
				for _, q.Resolution = range []time.Duration{0, time.Minute} {
					set := compute(t, db, q)[0]
					size, used := 0.0, 0.0
					for _, d := range set.Disks {
						size += d.ByteHours / 2 / gib
						if d.UsedByteHours == d.UsedByteHours {
							used += d.UsedByteHours / 2 / gib
						}
					}
					if math.Abs(size-tt.size) > 1e-6 || math.Abs(used-tt.used) > 0.01*tt.used {
						t.Errorf("%.3f GiB, of which %.3f are used; want %g and %g", size, used, tt.size, tt.used)
					}
					warned := slices.ContainsFunc(set.Warnings, func(w string) bool { return strings.Contains(w, "sizes above 1 PiB of the own disks of 1 node (n1)") })
					if warned != tt.warned {
						t.Errorf("warnings %q", set.Warnings)
					}
				}
				q.Resolution, q.Step = 0, time.Hour
				partsAddUp(t, db, q, nil)
			})
		}
	}
}
