package democluster

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Kinds of assets that lines of the bill charge.
const (
	nodeAsset       = "node"
	volumeAsset     = "volume"
	localDiskAsset  = "localDisk"
	balancerAsset   = "loadBalancer"
	networkAsset    = "network"
	managementAsset = "clusterManagement"
	externalAsset   = "external" // outside of the cluster, with a tag that names a namespace or a team
	cloudAsset      = "cloud"
)

// Discounts of the provider's bill, as parts of the list price.
const (
	negotiated   = 0.95 // of what runs on demand
	savingsPlan  = 0.72 // of general nodes
	reservation  = 0.6  // of the reserved volume
	volumeMarkup = 1.1  // of volumes whose price nobody exports: the default is too low
)

const (
	savingsPlanID = "arn:aws:savingsplans::" + subAccount + ":savingsplan/0f6cbb1c-7a0e-4c1b-9a55-2d3e8f90a1b2"
	reservationID = "arn:aws:ec2:" + region + ":" + subAccount + ":reserved-storage/rv-04c1b9a55"
	compute       = "Amazon Elastic Compute Cloud"
)

// charged is something that is charged for.
type charged struct {
	kind, name string // of an asset: as Truth names it
	step       int64  // length of its lines' charge periods
	life       span
	cost       func(part span) charge
	line       billLine // what its lines have in common
}

// lines yields the lines within days. Each ends where its period does, also where what it charges ended before.
func (a *charged) lines(days span) iter.Seq[billLine] {
	return func(yield func(billLine) bool) {
		for from := days.from; from < days.to; from += a.step {
			period := span{from, from + a.step}
			part := period.clip(a.life)
			if part.from >= part.to {
				continue
			}
			l := a.line
			l.during, l.charge = period, a.cost(part)
			if l.unit == "Hours" {
				l.quantity = hours(float64(part.to - part.from))
			}
			if !yield(l) {
				return
			}
		}
	}
}

// anyTime is all time, for what never begins or ends.
func anyTime() span { return span{0, never} }

// hourlyCost is a charge of so much an hour.
func hourlyCost(cost float64) func(span) charge {
	return func(part span) charge { return fullCharge(hours(float64(part.to-part.from)) * cost) }
}

// discounted takes parts of the list price.
func discounted(list, contracted, effective, billed float64) charge {
	return charge{list, list * contracted, list * effective, list * billed}
}

// providerCharges is all that the provider charges for but restatements.
func (c *Cluster) providerCharges() []charged {
	return withProvider(slices.Concat(c.nodeCharges(), c.savingsPlanCharges(), c.volumeCharges(), c.balancerCharges(), c.networkCharges(), outsideCharges()))
}

// withProvider names the cloud provider in what it charges for.
func withProvider(list []charged) []charged {
	for i := range list {
		l := &list[i].line
		l.account, l.subAccount, l.provider, l.publisher = billingAccount, subAccount, "AWS", "Amazon Web Services, Inc."
	}
	return list
}

// list is what a node costs at list price.
func (n *node) list(part span) float64 {
	row, _ := n.truth(part)
	return row.CPUCost + row.RAMCost + row.GPUCost
}

// lastPrice is what a node costs an hour in the end, at list price.
func (n *node) lastPrice() float64 {
	last := func(list []level) float64 { return list[len(list)-1].value }
	capacity := n.kind.capacity
	return last(n.cpu)*float64(capacity.cpu)/float64(core) + last(n.ram)*float64(capacity.mem)/float64(gibibyte) + last(n.gpu)*capacity.gpu.devices()
}

// instance is the id of its virtual machine.
func (n *node) instance() string { return n.providerID[strings.LastIndex(n.providerID, "/")+1:] }

// nodeCharges are hourly: general nodes by the savings plan, spot nodes at prices of each hour, others on demand. All but GPU
// nodes have a root volume.
func (c *Cluster) nodeCharges() (list []charged) {
	for _, n := range c.nodes {
		at := charged{kind: nodeAsset, name: n.name, step: hourMillis, life: n.life, line: billLine{
			service: compute, serviceCategory: "Compute", resource: n.instance(), resourceType: "Instance", zone: n.zone, unit: "Hours",
			description: "$ per instance hour of " + n.kind.name, skuMeter: "BoxUsage:" + n.kind.name,
			tags: map[string]string{"eks:cluster-name": ClusterID, "eks:nodegroup-name": n.pool()},
		}}
		switch {
		case n.spot:
			at.line.pricing, at.line.skuMeter = "Dynamic", "SpotUsage:"+n.kind.name
			at.cost = func(part span) charge {
				paid := n.list(part) * (0.9 + float64(part.from/hourMillis%24)/120)
				return charge{n.list(part) / n.kind.spotDiscount, paid, paid, paid}
			}
		case n.kind.name == generalType().name:
			at.line.pricing, at.line.commitment, at.line.committedTo = "Committed", savingsPlanID, "Used"
			at.line.commitmentName, at.line.commitmentKind = "Compute Savings Plan", "Spend"
			at.cost = func(part span) charge { return discounted(n.list(part), negotiated, savingsPlan, 0) }
		default:
			at.cost = func(part span) charge { return discounted(n.list(part), negotiated, negotiated, negotiated) }
		}
		list = append(list, at)
		if n.dcgm == nil {
			list = append(list, n.diskCharge())
		}
	}
	return list
}

// diskCharge is the root volume of a node, which only a tag connects with its instance.
func (n *node) diskCharge() charged {
	return charged{
		kind: localDiskAsset, name: n.name, step: dayMillis, life: n.life,
		cost: hourlyCost(float64(n.kind.disk) / float64(gibibyte) * gp3().price),
		line: billLine{
			service: compute, serviceCategory: "Storage", resource: "vol-0" + hex64(keyOf(n.key, "root"))[:16], resourceType: "Volume", zone: n.zone,
			description: "$0.08 per GB-month of General Purpose (gp3) storage", skuMeter: "EBS:VolumeUsage.gp3", unit: "Hours",
			tags: map[string]string{"eks:cluster-name": ClusterID, "node.k8s.amazonaws.com/instance_id": n.instance()},
		},
	}
}

// savingsPlanCharges are the plan's fee, and what of it nobody used. It is for all general nodes at their final price.
func (c *Cluster) savingsPlanCharges() []charged {
	var covered []*node
	committed := 0.0 // an hour
	for _, n := range c.nodes {
		if n.kind.name == generalType().name {
			covered = append(covered, n)
			committed += n.lastPrice() * savingsPlan
		}
	}
	unused := func(part span) charge {
		rest := committed * hours(float64(part.to-part.from))
		for _, n := range covered {
			rest -= n.list(part) * savingsPlan
		}
		return charge{effective: max(0, rest)}
	}
	line := billLine{
		service: "Savings Plans for Amazon Compute", serviceCategory: "Compute", pricing: "Committed", commitment: savingsPlanID, committedTo: "Unused",
		commitmentName: "Compute Savings Plan", commitmentKind: "Spend", description: "Unused commitment of the savings plan", unit: "Hours",
	}
	fee := line
	fee.category, fee.committedTo, fee.description = "Purchase", "", "Fee of the savings plan"
	return []charged{
		{cloudAsset, "savings plan, unused", hourMillis, anyTime(), unused, line},
		{cloudAsset, "savings plan, fee", dayMillis, anyTime(), func(part span) charge {
			cost := committed * hours(float64(part.to-part.from))
			return charge{list: cost, contracted: cost, billed: cost}
		}, fee},
	}
}

// volumeCharges are daily. The archive that nobody mounts is reserved.
func (c *Cluster) volumeCharges() (list []charged) {
	for _, v := range c.volumes {
		at := charged{kind: volumeAsset, name: v.name, step: dayMillis, life: v.life, line: billLine{
			service: compute, serviceCategory: "Storage", resource: v.handle, resourceType: "Volume", unit: "Hours",
			description: "$ per GB-month of " + v.class.name + " storage", skuMeter: "EBS:VolumeUsage." + v.class.name,
			tags: map[string]string{"kubernetes.io/created-for/pvc/name": v.claim},
		}}
		if v.class.name == efs().name {
			at.line.service, at.line.skuMeter = "Amazon Elastic File System", "TimedStorage-ByteHrs"
		}
		listed := func(part span) float64 { return hours(v.over(part).cost) }
		switch {
		case v.claim == archiveClaim:
			at.line.commitment, at.line.committedTo, at.line.pricing = reservationID, "Used", "Committed"
			at.line.commitmentName, at.line.commitmentKind = "Reserved Storage", "Usage"
			at.cost = func(part span) charge { return discounted(listed(part), 1, reservation, 0) }
			fee := at
			fee.kind, fee.name = cloudAsset, "reservation, fee"
			fee.line.resource, fee.line.tags, fee.line.category, fee.line.committedTo = "", nil, "Purchase", ""
			fee.cost = func(part span) charge { return charge{billed: listed(part) * reservation} }
			list = append(list, fee)
		case v.class.price == 0:
			at.cost = func(part span) charge { return fullCharge(listed(part) * volumeMarkup) }
		default:
			at.cost = func(part span) charge { return fullCharge(listed(part)) }
		}
		list = append(list, at)
	}
	return list
}

// balancerCharges are hourly, those of the control plane too.
func (c *Cluster) balancerCharges() []charged {
	list := []charged{{
		managementAsset, ClusterID, hourMillis, anyTime(), hourlyCost(managementPrice),
		billLine{
			service: "Amazon Elastic Container Service for Kubernetes", serviceCategory: "Compute", resourceType: "Cluster",
			resource:    "arn:aws:eks:" + region + ":" + subAccount + ":cluster/" + ClusterID,
			description: "Amazon EKS cluster usage", skuMeter: "AmazonEKS-Hours:perCluster", unit: "Hours",
		},
	}}
	for _, s := range c.services {
		if s.ingress == "" {
			continue
		}
		key := hex64(keyOf(c.key, "balancer", s.id()))
		list = append(list, charged{
			balancerAsset, s.id(), hourMillis, s.life,
			func(part span) charge {
				return discounted(hours(float64(part.to-part.from))*s.hourly, negotiated, negotiated, negotiated)
			},
			billLine{
				service: "Elastic Load Balancing", serviceCategory: "Networking", resourceType: "Load Balancer", resourceName: s.ingress,
				resource:    fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:loadbalancer/net/a%s/%s", region, subAccount, key[:31], key[32:48]),
				description: "$ per Network LoadBalancer-hour (or partial hour)", skuMeter: "LoadBalancerUsage", unit: "Hours",
				tags: map[string]string{"kubernetes.io/service-name": s.id(), "kubernetes.io/cluster/" + ClusterID: "owned"},
			},
		})
	}
	return list
}

// networkCharges are daily, and on the nodes that send the traffic.
func (c *Cluster) networkCharges() (list []charged) {
	for i, n := range c.nodes {
		list = append(list, charged{
			networkAsset, ClusterID, dayMillis, n.life, hourlyCost(0.002 + 0.0005*float64(i%4)),
			billLine{
				service: compute, serviceCategory: "Networking", resource: n.instance(), resourceType: "Instance", zone: n.zone,
				description: "$0.010 per GB - regional data transfer", skuMeter: "DataTransfer-Regional-Bytes", unit: "GB", quantity: 1,
				tags: map[string]string{"eks:cluster-name": ClusterID},
			},
		})
	}
	return list
}

// outsideCharges are of things outside of the cluster, daily.
func outsideCharges() []charged {
	return []charged{
		{externalAsset, "bucket", dayMillis, anyTime(), hourlyCost(0.04), billLine{
			service: "Amazon Simple Storage Service", serviceCategory: "Storage", resource: "search-snapshots", resourceType: "Bucket", description: "$0.023 per GB",
			unit: "GB", quantity: 1, tags: map[string]string{"kubernetes_namespace": "search", "team": "team-b", "purpose": "snapshots"},
		}},
		{externalAsset, "database", dayMillis, anyTime(), hourlyCost(0.26), billLine{
			service: "Amazon Relational Database Service", serviceCategory: "Databases", resource: "arn:aws:rds:" + region + ":" + subAccount + ":db:payments",
			resourceType: "Database", description: "$0.26 per RDS db.m5.large instance hour", unit: "Hours", tags: map[string]string{"team": "team-a"},
		}},
		{cloudAsset, "bastion", hourMillis, anyTime(), hourlyCost(0.0104), billLine{
			service: compute, serviceCategory: "Compute", resource: "i-0b5ba571040d1e5f0", resourceType: "Instance", description: "$0.0104 per On Demand Linux t3.micro instance hour", unit: "Hours",
		}},
		{cloudAsset, "audit log", dayMillis, anyTime(), hourlyCost(0.01), billLine{
			service: "AWS CloudTrail", serviceCategory: "Management and Governance", description: "$2.00 per 100,000 management events", unit: "Events", quantity: 12000,
		}},
		{cloudAsset, "tax", dayMillis, anyTime(), hourlyCost(0.35), billLine{service: "Tax", serviceCategory: "Other", category: "Tax", description: "Sales tax"}},
	}
}

// restatements are lines of the last delivery only, within the restated day: a correction of a node's price, and a credit.
func (c *Cluster) restatements() []charged {
	day := c.restatedDay()
	corrected := c.nodeCharges()[0]
	corrected.step, corrected.life = dayMillis, day
	corrected.line.class, corrected.line.description = "Correction", "Correction of the day's price"
	n := c.nodes[0]
	corrected.cost = func(part span) charge { return fullCharge(-0.1 * n.list(part)) }
	credit := charged{cloudAsset, "credit", dayMillis, day, hourlyCost(-0.5), billLine{service: compute, serviceCategory: "Compute", category: "Credit", description: "Migration credit"}}
	return withProvider([]charged{corrected, credit})
}

// vendorCharges are those of a vendor of monitoring, one of them tagged with a namespace.
func vendorCharges() []charged {
	list := []charged{
		{cloudAsset, "monitoring", dayMillis, anyTime(), hourlyCost(0.12), billLine{
			service: "Infrastructure Monitoring", serviceCategory: "Management and Governance", description: "Hosts", resource: "org-20417", resourceType: "Organization", unit: "Hosts", quantity: 10,
		}},
		{externalAsset, "logs", dayMillis, anyTime(), hourlyCost(0.05), billLine{
			service: "Log Management", serviceCategory: "Management and Governance", description: "Log events, retained 15 days", resource: "index-payments", resourceType: "Index", unit: "Events", quantity: 1.5e6,
			tags: map[string]string{"kubernetes_namespace": "payments"},
		}},
	}
	for i := range list {
		l := &list[i].line
		l.account, l.subAccount, l.provider, l.publisher = vendorAccount, vendorAccount, "Clearview", "Clearview Inc."
	}
	return list
}
