package metering_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/metering"
)

// openCostSet is two hours of a node that left and came back, one of the spot market, a volume that two containers of a pod
// have, a load balancer, traffic and a control plane.
func openCostSet() *allocation.Set {
	set := newFamilySet()
	const gib = 1 << 30
	n1 := allocation.Node{
		Cluster: "c", Name: "n1", InstanceType: "m5.large", Region: "r", Arch: "amd64", ProviderID: "aws:///z/i-1", RunningSeconds: 3600,
		Hours: [allocation.NumResources]float64{4, 8 * gib, 0}, Cost: [allocation.NumResources]float64{2, 1, 0},
	}
	n2 := allocation.Node{
		Cluster: "c", Name: "n2", Spot: true, RunningSeconds: 7200,
		Hours: [allocation.NumResources]float64{2, 2 * gib, 2}, Cost: [allocation.NumResources]float64{2, 2, 20},
	}
	set.Nodes = []allocation.Node{n1, n1, n2}
	set.Disks = []allocation.Disk{
		{Cluster: "c", Name: "n1", Local: true, ByteHours: gib, Cost: 1},
		{Cluster: "c", Name: "pv1", StorageClass: "fast", ClaimNamespace: "a", ClaimName: "data", ProviderID: "vol-1", ByteHours: 20 * gib, Cost: 5},
	}
	set.Balancers = []allocation.LoadBalancer{{Cluster: "c", Namespace: "a", Service: "web", IP: "1.2.3.4", Cost: 3}}
	set.Networks = []allocation.Network{{Cluster: "c", Price: [3]float64{0.01, 0, 0.12}, PriceSource: [3]string{"sheet", "", "sheet"}}}
	set.Management = []allocation.Management{{Cluster: "c", Provisioner: "EKS", Cost: 0.2}}
	for _, container := range []string{"main", "side"} {
		row := familyRow("c", "a", "deployment", "web", map[allocation.Column]float64{
			allocation.Hours.Of(allocation.CPU): 3, allocation.Hours.Of(allocation.RAM): gib, allocation.PVCost: 2.5,
		})
		row.Text[allocation.NodeName], row.Text[allocation.Pod], row.Text[allocation.PodUID], row.Text[allocation.Container] = "n1", "p", "u", container
		row.Volumes = []allocation.VolumeShare{{Key: set.Dict().Add(allocation.VolumeKey("c", "pv1")), ByteHours: 10 * gib, Cost: 2.5}}
		set.Append(row)
	}
	set.Append(&allocation.Row{Special: allocation.Unmounted, Values: [allocation.NumColumns]float64{allocation.PVCost: 1}})
	return set
}

func TestOpenCostFamilies(t *testing.T) {
	set := openCostSet()
	var got []string
	for _, s := range metering.Subjects() {
		if !strings.HasPrefix(s.Collector(), "opencost") {
			continue
		}
		for _, f := range s.Families() {
			if f.Name == "opencost_build_info" {
				continue // it is of the build
			}
			f.Emit(s.Totals(set), func(_ int, labels []string, v float64) {
				var pairs []string
				for i, name := range f.Labels[1:] {
					pairs = append(pairs, name+"="+labels[i+1])
				}
				got = append(got, fmt.Sprintf("%s{%s} %g", f.Name, strings.Join(pairs, ","), v))
			})
		}
	}
	const (
		n1 = "{instance=n1,node=n1,instance_type=m5.large,region=r,provider_id=aws:///z/i-1,arch=amd64}"
		n2 = "{instance=n2,node=n2,instance_type=,region=,provider_id=,arch=}"
	)
	want := []string{
		"node_cpu_hourly_cost" + n1 + " 0.5", "node_cpu_hourly_cost" + n2 + " 1",
		"node_ram_hourly_cost" + n1 + " 0.125", "node_ram_hourly_cost" + n2 + " 1",
		"node_gpu_hourly_cost" + n1 + " 0", "node_gpu_hourly_cost" + n2 + " 10",
		"node_total_hourly_cost" + n1 + " 3", "node_total_hourly_cost" + n2 + " 12",
		"node_gpu_count" + n1 + " 0", "node_gpu_count" + n2 + " 1",
		"kubecost_node_is_spot" + n1 + " 0", "kubecost_node_is_spot" + n2 + " 1",
		"container_cpu_allocation{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=main} 1.5",
		"container_cpu_allocation{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=side} 1.5",
		"container_memory_allocation_bytes{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=main} 5.36870912e+08",
		"container_memory_allocation_bytes{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=side} 5.36870912e+08",
		"container_gpu_allocation{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=main} 0",
		"container_gpu_allocation{instance=n1,node=n1,namespace=a,pod=p,uid=u,container=side} 0",
		"pv_hourly_cost{volumename=pv1,persistentvolume=pv1,provider_id=vol-1} 0.25",
		"pod_pvc_allocation{namespace=a,pod=p,uid=u,persistentvolumeclaim=data,persistentvolume=pv1} 1.073741824e+10",
		"kubecost_load_balancer_cost{namespace=a,service_name=web,ingress_ip=1.2.3.4} 1.5",
		"kubecost_cluster_management_cost{provisioner_name=EKS} 0.1",
		"kubecost_cluster_info{id=c,name=c,provider=AWS} 1",
		"kubecost_network_zone_egress_cost{} 0.01", "kubecost_network_internet_egress_cost{} 0.12",
		"kube_node_status_capacity{node=n1,resource=cpu,unit=core} 4",
		"kube_node_status_capacity{node=n1,resource=memory,unit=byte} 8.589934592e+09",
		"kube_node_status_capacity{node=n2,resource=cpu,unit=core} 1",
		"kube_node_status_capacity{node=n2,resource=memory,unit=byte} 1.073741824e+09",
		"kube_node_status_capacity{node=n2,resource=nvidia_com_gpu,unit=integer} 1",
		"kube_persistentvolume_capacity_bytes{persistentvolume=pv1} 1.073741824e+10",
		"kube_persistentvolumeclaim_info{namespace=a,persistentvolumeclaim=data,storageclass=fast,volumename=pv1} 1",
		"kube_namespace_labels{namespace=a} 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOpenCostManagementOfNobody is 0 where no control plane costs anything: dashboards add it to the costs of nodes.
func TestOpenCostManagementOfNobody(t *testing.T) {
	set := openCostSet()
	set.Management = nil
	for _, s := range metering.Subjects() {
		if s.Name == "opencost-management" {
			if totals := s.Totals(set); totals.Len() != 1 || totals.Labels(0)[0] != "c" || totals.Cost(0) != 0 {
				t.Errorf("%d control planes, want one of c that costs nothing", totals.Len())
			}
		}
	}
}

// TestOpenCostClusterLabel checks when OpenCost's metrics, and no others, leave the cluster out.
func TestOpenCostClusterLabel(t *testing.T) {
	two := openCostSet()
	two.Nodes = append(two.Nodes, two.Nodes[0])
	two.Nodes[3].Cluster = "d"
	for _, tt := range []struct {
		name      string
		mode      metering.ClusterLabel
		set       *allocation.Set
		unlabeled bool
		want      string
	}{
		{"series have it", "", openCostSet(), false, "c"},
		{"no series has it", "", openCostSet(), true, ""},
		{"always", metering.ClusterAlways, openCostSet(), true, "c"},
		{"never", metering.ClusterNever, openCostSet(), false, ""},
		{"never, several clusters", metering.ClusterNever, two, false, "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := metering.New(metering.Options{Enabled: []string{"node", "opencost", "opencost-kube"}, OpenCostCluster: tt.mode})
			if err != nil {
				t.Fatal(err)
			}
			tt.set.Unlabeled = tt.unlabeled
			for _, subjects := range [][]metering.Subject{m.Subjects(), m.Table(), m.WithoutCounters().Table()} {
				for _, s := range subjects {
					want := "c"
					if strings.HasPrefix(s.Collector(), "opencost") {
						want = tt.want
					}
					if s.Name != "node" && !strings.HasPrefix(s.Name, "opencost-node") && !strings.HasPrefix(s.Name, "opencost-kube-node") && s.Name != "opencost-build" {
						continue
					}
					if got := s.Totals(tt.set).Labels(0)[0]; got != want {
						t.Errorf("%s has the cluster %q, want %q", s.Name, got, want)
					}
				}
			}
		})
	}
}

// Series beyond the limit are dropped, and not summed into __other__.
func TestOpenCostIsCapped(t *testing.T) {
	set := newFamilySet()
	for i := range 200 {
		row := familyRow("c", "a", "", "", map[allocation.Column]float64{allocation.Hours.Of(allocation.CPU): float64(i)})
		row.Text[allocation.NodeName], row.Text[allocation.Pod], row.Text[allocation.Container] = "n", fmt.Sprintf("p%03d", i), "main"
		set.Append(row)
	}
	m := capped(t, "opencost", 100)
	a := metering.NewAccrued(set.Window.Start, m).Add(set)
	for _, s := range m.Subjects() {
		if s.Name != "opencost-container" {
			continue
		}
		totals, dropped := a.Fold(&s, s.Totals(set))
		if totals.Len() != 33 || dropped != 167*3 || totals.Labels(0)[4] != "p167" {
			t.Errorf("%d containers from %v on, %d series dropped", totals.Len(), totals.Labels(0), dropped)
		}
	}
}
