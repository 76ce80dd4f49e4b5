package reconcile

import (
	"strings"

	"github.com/promcost/promcost/allocation"
)

// Providers as ParseProviderID and bills name them.
const (
	aws    = "AWS"
	google = "GCP"
	azure  = "Azure"
)

// billed is how bills write what Kubernetes calls by a name, in lower case: without the backslash of names that look special.
func billed(name string) string { return strings.ToLower(allocation.TenantValue(name)) }

// nameNode gives a node its names: its id as Kubernetes and the provider's bill write it. So its own disk gets its names.
func (x *Index) nameNode(at int32, n *allocation.Node) {
	id := billed(n.ProviderID)
	provider, short := allocation.ParseProviderID(id)
	_, path, _ := strings.Cut(id, "://")
	x.name(Node, at, id, allocation.OwnID(n.Cluster, allocation.NodeAsset, n.Name))
	own := x.assets[at]
	own.Kind = LocalDisk
	disk := x.add(own, quantity{})
	switch provider {
	case aws:
		x.name(Node, at, short)
		x.name(LocalDisk, disk, short)
	case google:
		if p := strings.Split(path, "/"); len(p) == 3 { // project, zone and name
			x.name(Node, at, googleID(p[0], p[1], p[2]))
			x.name(LocalDisk, disk, googleID(p[0], p[1], p[2]))
		}
	case azure:
		x.name(Node, at, path)
		x.name(LocalDisk, disk, billed(n.Name))
		if set, member, ok := strings.Cut(path, "/virtualmachines/"); ok {
			x.sets[set] = append(x.sets[set], at)
			x.name(LocalDisk, disk, lastElement(set)+"_"+member)
		}
	}
}

// nameVolume gives a volume its names: its CSI handle or in-tree id, and what bills write of it.
func (x *Index) nameVolume(at int32, d *allocation.Disk) {
	id := billed(d.ProviderID)
	x.name(Volume, at, id, allocation.OwnID(d.Cluster, allocation.DiskAsset, d.Name))
	if project, zone, name, ok := googleDisk(id); ok {
		x.name(Volume, at, googleID(project, zone, name))
		return
	}
	if provider, short := allocation.ParseProviderID(id); provider != "" { // in-tree: aws://zone/vol-1
		x.name(Volume, at, short)
	}
	if system, _, ok := strings.Cut(id, ":"); ok && strings.HasPrefix(system, "fs-") { // EFS: file system, path and access point
		x.name(Volume, at, system)
	}
}

// nameBalancer gives a load balancer its names: its address or host name.
func (x *Index) nameBalancer(at int32, l *allocation.LoadBalancer) {
	host := strings.ToLower(l.IP)
	x.name(Balancer, at, host, allocation.OwnID(l.Cluster, allocation.LoadBalancerAsset, l.Namespace+"/"+l.Service))
	if !strings.HasSuffix(host, ".amazonaws.com") {
		return
	}
	// The host name is <name>-<id>.elb.<region>.amazonaws.com or the like.
	first, _, _ := strings.Cut(strings.TrimPrefix(host, "internal-"), ".")
	if i := strings.LastIndexByte(first, '-'); i > 0 {
		x.elbs[first[:i]] = append(x.elbs[first[:i]], at)
	}
}

// lastElement is what follows the last slash.
func lastElement(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// elementAfter is the element of a path that follows one of that name.
func elementAfter(path, name string) string {
	elements := strings.Split(path, "/")
	for i := range len(elements) - 1 {
		if elements[i] == name {
			return elements[i+1]
		}
	}
	return ""
}

// googleID names an instance or a disk of Google: names are unique within the zone of a project.
func googleID(project, zone, name string) string { return "gce:" + project + "/" + zone + "/" + name }

// googleDisk splits the path of a disk: projects/<project>/zones/<zone>/disks/<name>, or a region in place of the zone.
func googleDisk(path string) (project, zone, name string, ok bool) {
	project, zone, name = elementAfter(path, "projects"), elementAfter(path, "zones"), elementAfter(path, "disks")
	if zone == "" {
		zone = elementAfter(path, "regions")
	}
	return project, zone, name, project != "" && name != ""
}

// accountOf is the account, project or subscription within an ARN, an id of Google or Azure, or a text account/name.
func accountOf(id string) string {
	id = strings.ToLower(id)
	if strings.HasPrefix(id, "arn:") {
		if parts := strings.SplitN(id, ":", 6); len(parts) == 6 {
			return parts[4]
		}
		return ""
	}
	for _, name := range [...]string{"subscriptions", "projects"} {
		if of := elementAfter(id, name); of != "" {
			return of
		}
	}
	if account, name, ok := strings.Cut(id, "/"); ok && !strings.Contains(name, "/") {
		return account
	}
	return ""
}
