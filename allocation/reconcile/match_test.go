package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/reconcile"
)

// vmss is the id of a scale set in a cluster of Azure.
const vmss = "/subscriptions/S-1/resourceGroups/MC_rg/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool-123-vmss"

// threeClouds is a day of a cluster in each cloud, and of a second one in AWS.
func threeClouds() *allocation.Set {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	s := allocation.NewSet(allocation.Window{Start: start, End: start.AddDate(0, 0, 1)}, allocation.NewDict())
	node := func(cluster, name, id string, cost float64) {
		n := allocation.Node{Cluster: cluster, Name: name, ProviderID: id, Start: start, End: s.Window.End, RunningSeconds: 86_400}
		n.Cost[allocation.CPU] = cost
		s.Nodes = append(s.Nodes, n)
		s.Disks = append(s.Disks, allocation.Disk{Cluster: cluster, Name: name, ProviderID: id, Local: true, Start: start, End: s.Window.End, Cost: 1})
	}
	volume := func(cluster, name, id string) {
		s.Disks = append(s.Disks, allocation.Disk{Cluster: cluster, Name: name, ProviderID: id, Start: start, End: s.Window.End, Cost: 1})
	}
	balancer := func(cluster, service, ip string, cost float64) {
		s.Balancers = append(s.Balancers, allocation.LoadBalancer{Cluster: cluster, Namespace: "web", Service: service, IP: ip, Start: start, End: s.Window.End, Hours: 24, Cost: cost})
	}
	node("eks", "ip-10-0-0-1.ec2.internal", "aws:///eu-1a/i-0aa", 1)
	node("gke", "gke-pool-1", "gce://project-n/zone-1/gke-pool-1", 1)
	node("aks", "aks-pool-123-vmss000000", "azure://"+vmss+"/virtualMachines/0", 1)
	node("aks", "aks-pool-123-vmss000001", "azure://"+vmss+"/virtualMachines/1", 3)
	node("aks", "vm-1", "azure:///subscriptions/S-1/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/vm-1", 1)
	node("metal", "server-1", "", 1)
	node("twin-1", "n", "aws:///eu-1a/i-0bb", 1)
	node("twin-2", "n", "aws:///eu-1a/i-0bb", 1)
	volume("eks", "pvc-csi", "vol-0cc")
	volume("eks", "pvc-tree", "aws://eu-1a/vol-0dd")
	volume("eks", "pvc-efs-1", "fs-0ee::fsap-1")
	volume("eks", "pvc-efs-2", "fs-0ee::fsap-2")
	volume("gke", "pvc-g", "projects/project-n/zones/zone-1/disks/pvc-g")
	volume("gke", "pvc-tree", "gke-disk-7")
	volume("aks", "pvc-a", "/subscriptions/s-1/resourcegroups/mc_rg/providers/microsoft.compute/disks/pvc-a")
	balancer("eks", "classic", "a0f1-1234567890.eu-1.elb.amazonaws.com", 1)
	balancer("eks", "nlb", "k8s-web-nlb-5e6f-0123456789abcdef.elb.eu-1.amazonaws.com", 1)
	balancer("eks", "inside", "internal-k8s-in-77.eu-1.elb.amazonaws.com", 3)
	balancer("eks", "inside-2", "internal-k8s-in-77.eu-1.elb.amazonaws.com", 1)
	balancer("gke", "front", "34.1.2.3", 1)
	return s
}

// change changes an item of AWS.
type change func(*billing.Item)

func item(provider, id string, with ...change) *billing.Item {
	i := &billing.Item{Bill: "bill", Account: billing.Account{Provider: provider, SubID: "111"}, Resource: billing.Resource{ID: id}}
	for _, f := range with {
		f(i)
	}
	return i
}

func named(name string) change   { return func(i *billing.Item) { i.Resource.Name = name } }
func service(name string) change { return func(i *billing.Item) { i.Service.Name = name } }
func tag(name, value string) change {
	return func(i *billing.Item) { i.Tags = append(i.Tags, billing.Tag{Name: name, Value: value}) }
}

func transfer(unit, meter, description string) change {
	return func(i *billing.Item) {
		i.Charge.ConsumedUnit, i.Charge.Meter, i.Charge.Description = unit, meter, description
	}
}

const (
	gceNode = "//compute.googleapis.com/projects/project-n/zones/zone-1/instances/987"
	gceDisk = "//compute.googleapis.com/projects/project-n/zones/zone-1/disks/986"
	elb     = "arn:aws:elasticloadbalancing:eu-1:111:loadbalancer/"
)

func TestMatch(t *testing.T) {
	x := reconcile.NewIndex(threeClouds(), []billing.Bill{{
		Name: "bill", Tags: map[string]allocation.Property{"ns": allocation.Namespace},
		Clusters: map[string]string{"twin-1": "111/twin", "metal": "arn:aws:eks:eu-1:111:cluster/bare"},
	}}, nil)
	for name, tc := range map[string]struct {
		item *billing.Item
		want []string // kind, cluster and names; parts of several
	}{
		"instance":                     {item("AWS", "i-0AA"), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"instance by ARN":              {item("AWS", "arn:aws:ec2:eu-1:111:instance/i-0aa"), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"instance that is not there":   {item("AWS", "arn:aws:ec2:eu-1:111:instance/i-0ff"), []string{"cloud"}},
		"queue that ends like one":     {item("AWS", "arn:aws:sqs:eu-1:111:orders-i-0aa"), []string{"cloud"}},
		"instance of Google":           {item("GCP", gceNode, named("gke-pool-1")), []string{"node gke gke-pool-1"}},
		"instance of another zone":     {item("GCP", "//compute.googleapis.com/projects/project-n/zones/zone-2/instances/987", named("gke-pool-1")), []string{"cloud"}},
		"instance of Google by name":   {item("GCP", "projects/project-n/zones/zone-1/instances/gke-pool-1"), []string{"node gke gke-pool-1"}},
		"scale set":                    {item("Azure", vmss), []string{"node aks aks-pool-123-vmss000000 0.25", "node aks aks-pool-123-vmss000001 0.75"}},
		"member of a scale set":        {item("Azure", vmss, func(i *billing.Item) { i.Resource.VM = "aks-pool-123-vmss_1" }), []string{"node aks aks-pool-123-vmss000001"}},
		"virtual machine":              {item("Azure", "/subscriptions/s-1/resourcegroups/rg/providers/microsoft.compute/virtualmachines/VM-1"), []string{"node aks vm-1"}},
		"node by promcost's own name":  {item("Kubernetes", allocation.OwnID("metal", allocation.NodeAsset, "server-1")), []string{"node metal server-1"}},
		"traffic of a node":            {item("AWS", "arn:aws:ec2:eu-1:111:instance/i-0aa", transfer("GB", "", "$0.09 per GB - data transfer out")), []string{"network eks "}},
		"traffic of a load balancer":   {item("AWS", elb+"a0f1", transfer("GB", "EU-DataTransfer-Out-Bytes", "")), []string{"network eks "}},
		"egress of Google":             {item("GCP", gceNode, named("gke-pool-1"), transfer("gibibyte", "Network Internet Egress", "")), []string{"network gke "}},
		"traffic of a scale set":       {item("Azure", vmss, transfer("GB", "", "Rtn Preference: MGN - Standard Data Transfer Out")), []string{"network aks "}},
		"traffic of nobody":            {item("AWS", "arn:aws:ec2:eu-1:111:natgateway/nat-1", transfer("GB", "", "data transfer")), []string{"cloud"}},
		"bytes that do not move":       {item("AWS", "i-0aa", transfer("GB-Hours", "", "data transfer")), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"bytes without a word":         {item("AWS", "i-0aa", transfer("GB", "", "snapshots")), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"volume":                       {item("AWS", "arn:aws:ec2:eu-1:111:volume/vol-0cc"), []string{"volume eks pvc-csi"}},
		"in-tree volume":               {item("AWS", "vol-0dd"), []string{"volume eks pvc-tree"}},
		"file system of two volumes":   {item("AWS", "arn:aws:elasticfilesystem:eu-1:111:file-system/fs-0ee"), []string{"volume eks pvc-efs-1 0.5", "volume eks pvc-efs-2 0.5"}},
		"disk of Google":               {item("GCP", gceDisk, named("pvc-g")), []string{"volume gke pvc-g"}},
		"in-tree disk of Google":       {item("GCP", gceDisk, named("gke-disk-7")), []string{"volume gke pvc-tree"}},
		"disk of Azure":                {item("Azure", "/subscriptions/s-1/resourceGroups/MC_rg/providers/Microsoft.Compute/disks/pvc-a"), []string{"volume aks pvc-a"}},
		"boot disk of Google":          {item("GCP", gceDisk, named("gke-pool-1")), []string{"local disk gke gke-pool-1"}},
		"disk of a scale set's member": {item("Azure", "/subscriptions/s-1/x/disks/aks-pool-123-vmss_aks-pool-123-vmss_1_OsDisk_1_0af"), []string{"local disk aks aks-pool-123-vmss000001"}},
		"disk of a virtual machine":    {item("Azure", "/subscriptions/s-1/x/disks/vm-1_OsDisk_1_0af"), []string{"local disk aks vm-1"}},
		"volume tagged with a node":    {item("AWS", "vol-0ff", tag("instance", "i-0aa")), []string{"local disk eks ip-10-0-0-1.ec2.internal"}},
		"classic load balancer":        {item("AWS", elb+"a0f1"), []string{"load balancer eks web/classic"}},
		"network load balancer":        {item("AWS", elb+"net/k8s-web-nlb-5e6f/0123456789abcdef"), []string{"load balancer eks web/nlb"}},
		"load balancer of two":         {item("AWS", elb+"app/k8s-in/01"), []string{"load balancer eks web/inside 0.75", "load balancer eks web/inside-2 0.25"}},
		"load balancer by address":     {item("GCP", "//compute.googleapis.com/x/34.1.2.3"), []string{"load balancer gke web/front"}},
		"control plane":                {item("AWS", "arn:aws:eks:eu-1:111:cluster/eks"), []string{"management eks "}},
		"control plane of Google":      {item("GCP", "//container.googleapis.com/projects/p/locations/eu/clusters/gke"), []string{"management gke "}},
		"control plane of Azure":       {item("Azure", "/subscriptions/s-1/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks"), []string{"management aks "}},
		"control plane by settings":    {item("AWS", "arn:aws:eks:eu-1:111:cluster/bare"), []string{"management metal "}},
		"account and name by settings": {item("AWS", "arn:aws:eks:eu-1:111:cluster/twin"), []string{"management twin-1 "}},
		"name of one with settings":    {item("AWS", "arn:aws:eks:eu-1:999:cluster/metal"), []string{"cloud"}},
		"cluster of another service":   {item("AWS", "arn:aws:ecs:eu-1:111:cluster/eks"), []string{"cloud"}},
		"account decides":              {item("AWS", "i-0bb"), []string{"node twin-1 n"}},
		"nothing decides":              {item("AWS", "i-0bb", func(i *billing.Item) { i.Account.SubID = "222" }), []string{"cloud", "twin-1", "twin-2"}},
		"allocated part":               {item("AWS", "i-0aa", func(i *billing.Item) { i.Resource.Allocated = "pod-1" }), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"used commitment":              {item("AWS", "i-0aa", func(i *billing.Item) { i.Commitment.Status = "Used" }), []string{"node eks ip-10-0-0-1.ec2.internal"}},
		"unused commitment":            {item("AWS", "i-0aa", func(i *billing.Item) { i.Commitment.Status = "Unused" }), []string{"cloud"}},
		"tax":                          {item("AWS", "i-0aa", func(i *billing.Item) { i.Charge.Category = billing.Tax }), []string{"cloud"}},
		"tagged with a namespace":      {item("AWS", "bucket", tag("kubernetes_namespace", "shop")), []string{"external"}},
		"tagged by settings":           {item("AWS", "bucket", tag("ns", "shop")), []string{"external"}},
		"tagged with a label":          {item("AWS", "bucket", tag("kubernetes_label_app", "x")), []string{"external"}},
		"tagged with an alias":         {item("AWS", "bucket", tag("team", "x")), []string{"external"}},
		"tagged otherwise":             {item("AWS", "bucket", tag("stage", "x"), service("Amazon Simple Storage Service")), []string{"cloud"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := x.Match(tc.item)
			var got []string
			for _, p := range x.Parts(&m) {
				text := p.Kind.String()
				if p.Kind < reconcile.External {
					text += " " + p.Cluster + " " + p.Name
				}
				if p.Share != 1 {
					text += " " + format(p.Share)
				}
				got = append(got, text)
			}
			got = append(got, m.Several...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchLookalikes matches assets whose names look like those of special rows, which are shown otherwise than bills write them.
func TestMatchLookalikes(t *testing.T) {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	shown := allocation.TenantName
	const group = "/subscriptions/s-1/resourcegroups/rg/providers/microsoft.compute/"
	for _, name := range []string{"web-unmounted-pvcs", "__idle__", `\__idle__`, "plain"} {
		s := allocation.NewSet(allocation.Window{Start: start, End: start.AddDate(0, 0, 1)}, allocation.NewDict())
		node := func(cluster, id string) {
			s.Nodes = append(s.Nodes, allocation.Node{Cluster: shown(cluster), Name: shown(name), ProviderID: shown(id), Start: start, End: s.Window.End, RunningSeconds: 86_400})
			s.Disks = append(s.Disks, allocation.Disk{Cluster: shown(cluster), Name: shown(name), ProviderID: shown(id), Local: true, Start: start, End: s.Window.End})
		}
		volume := func(cluster, id string) {
			s.Disks = append(s.Disks, allocation.Disk{Cluster: cluster, Name: shown(name), ProviderID: shown(id), Start: start, End: s.Window.End})
		}
		node("aks", "azure://"+group+"virtualmachines/"+name)
		node("gke", "gce://project-n/zone-1/"+name)
		node(name, "metal://"+name)
		volume("aks", group+"disks/"+name)
		volume("eks", name)
		s.Balancers = append(s.Balancers, allocation.LoadBalancer{Cluster: "eks", Namespace: "web", Service: "s", IP: name + "-0123.elb.eu-1.amazonaws.com", Start: start, End: s.Window.End, Hours: 24})
		x := reconcile.NewIndex(s, []billing.Bill{{Name: "bill"}}, nil)
		for _, tt := range []struct {
			item *billing.Item
			kind reconcile.Kind
		}{
			{item("Azure", group+"virtualMachines/"+name), reconcile.Node},
			{item("GCP", "projects/project-n/zones/zone-1/instances/"+name), reconcile.Node},
			{item("GCP", gceNode, named(name)), reconcile.Node},
			{item("GCP", gceDisk, named(name)), reconcile.Volume}, // by its name alone
			{item("Azure", "/subscriptions/s-1/x/disks/"+name+"_OsDisk_1_0af"), reconcile.LocalDisk},
			{item("Azure", group+"disks/"+name), reconcile.Volume},
			{item("Other", name), reconcile.Volume},
			{item("AWS", elb+"net/"+name+"/01"), reconcile.Balancer},
			{item("AWS", "arn:aws:eks:eu-1:111:cluster/"+name), reconcile.Management},
			{item("Kubernetes", allocation.OwnID("gke", allocation.NodeAsset, shown(name))), reconcile.Node},
		} {
			if m := x.Match(tt.item); m.Kind != tt.kind {
				t.Errorf("%s: %s is a %s, want a %s", name, tt.item.Resource.ID, m.Kind, tt.kind)
			}
		}
	}
}

// TestMatchProperties verifies what tags say of a cost outside of clusters.
func TestMatchProperties(t *testing.T) {
	x := reconcile.NewIndex(threeClouds(), []billing.Bill{{Name: "bill"}}, nil)
	m := x.Match(item("AWS", "bucket", tag("kubernetes_label_tier", "web"), tag("k8s-namespace", "shop"), tag("aws:eks:cluster", "eks"), tag("env", "prod")))
	var want [allocation.Services]string
	want[allocation.Namespace], want[allocation.Cluster] = "shop", "eks"
	if diff := cmp.Diff(want, m.Text); diff != "" || m.Kind != reconcile.External {
		t.Errorf("a %s cost, properties (-want +got):\n%s", m.Kind, diff)
	}
	if diff := cmp.Diff(map[string]string{"tier": "web", "env": "prod"}, m.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
